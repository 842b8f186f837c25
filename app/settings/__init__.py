"""Everything a person may set, declared once as data."""
