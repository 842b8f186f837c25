"""Windows that the person opens: settings."""
