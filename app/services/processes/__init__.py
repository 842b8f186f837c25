"""Commands. In comes a command line; `commands.py` starts it through the person's shell in the sandbox, follows it, and
ends it with all its children. Out go its output, its exit code, and what it deleted, which can be put back.
"""
