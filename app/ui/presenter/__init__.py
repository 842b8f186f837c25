"""Turn the agent's events into the content of the screen. Pure values, no Qt."""
