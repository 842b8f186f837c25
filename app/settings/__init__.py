"""All settings, declared once as data."""
