"""The wall around commands, and what can be known about a command before it runs behind it."""
