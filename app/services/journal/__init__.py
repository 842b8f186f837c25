"""The record of what happened, on disk: conversations, their cost, and who allowed what."""
