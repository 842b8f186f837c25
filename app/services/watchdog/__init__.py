"""A second process that can end what was started when the first one hangs."""
