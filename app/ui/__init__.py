"""The presence: the orb and its windows. In come the agent's events; `presenter/` makes a view of them without Qt, and
the widgets show it. Out go the person's words and intents, to the agent. Only this package and a feature's own page or
card use Qt.
"""
