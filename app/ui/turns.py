"""What the person sends or takes back, on its way to the agent: the only place where the presence waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from app.ui.bridge import Agent, Attachment
from app.ui.errands import Errands, Tell


class Turns:
    """What is sent before there is an agent waits for it. A wish that comes while a turn runs goes to that turn."""

    def __init__(self, tell: Tell, errands: Errands) -> None:
        self._tell = tell
        self._errands = errands
        self._waiting: asyncio.Queue[tuple[str, tuple[Attachment, ...]]] = asyncio.Queue()

    def send(self, text: str, media: tuple[Attachment, ...] = ()) -> None:
        self._waiting.put_nowait((text, media))

    def take_back(self, agent: Agent, turn_id: str) -> None:
        """Undo what a turn changed in files, and show what the agent says about it; needs a running event loop."""
        self._errands.begin(self._taken_back(agent, turn_id))

    async def run(self, agent: Agent, before: Callable[[], Awaitable[None]]) -> None:
        """Pass on what waits, for ever; `before` is awaited first."""
        while True:
            text, media = await self._waiting.get()
            await before()
            self._errands.begin(_turn(agent, text, media))

    async def _taken_back(self, agent: Agent, turn_id: str) -> None:
        for sentence in await agent.take_back(turn_id):
            self._tell("info", sentence)


async def _turn(agent: Agent, text: str, media: tuple[Attachment, ...]) -> None:
    await agent.send(text, media)
