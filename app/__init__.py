"""Wisp: a desktop assistant that works on the real screen."""
