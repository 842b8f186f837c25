"""The orb: its look in each state, and its small window."""
