"""The backend for Linux with X11, on which most tests of the desktop run. In come requests of the seams in
`desktop/backends.py`; `connection.py` holds the one connection. Out go events to the X server by XTEST, pictures, and
windows as values.
"""
