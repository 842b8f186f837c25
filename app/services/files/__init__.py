"""Files of the workspace: places, reading, changing, searching, and what is protected."""
