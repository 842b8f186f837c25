"""The record of what happened, on disk. In come entries of a conversation, their cost, and who allowed what;
`database.py` writes them in order on a thread of its own. Out go rows to read again, and an audit whose entries are
sealed one over the other.
"""
