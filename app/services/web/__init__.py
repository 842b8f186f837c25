"""The guarded way to the public web. In comes an address; `addresses.py` says whether it may be reached, `fetching.py`
resolves its name once and connects to exactly that address. Out go pages as text and pictures (`pages.py`).
"""
