"""A stream with a limit on its silences."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from app.agent import streaming as streams
from app.agent.streaming import ProviderStream, wait_before
from app.base.errors import OverLimit, Unreachable
from app.providers.api import StreamEvent, TextDelta


class _Silent:
    """Says one thing, then nothing; `closing` is what it does when it is to hang up."""

    def __init__(self, closing: asyncio.Event) -> None:
        self._closing = closing
        self.closed = 0

    async def events(self) -> AsyncIterator[StreamEvent]:
        try:
            yield TextDelta("Hello.")
            await asyncio.Event().wait()
        finally:
            self.closed += 1
            await self._closing.wait()


async def test_silence_counts_as_a_lost_connection_and_the_stream_is_closed() -> None:
    closing = asyncio.Event()
    closing.set()
    silent = _Silent(closing)
    heard: list[StreamEvent] = []
    with pytest.raises(Unreachable, match=r"silent for 0\.01 seconds"):
        async with ProviderStream(silent.events(), 0.01) as stream:
            async for event in stream:
                heard.append(event)
    assert (heard, silent.closed) == ([TextDelta("Hello.")], 1)


async def test_the_first_long_silence_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "QUIET_S", 0.001)
    told, closing = list[str](), asyncio.Event()
    closing.set()
    with pytest.raises(Unreachable):
        async with ProviderStream(_Silent(closing).events(), 0.05, lambda: told.append("quiet")) as stream:
            async for _ in stream:
                await asyncio.sleep(0)
    assert told == ["quiet"]


async def test_a_stream_that_will_not_close_is_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_CLOSING_S", 0.01)
    silent = _Silent(asyncio.Event())
    async with ProviderStream(silent.events(), 5.0) as stream:
        await anext(stream)
    assert silent.closed == 1


def test_waits_grow_are_jittered_and_end() -> None:
    error, chance = Unreachable("Gone."), random.Random(1)
    waits = [wait_before(attempt, error, chance) for attempt in range(1, 12)]
    assert all(2 ** (n - 1) / 2 <= wait <= 2 ** (n - 1) for n, wait in enumerate(waits[:5], 1))
    assert all(15 <= wait <= 30 for wait in waits[5:])


def test_what_the_service_asks_for_comes_first() -> None:
    assert 7.0 <= wait_before(1, OverLimit("Busy.", retry_after_s=7.0), random.Random(1)) <= 7.5
