"""The backend for Linux with X11, on which all tests of the desktop run."""
