"""The provider that needs no model, no key and no network: it reads plain commands and answers with XML calls.

The templates of `resources/offline` are matched by hassil (`grammar.py`). `slots.py` and `timing.py` say what may stand
at a slot, `world.py` what is there. `reading.py` cuts and chooses, `plans.py` makes the calls, `provider.py` goes on
step after step. `conversation.py` reads what came of each, and `wording.py` has the answer's words.
"""

from __future__ import annotations

import asyncio
import datetime
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from app.base.clock import Clock, SystemClock
from app.base.errors import WispError
from app.base.values import replace
from app.providers.api import Provider, Request, Stopped, StreamEvent, TextDelta, Usage
from app.providers.offline.world import World
from app.settings.catalog import NAME
from app.settings.store import Current, Settings

if TYPE_CHECKING:
    from app.providers.offline.conversation import Wish
    from app.providers.offline.plans import Understood

Look = Callable[[], Awaitable[World]]
"""Returns what is there now."""
_LOOK_S = 10.0
_PART = "region"
"""The kind of an attachment that is a part of the screen."""


class OfflineProvider:
    """Answers without a model: each pass derives the plan and its progress from the messages.

    `look` tells what is there, for what the words of a wish may name; `settings` returns what holds at the moment.

    It always writes inline XML, whatever dialect the request explains. The assembly reads `dialect` to set up the
    session. The command reader is imported with the first request, which `wisp tool` never makes.
    """

    name = "offline"
    dialect = "xml"

    def __init__(self, clock: Clock | None = None, settings: Callable[[], Settings] = Settings) -> None:
        self._clock = clock or SystemClock()
        self._settings = settings
        self.look: Look | None = None
        self._read: dict[tuple[int, Wish], Understood] = {}

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        pieces, stop_reason = await asyncio.to_thread(self._reply_to, request, asyncio.get_running_loop())
        for piece in pieces:
            yield TextDelta(piece)
            await asyncio.sleep(0)  # so that a stop gets through between two pieces
        yield Usage()
        yield Stopped(stop_reason)

    def _reply_to(self, request: Request, loop: asyncio.AbstractEventLoop) -> tuple[list[str], str]:
        """The pieces of the reply and why it ended. Reading takes long, so this needs its own thread."""
        provider = importlib.import_module("app.providers.offline.provider")
        now = datetime.datetime.fromtimestamp(self._clock.wall()).astimezone()

        said = provider.exchanges(request.messages)
        if said and not said[-1].outcomes:  # a new wish, perhaps of a new conversation
            self._read = {key: reading for key, reading in self._read.items() if key[0] < len(said) - 1}

        def understood(at: int, wish: Wish) -> Understood:
            """Read a wish once, so that what its first steps changed on the screen changes nothing of its plan."""
            if (at, wish) not in self._read:
                world = asyncio.run_coroutine_threadsafe(self._seen(), loop).result()
                world = replace(world, last=provider.last_named(said[: at + 1], understood))
                self._read[at, wish] = provider.understood(wish.text, replace(world, has_part=_PART in wish.attached))
            return self._read[at, wish]

        reply = provider.reply_to(request.messages, now, self._settings()[NAME], understood)
        return provider.pieces(reply.text), reply.stop_reason

    async def _seen(self) -> World:
        """Nothing is known where the screen cannot be asked."""
        if self.look is None:
            return World()
        try:
            return await asyncio.wait_for(self.look(), _LOOK_S)
        except (WispError, OSError, TimeoutError):
            return World()

    async def models(self) -> tuple[str, ...]:
        return (self.name,)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def make(_settings: Settings, _key: str) -> Provider:
    return OfflineProvider(settings=Current())  # because its name may change while it answers
