"""Who may act: nobody after a stop, and not we while the person has the mouse and keyboard in hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from app.base.clock import Clock
from app.desktop.stop import StopFlag

IDLE_S = 1.5
"""So long after the person's last touch we go on."""
_WHILE_ACTING_S = 4.0
"""A touch counts as taking over only so long after something we did; otherwise it is the person working as ever."""
_POLL_S = 0.05

Told = Callable[[bool], None]


class Reins:
    """`touched` is called from the listening thread, everything else on the desktop thread."""

    def __init__(self, stop: StopFlag, clock: Clock) -> None:
        self._stop = stop
        self._clock = clock
        self._acted_at = -math.inf
        self._touched_at = -math.inf
        self._told: list[Told] = []

    def listen(self, told: Told) -> None:
        """Be told True when the person takes over, False when we go on."""
        self._told.append(told)

    def check(self) -> None:
        """Before every low-level event. Raises Cancelled while the stop is up."""
        self._stop.check()

    def acting(self) -> None:
        """We are sending input now."""
        self._acted_at = self._clock.now()

    def touched(self) -> None:
        """The person moved the mouse or pressed something, with a device of theirs."""
        now = self._clock.now()
        if now - self._acted_at < _WHILE_ACTING_S or self.is_person_driving():
            self._touched_at = now

    def is_person_driving(self) -> bool:
        """Whether the person touched something a moment ago, while we were at work."""
        return self._clock.now() - self._touched_at < IDLE_S

    def take_back(self) -> None:
        """Go on at once: the person asked for it."""
        self._touched_at = -math.inf

    async def free(self) -> bool:
        """Return when we may act: True if the person drove meanwhile. Raises Cancelled when the stop goes up."""
        self.check()
        if not self.is_person_driving():
            return False
        self._tell(is_driving=True)
        try:
            while self.is_person_driving():
                self.check()
                await asyncio.sleep(_POLL_S)
        finally:
            self._tell(is_driving=False)
        return True

    def _tell(self, *, is_driving: bool) -> None:
        for told in tuple(self._told):
            told(is_driving)
