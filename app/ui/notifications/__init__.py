"""News for a person who looks elsewhere: the desktop's own notifications."""
