"""Models, wherever they run: each streams text and calls for a request."""
