"""Reading text off pixels, where programs tell nothing about themselves."""
