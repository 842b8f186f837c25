"""Where the person writes."""
