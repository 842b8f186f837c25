"""A provider's stream with a limit on its silences, and the waits between tries when it fails."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable

from app.base.errors import BadAnswer, OverLimit, ProviderError, Unreachable
from app.providers.api import StreamEvent

QUIET_S = 8.0
"""A silence this long is told to the person, who would wonder otherwise."""
_CLOSING_S = 2.0
"""A person who stops a turn does not wait longer than this for a connection to hang up."""
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0
_LONGEST_ASKED_S = 120.0
"""A service that wants a longer pause is not waited for: the person decides when to try again."""
_log = logging.getLogger(__name__)


class Stream:
    """An async context manager; leaving it ends the HTTP stream. Silence over `idle_s` raises Unreachable; the first
    silence over `QUIET_S` is told to `on_quiet`.
    """

    def __init__(
        self, events: AsyncIterator[StreamEvent], idle_s: float, on_quiet: Callable[[], None] = lambda: None
    ) -> None:
        self._events = events
        self._idle_s = idle_s
        self._on_quiet = on_quiet
        self._was_quiet = False

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._events, "aclose", None)
        if close is None:
            return
        try:
            async with asyncio.timeout(_CLOSING_S):
                await close()
        except TimeoutError:
            _log.warning("A stream did not close within %g seconds; it is left to itself.", _CLOSING_S)

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> StreamEvent:
        quiet = asyncio.get_running_loop().call_later(QUIET_S, self._quiet)
        try:
            async with asyncio.timeout(self._idle_s):
                return await anext(self._events)
        except TimeoutError:
            raise Unreachable(f"The model's service was silent for {self._idle_s:g} seconds.") from None
        finally:
            quiet.cancel()

    def _quiet(self) -> None:
        if not self._was_quiet:
            self._was_quiet = True
            self._on_quiet()


def is_passing(error: ProviderError) -> bool:
    """Whether trying again may help."""
    if isinstance(error, OverLimit) and (error.retry_after_s or 0.0) > _LONGEST_ASKED_S:
        return False
    return isinstance(error, (Unreachable, OverLimit, BadAnswer))


def wait_before(attempt: int, error: ProviderError, chance: random.Random) -> float:
    """Seconds before the try after `attempt`, counted from 1: what the service asked for, else growing and jittered."""
    asked = error.retry_after_s if isinstance(error, OverLimit) else None
    if asked is not None:
        return asked + chance.uniform(0, 0.5)
    longest = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_WAIT_S)
    return longest * chance.uniform(0.5, 1.0)
