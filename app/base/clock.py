"""Time as a parameter, so that tests need not wait."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Return the seconds of a monotonic clock. Only differences have a meaning."""
        ...

    def wall(self) -> float:
        """Return the seconds since 1970, UTC."""
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
    """Return the seconds to wait after failed `attempt`, counted from 1: doubled each time, limited, with jitter."""
    # Add jitter, because clients that fail together would otherwise retry together:
    # https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    return min(first_s * 2.0 ** (attempt - 1), longest_s) * chance.uniform(0.5, 1.0)
