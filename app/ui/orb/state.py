"""The states that the orb shows. The first painted orb imports them, and nothing of the agent with them."""

from __future__ import annotations

from enum import StrEnum


class Orb(StrEnum):
    """SLEEP and LISTENING are the presence's own, the others follow the agent."""

    IDLE = "idle"
    THINKING = "thinking"
    BUSY = "busy"
    LISTENING = "listening"
    NEEDS_YOU = "needs_you"
    DRIVING = "driving"
    SLEEP = "sleep"
    ERROR = "error"
