"""The settings' window, generated from the catalog."""
