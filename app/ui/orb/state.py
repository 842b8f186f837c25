"""The orb's states, in a module that does not import the agent, because the first paint imports it."""

from __future__ import annotations

from enum import StrEnum


class Orb(StrEnum):
    """The orb's states. The presence sets SLEEP and LISTENING itself; the other states follow those of the agent."""

    IDLE = "idle"
    THINKING = "thinking"
    BUSY = "busy"
    LISTENING = "listening"
    NEEDS_YOU = "needs_you"
    DRIVING = "driving"
    SLEEP = "sleep"
    ERROR = "error"
