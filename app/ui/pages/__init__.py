"""The pages that swap inside the bubble: history, inbox, usage."""
