"""Tokens, fonts, icons and movement: how everything looks."""
