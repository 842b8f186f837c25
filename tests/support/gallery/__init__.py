"""All states and cards with sample data: for tests and the README's pictures."""
