"""Linux with X11: the platform on which things are proven."""
