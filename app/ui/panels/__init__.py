"""What the person opens: settings, past conversations, the inbox, usage."""
