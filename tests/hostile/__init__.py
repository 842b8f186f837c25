"""The model is the attacker: it says anything, and what happened is seen from outside."""
