"""The provider that needs no model, no key and no network: plain commands in, the inline protocol out."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator

from app.providers.api import Provider, Request, Stopped, StreamEvent, TextDelta, Usage
from app.settings.store import Settings


class OfflineProvider:
    """Answer without a model. Stateless: each pass derives the plan and its progress from the messages.

    It always writes inline XML, whichever dialect the request teaches. The assembly reads `dialect` to set up the
    session. What reads plain commands is loaded with the first request, which `wisp tool` never makes.
    """

    name = "offline"
    dialect = "xml"

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reading = await asyncio.to_thread(importlib.import_module, "app.providers.offline.provider")
        reply = reading.reply_to(request.messages)
        for piece in reading.pieces(reply.text):
            yield TextDelta(piece)
            await asyncio.sleep(0)  # so that a stop gets through between two pieces
        yield Usage()
        yield Stopped(reply.stop_reason)

    async def models(self) -> tuple[str, ...]:
        return (self.name,)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def make(_settings: Settings, _key: str) -> Provider:
    return OfflineProvider()
