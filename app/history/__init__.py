"""What Wisp keeps of a conversation. In come events and entries from the session; `recorder.py` writes them ahead of
what they tell, `archive.py` finds them again. Out go past conversations, to go on with, to search and to export, and by
`trace.py` their turns as spans.
"""
