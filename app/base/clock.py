"""Time as a parameter, so that nothing has to wait for it in a test."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""
        ...

    def wall(self) -> float:
        """Seconds since 1970, UTC."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def backoff_s(attempt: int, first_s: float, longest_s: float, chance: random.Random) -> float:
    """Seconds to wait after failed `attempt`, counted from 1: doubled each time, bounded, jittered down to half."""
    return min(first_s * 2.0 ** (attempt - 1), longest_s) * chance.uniform(0.5, 1.0)
