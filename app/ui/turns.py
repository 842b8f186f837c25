"""What the person sends, on its way to the agent: the only place where the presence waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

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

    def abandon(self) -> None:
        """Cancel what is still under way."""
        for task in self._running:
            task.cancel()

    async def run(self, agent: Agent, before: Callable[[], Awaitable[None]]) -> None:
        """Pass on what waits, for ever; `before` is awaited first."""
        while True:
            text, media = await self._waiting.get()
            await before()
            task = asyncio.ensure_future(self._turn(agent, text, media))
            self._running.add(task)
            task.add_done_callback(self._ended)

    async def _turn(self, agent: Agent, text: str, media: tuple[Attachment, ...]) -> None:
        try:
            await agent.send(text, media)
        except WispError as error:
            self._tell("error", str(error))

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug in one turn is told and must not silence the presence."""
        self._running.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        _log.error("A turn failed.", exc_info=error)
        self._tell("error", self._sorry)
