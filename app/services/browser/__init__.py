"""Wisp's own browser: the barriers around it, and what can be done in its pages."""
