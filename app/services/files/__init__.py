"""Files of the workspace: paths, reading, changing, searching, and what is protected."""
