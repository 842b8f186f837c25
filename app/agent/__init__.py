"""The agent: it knows no tool by name. In come the person's words and, through a provider, what a model streams;
`session.py` begins a turn, `loop.py` repeats passes, `calls.py` runs each call that `gate.py` admits. Out go events
(`agent_events.py`) to whoever subscribes, and entries to the recorder.
"""
