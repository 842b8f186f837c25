"""The key that calls the presence from any program."""
