"""The provider that needs no model, no key and no network: it reads plain commands and answers with XML calls."""

from __future__ import annotations

import asyncio
import datetime
import importlib
from collections.abc import AsyncIterator

from app.base.clock import Clock, SystemClock
from app.providers.api import Provider, Request, Stopped, StreamEvent, TextDelta, Usage
from app.settings.catalog import NAME
from app.settings.store import Settings


class OfflineProvider:
    """Answers without a model. It is stateless: each pass derives the plan and its progress from the messages.

    It always writes inline XML, whatever dialect the request explains. The assembly reads `dialect` to set up the
    session. The command reader is imported with the first request, which `wisp tool` never makes.
    """

    name = "offline"
    dialect = "xml"

    def __init__(self, clock: Clock | None = None, said_name: str = NAME.default) -> None:
        self._clock = clock or SystemClock()
        self._said_name = said_name

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reading = await asyncio.to_thread(importlib.import_module, "app.providers.offline.provider")
        now = datetime.datetime.fromtimestamp(self._clock.wall())
        reply = reading.reply_to(request.messages, now, self._said_name)
        for piece in reading.pieces(reply.text):
            yield TextDelta(piece)
            await asyncio.sleep(0)  # so that a stop gets through between two pieces
        yield Usage()
        yield Stopped(reply.stop_reason)

    async def models(self) -> tuple[str, ...]:
        return (self.name,)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def make(settings: Settings, _key: str) -> Provider:
    return OfflineProvider(said_name=settings[NAME])
