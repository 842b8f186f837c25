"""Pages of the public web, as text."""
