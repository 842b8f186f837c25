"""Wait in a test until something is so, which happens in another task, thread or program."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_LIMIT_S = 45.0
"""So long that only a fault reaches it, also where many programs share two cores."""
_STORY_S = 110.0
"""Below pytest's own limit, whose alarm the event loop of Qt may swallow: the story would never end."""
_PAUSE_S = 0.01
_LOOK_AGAIN_S = 0.05


async def until(is_so: Callable[[], object], limit_s: float = _LIMIT_S) -> None:
    """Go on as soon as it is so; fail when the limit passes."""
    loop = asyncio.get_running_loop()
    limit = loop.time() + limit_s
    while not is_so():
        assert loop.time() < limit, "What the test waited for did not happen."
        await asyncio.sleep(_PAUSE_S)


def eventually(is_so: Callable[[], object], *, limit_s: float = _LIMIT_S) -> bool:
    """Look again and again until it is so; False when the limit passes."""
    limit = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > limit:
            return False
        time.sleep(_LOOK_AGAIN_S)
    return True


async def within(story: Coroutine[Any, Any, T], limit_s: float = _STORY_S) -> T:
    """What the story returns; TimeoutError, and the story is cancelled, when it takes longer."""
    async with asyncio.timeout(limit_s):
        return await story
