"""What Wisp keeps about a person between conversations."""
