"""What a conversation is working on: its checklist, and lists that models write."""
