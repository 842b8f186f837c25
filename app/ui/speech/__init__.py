"""Speech out loud: off until the person switches it on, and an extra to install."""
