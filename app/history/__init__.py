"""What Wisp keeps of a conversation: recorder, archive, audit and export."""
