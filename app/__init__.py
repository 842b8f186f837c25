"""Wisp: a small presence on the desktop that does what it is told, on the real screen."""
