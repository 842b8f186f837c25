"""What files were before they were changed: copies by content, and a list of changes, turn by turn."""
