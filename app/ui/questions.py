"""Questions that a window asks while it stays alive: answered later, and by nobody once it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Questions:
    """Holds what is under way, so that it is neither lost nor outlives its window. Needs a running event loop."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def ask(self, question: Coroutine[Any, Any, Answer], answered: Callable[[Answer], None]) -> None:
        """Call `answered` on the GUI thread with what comes."""

        def done(task: asyncio.Task[Answer]) -> None:
            self._open.discard(task)
            if not task.cancelled():
                answered(task.result())

        task = asyncio.ensure_future(question)
        self._open.add(task)
        task.add_done_callback(done)

    def forget(self) -> None:
        """Nobody waits any more."""
        for task in tuple(self._open):
            task.cancel()
