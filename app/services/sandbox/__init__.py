"""The sandbox of commands, and what can be known about a command before it runs."""
