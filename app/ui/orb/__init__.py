"""The orb: what it looks like in each state, and the small window it lives in."""
