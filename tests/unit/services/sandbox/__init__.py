"""The wall around commands."""
