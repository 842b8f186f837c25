"""All states and cards with sample data: for theme authors, tests, and the README's pictures."""
