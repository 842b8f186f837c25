"""Files of the workspace. In comes a path as somebody wrote it; `places.py` resolves it and says what is protected, and
the others read, change, search and move only what it gave them. Out go contents, and a checkpoint of what was there
before, so that a change can be undone.
"""
