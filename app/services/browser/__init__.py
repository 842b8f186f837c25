"""A browser of Wisp's own: the walls around it, and what can be done in its pages."""
