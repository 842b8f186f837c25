"""Claude, through the official `anthropic` SDK."""
