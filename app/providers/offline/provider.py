"""The offline provider: it reads the conversation like a model would and answers with the next step, as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from app.providers.api import Request, Said, Stopped, StreamEvent, Usage
from app.providers.offline.reply import reply_to
from app.providers.offline.write import pieces

MODEL = "offline"


class OfflineProvider:
    """Keeps nothing between passes: plan and progress are worked out from the messages every time.

    It speaks inline XML whatever the request teaches; `dialect` tells whoever puts a session together.
    """

    name = "offline"
    dialect = "xml"

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reply = reply_to(request.messages)
        for piece in pieces(reply.text):
            yield Said(piece)
            await asyncio.sleep(0)
        yield Usage()
        yield Stopped(reply.stop_reason)

    async def models(self) -> tuple[str, ...]:
        return (MODEL,)

    async def close(self) -> None:
        """There is nothing to let go of."""
