"""Watches a run while a call waits for it: tells what it prints, and says when the call should return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum

from app.base.clock import Clock
from app.services.processes.output import local_url
from app.services.processes.plain import plain
from app.services.processes.run import Run

_STEP_S = 0.1
_TOLD_BYTES = 16_384
_SEARCHED_BYTES = 65_536

Tell = Callable[[str, str], None]
"""Called with the stream's name and a piece of plain text."""


class Why(StrEnum):
    """Why a call returns."""

    ENDED = "ended"
    TIME = "time"
    QUIET = "quiet"
    URL = "url"
    CANCELLED = "cancelled"


class Follower:
    """Follows one run. `began` is where its output is told from, in bytes of each stream."""

    def __init__(self, run: Run, clock: Clock, tell: Tell, *, began: tuple[int, int] = (0, 0)) -> None:
        self._run = run
        self._clock = clock
        self._tell = tell
        self._told = {"stdout": began[0], "stderr": began[1]}
        self._changed_at = clock.now()
        self._has_printed = False

    async def until(self, limit_s: float, quiet_s: float | None, cancelled: asyncio.Event) -> Why:
        """Return when the command ends, after `limit_s`, or (given `quiet_s`) once it has said something and rests."""
        end = self._clock.now() + limit_s
        events = [asyncio.ensure_future(event.wait()) for event in (self._run.ended, cancelled)]
        try:
            while True:
                await asyncio.wait(events, timeout=_STEP_S, return_when=asyncio.FIRST_COMPLETED)
                self._tell_news()
                why = self._why(end, quiet_s, cancelled)
                if why is not None:
                    return why
        finally:
            for event in events:
                event.cancel()

    def _why(self, end: float, quiet_s: float | None, cancelled: asyncio.Event) -> Why | None:
        now = self._clock.now()
        if cancelled.is_set():
            return Why.CANCELLED
        if not self._run.is_running:
            return Why.ENDED
        if quiet_s is not None and self._has_printed:
            if self.url():
                return Why.URL
            if now - self._changed_at >= quiet_s:
                return Why.QUIET
        return Why.TIME if now >= end else None

    def url(self) -> str:
        """The address of a server that the run has announced."""
        both = (self._run.stdout, self._run.stderr)
        return next((url for output in both if (url := local_url(plain(output.page(0, _SEARCHED_BYTES))))), "")

    def _tell_news(self) -> None:
        for name, output in (("stdout", self._run.stdout), ("stderr", self._run.stderr)):
            size, told = output.size(), self._told[name]
            if size <= told:
                continue
            self._told[name] = size
            self._changed_at = self._clock.now()
            self._has_printed = True
            start = max(told, size - _TOLD_BYTES)
            self._tell(name, plain(output.page(start, size - start)))
