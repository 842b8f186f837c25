"""Abilities that can be left out, a folder each. Each declares by one `Feature` (`feature.py`) what it adds;
`loading.py` says which there are, and `opened.py` opens them for a conversation. They know the rest of Wisp but not
each other, and nothing below knows them.
"""
