"""Waiting that shows it is alive: a library that loads or a model that is read from disk is no stalled stream."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from typing import Any

from app.providers.api import Alive

_LONGEST_PULSE_S = 1.0


async def alive_until(
    work: asyncio.Future[Any], idle_s: float, limit_s: float = math.inf
) -> AsyncGenerator[Alive, None]:
    """A sign of life well within `idle_s`, again and again until `work` is done. Raises TimeoutError after `limit_s`.

    Work that is not done when the waiting ends is cancelled.
    """
    pulse_s = min(idle_s / 3, _LONGEST_PULSE_S)
    waited_s = 0.0
    try:
        while not work.done():
            if waited_s >= limit_s:
                raise TimeoutError
            await asyncio.wait({work}, timeout=pulse_s)
            waited_s += pulse_s
            if not work.done():
                yield Alive()
    finally:
        if work.cancel():
            await asyncio.wait({work})
