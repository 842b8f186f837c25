"""The windows of the presence: where they stand, and how they step aside."""
