"""All settings, declared once as data (`catalog.py`). In come `settings.toml`, the environment and the command line;
`store.py` checks each value and takes the default for a wrong one. Out go typed values; keys go to the system's
keyring.
"""
