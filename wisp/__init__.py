"""What other programs may import of Wisp and rely on. Wisp itself is in `app`."""
