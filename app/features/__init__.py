"""Abilities that can be left out, a folder each."""
