"""What the presence lets run beside it: nothing that goes wrong in one silences the presence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from app.base.errors import WispError

_log = logging.getLogger(__name__)

Tell = Callable[[str, str], None]
"""Shows a sentence of a level to the person."""


class Errands:
    """`tell` hears what went wrong; `sorry` is the sentence for a bug."""

    def __init__(self, tell: Tell, sorry: str) -> None:
        self._tell = tell
        self._sorry = sorry
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None], tell: Tell | None = None) -> None:
        """Run the coroutine as a task. Pass a WispError in it to `tell`, or to the default `tell`."""
        task = asyncio.ensure_future(_told(work, tell or self._tell))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def abandon(self) -> None:
        """Cancel what is still under way."""
        for task in self._running:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        _log.error("Something that ran beside the presence failed.", exc_info=error)
        self._tell("error", self._sorry)


async def _told(work: Coroutine[Any, Any, None], tell: Tell) -> None:
    try:
        await work
    except WispError as error:
        tell("error", str(error))
