"""What the person sends or takes back, on its way to the agent: the only place where the presence waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from app.base.errors import WispError
from app.ui.bridge import Agent, Attachment

_log = logging.getLogger(__name__)

Tell = Callable[[str, str], None]
"""Shows a sentence of a level to the person."""


class Turns:
    """What is sent before there is an agent waits for it. A wish that comes while a turn runs goes to that turn."""

    def __init__(self, tell: Tell, sorry: str) -> None:
        self._tell = tell
        self._sorry = sorry
        self._waiting: asyncio.Queue[tuple[str, tuple[Attachment, ...]]] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()

    def send(self, text: str, media: tuple[Attachment, ...] = ()) -> None:
        self._waiting.put_nowait((text, media))

    def take_back(self, agent: Agent, turn_id: str) -> None:
        """Undo what a turn changed in files, and show what the agent says about it; needs a running event loop."""
        self._begin(self._taken_back(agent, turn_id))

    def abandon(self) -> None:
        """Cancel what is still under way."""
        for task in self._running:
            task.cancel()

    async def run(self, agent: Agent, before: Callable[[], Awaitable[None]]) -> None:
        """Pass on what waits, for ever; `before` is awaited first."""
        while True:
            text, media = await self._waiting.get()
            await before()
            self._begin(self._turn(agent, text, media))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._ended)

    async def _turn(self, agent: Agent, text: str, media: tuple[Attachment, ...]) -> None:
        try:
            await agent.send(text, media)
        except WispError as error:
            self._tell("error", str(error))

    async def _taken_back(self, agent: Agent, turn_id: str) -> None:
        try:
            sentences = await agent.take_back(turn_id)
        except WispError as error:
            sentences = []
            self._tell("error", str(error))
        for sentence in sentences:
            self._tell("info", sentence)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug in one turn, or in taking one back, is told and must not silence the presence."""
        self._running.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        _log.error("A turn, or taking one back, failed.", exc_info=error)
        self._tell("error", self._sorry)
