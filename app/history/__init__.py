"""What is kept of a conversation: recorder, archive, audit and export."""
