"""Connections to models. In comes one request with messages and tools (`api.py`); out goes a stream of text, calls and
usage, or an error sorted by who must act (`wire_errors.py`). What differs between models is data in `profiles.py`; no
provider knows a tool's meaning.
"""
