"""Every state and every card with sample data: for theme authors, for tests, and for the README's pictures."""
