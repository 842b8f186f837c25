"""Hears one answer out, through failing streams and answers that end too early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from app.agent.events import Notice
from app.agent.parts import Parts
from app.agent.stream import Stream, is_passing, wait_before
from app.agent.turn import Turn
from app.agent.words import ending
from app.base.errors import ProviderError
from app.protocol.json_text import well_formed
from app.protocol.message import Message
from app.providers.api import NativeCallDelta, OpaqueBlock, Request, Said, StreamEvent, Thinking, Usage
from app.settings.catalog import STREAM_ATTEMPTS, STREAM_IDLE_MS

CONTINUATIONS = 3
"""How often an answer that ended too early is continued."""
_CHARS_A_TOKEN = 4

Ask = Callable[[tuple[Message, ...]], Request]
"""Builds the request; what it is given is added to the conversation for this request only."""


class Ear(Protocol):
    """Who takes what is heard, and knows whether it is enough."""

    @property
    def is_cut(self) -> bool:
        """What follows does not count: the stream is to be closed."""
        ...

    def begin_stream(self) -> None: ...

    async def take(self, event: StreamEvent) -> None: ...

    async def end_stream(self) -> None:
        """The stream is over, by its end or by a failure."""
        ...

    def is_enough(self, *, is_broken: bool) -> bool:
        """Whether the answer is whole, as far as it will ever be."""
        ...

    def continuation(self) -> tuple[Message, ...]:
        """What to ask so that the answer goes on; nothing where nothing was said yet."""
        ...


async def listen(parts: Parts, turn: Turn, ear: Ear, ask: Ask) -> None:
    """Ask until the ear has enough. Raises the ProviderError that could not be overcome."""
    failures = continuations = 0
    more: tuple[Message, ...] = ()
    while True:
        broken = await _heard(parts, turn, ear, ask(more))
        if ear.is_enough(is_broken=broken is not None):
            return
        if broken:
            failures += 1
            await _wait(parts, turn, broken, failures)
        elif continuations == CONTINUATIONS:
            return
        else:
            continuations += 1
        more = ear.continuation()


async def _heard(parts: Parts, turn: Turn, ear: Ear, request: Request) -> ProviderError | None:
    """One stream, to its end or to where it is cut; the failure that broke it, if one did."""
    turn.budget.begin_stream()
    ear.begin_stream()
    broken: ProviderError | None = None
    heard = 0
    try:
        events, idle_s = parts.provider.stream(request), parts.settings[STREAM_IDLE_MS] / 1000
        async with Stream(events, idle_s, lambda: turn.tell(Notice("info", ending("quiet")))) as stream:
            async for event in stream:
                event = _well_formed(event)  # noqa: PLW2901 - the event as it came is not used again
                heard += len(event.text) if isinstance(event, (Said, Thinking)) else 0
                if isinstance(event, Usage):
                    _count(turn, event)
                await ear.take(event)
                if ear.is_cut:
                    break
    except ProviderError as error:
        broken = error
    await ear.end_stream()
    if ear.is_cut and turn.budget.prompt_tokens:
        # A stream that we cut never tells its output; an estimate stands for it.
        _count(turn, Usage(output_tokens=heard // _CHARS_A_TOKEN))
    return broken


def _well_formed(event: StreamEvent) -> StreamEvent:
    """The event without halves of surrogate pairs: nothing that keeps or sends text could write them."""
    if isinstance(event, (Said, Thinking)):
        return replace(event, text=well_formed(event.text))
    if isinstance(event, NativeCallDelta):
        return replace(event, json=well_formed(event.json))
    return replace(event, value=well_formed(event.value)) if isinstance(event, OpaqueBlock) else event


def _count(turn: Turn, usage: Usage) -> None:
    turn.budget.add(usage)
    turn.tell(turn.budget.changed())


async def _wait(parts: Parts, turn: Turn, error: ProviderError, failures: int) -> None:
    if not is_passing(error) or failures >= parts.settings[STREAM_ATTEMPTS]:
        raise error
    seconds = wait_before(failures, error, parts.chance)
    turn.tell(Notice("warning", f"{error} Trying again in {max(seconds, 1):.0f} s."))
    await parts.clock.sleep(seconds)
