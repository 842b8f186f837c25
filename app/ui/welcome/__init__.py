"""The first minutes: what works here, who answers, and one thing done together."""
