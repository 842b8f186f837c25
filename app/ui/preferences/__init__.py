"""The settings' window, made from the catalog."""
