"""What happened, kept on disk: conversations, what they cost, and who allowed what."""
