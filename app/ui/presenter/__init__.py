"""From the agent's events to what is on the screen: pure values, no Qt."""
