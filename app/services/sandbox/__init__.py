"""The sandbox of commands, and what can be known about a command before it runs. In come a workspace and a command
line; `layout.py` says what it may see, `bubblewrap.py` builds the wall. Out goes the command inside the wall, or the
sentence that says why there is none.
"""
