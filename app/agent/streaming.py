"""Read one whole answer, even if streams fail or end too early."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from app.agent.agent_events import Notice
from app.agent.budget import greater
from app.agent.deps import SessionDeps
from app.agent.prompt import ending
from app.agent.turn import Turn
from app.base.clock import backoff_s
from app.base.errors import BadAnswer, OverLimit, ProviderError, Unreachable
from app.base.phrases import Phrase
from app.base.translation import words_in
from app.protocol.message import Message
from app.protocol.payload import well_formed
from app.providers.api import (
    NativeCallDelta,
    OpaqueBlock,
    Provider,
    Request,
    Stopped,
    StreamEvent,
    TextDelta,
    Thinking,
    Usage,
)
from app.settings.catalog import STREAM_ATTEMPTS, STREAM_IDLE_MS
from app.settings.store import Settings

QUIET_S = 8.0
"""After this much silence the person is told, because they would wonder otherwise."""
_CLOSING_S = 2.0
"""How long closing a connection may take, because a person who stops a turn waits for it."""
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0
_LONGEST_ASKED_S = 120.0
"""Wisp does not wait longer if a service asks for it: the person decides when to try again."""
_log = logging.getLogger(__name__)


class ProviderStream:
    """An async context manager around a provider's stream; leaving it ends the HTTP stream.

    Silence over `idle_s` raises Unreachable. The first silence over `QUIET_S` calls `on_quiet`.
    """

    def __init__(
        self, events: AsyncIterator[StreamEvent], idle_s: float, on_quiet: Callable[[], None] = lambda: None
    ) -> None:
        self._events = events
        self._idle_s = idle_s
        self._on_quiet = on_quiet
        self._was_quiet = False

    async def __aenter__(self) -> ProviderStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._events, "aclose", None)
        if close is None:
            return
        try:
            async with asyncio.timeout(_CLOSING_S):
                await close()
        except TimeoutError:  # because a dead connection may never confirm that it closed
            _log.warning("A stream did not close within %g seconds; it is left to itself.", _CLOSING_S)

    def __aiter__(self) -> ProviderStream:
        return self

    async def __anext__(self) -> StreamEvent:
        quiet = asyncio.get_running_loop().call_later(QUIET_S, self._quiet)
        try:
            async with asyncio.timeout(self._idle_s):
                return await anext(self._events)
        except TimeoutError:
            raise Unreachable(
                Phrase("The model was silent for {seconds} seconds.", {"seconds": f"{self._idle_s:g}"}),
                advice=Phrase("Try again."),
            ) from None
        finally:
            quiet.cancel()

    def _quiet(self) -> None:
        if not self._was_quiet:
            self._was_quiet = True
            self._on_quiet()


@dataclass(slots=True)
class SideAnswer:
    """The answer to a question beside the conversation, as far as it has come.

    `usage` is what the provider has counted; `stop_reason` and `is_whole` are set at the end.
    """

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    stop_reason: str = ""
    is_whole: bool = False

    async def hear(self, provider: Provider, request: Request, settings: Settings) -> None:
        """Ask, and take the answer as it comes. Raises ProviderError; what came before it stays here."""
        async with ProviderStream(provider.stream(request), settings[STREAM_IDLE_MS] / 1000) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    self.text += event.text
                elif isinstance(event, Usage):
                    self.usage = greater(self.usage, event)
                elif isinstance(event, Stopped):
                    self.stop_reason = event.reason
        self.is_whole = True


def is_passing(error: ProviderError) -> bool:
    """True if the failure is temporary, so that another try may help."""
    if isinstance(error, OverLimit) and (error.retry_after_s or 0.0) > _LONGEST_ASKED_S:
        return False
    return isinstance(error, (Unreachable, OverLimit, BadAnswer))


def wait_before(attempt: int, error: ProviderError, chance: random.Random) -> float:
    """Return the seconds to wait before the next try. `attempt` counts from 1.

    The service's own wish counts (https://www.rfc-editor.org/rfc/rfc9110.html#field.retry-after), otherwise the wait
    grows.
    """
    asked = error.retry_after_s if isinstance(error, OverLimit) else None
    if asked is not None:
        return asked + chance.uniform(0, 0.5)
    return backoff_s(attempt, _FIRST_WAIT_S, _LONGEST_WAIT_S, chance)


CONTINUATIONS = 3
"""How often an answer that ended too early is continued."""
_CHARS_A_TOKEN = 4

Ask = Callable[[tuple[Message, ...]], Request]
"""Builds the request. The given messages are added to the conversation for this request only."""


class Ear(Protocol):
    """Receives the stream's events, and decides when they are enough."""

    @property
    def is_cut(self) -> bool:
        """Whether later events do not count, so that the stream can be closed."""
        ...

    def begin_stream(self) -> None: ...

    async def take(self, event: StreamEvent) -> None: ...

    async def end_stream(self) -> None:
        """Note that the stream is over, by its end or by a failure."""
        ...

    def is_enough(self, *, is_broken: bool) -> bool:
        """True if the answer is as complete as it will ever be."""
        ...

    def continuation(self) -> tuple[Message, ...]:
        """Return the messages that ask for the rest of the answer; none if nothing was said yet."""
        ...


async def listen(parts: SessionDeps, turn: Turn, ear: Ear, ask: Ask) -> None:
    """Ask until the ear has the whole answer; one that ends early is continued `CONTINUATIONS` times at most.

    Raises the ProviderError that could not be overcome.
    """
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


async def _heard(parts: SessionDeps, turn: Turn, ear: Ear, request: Request) -> ProviderError | None:
    """Read one stream until its end or cut. Returns the failure that broke it, if any."""
    turn.budget.begin_stream()
    ear.begin_stream()
    broken: ProviderError | None = None
    heard = 0
    try:
        events, idle_s = parts.provider.stream(request), parts.settings[STREAM_IDLE_MS] / 1000
        async with ProviderStream(
            events, idle_s, lambda: turn.tell(Notice("info", ending("quiet", parts.policy.language)))
        ) as stream:
            async for event in stream:
                event = _well_formed(event)  # noqa: PLW2901 - the event as it came is not used again
                heard += len(event.text) if isinstance(event, (TextDelta, Thinking)) else 0
                if isinstance(event, Usage):
                    _count(turn, event)
                await ear.take(event)
                if ear.is_cut:
                    break
    except ProviderError as error:
        broken = error
    await ear.end_stream()
    if ear.is_cut and turn.budget.prompt_tokens:
        # Estimate the output, because a stream that Wisp cuts off never reports it.
        _count(turn, Usage(output_tokens=heard // _CHARS_A_TOKEN))
    return broken


def _well_formed(event: StreamEvent) -> StreamEvent:
    """Remove halves of surrogate pairs from the event, because they cannot be saved or sent."""
    if isinstance(event, (TextDelta, Thinking)):
        return replace(event, text=well_formed(event.text))
    if isinstance(event, NativeCallDelta):
        return replace(event, json=well_formed(event.json))
    return replace(event, value=well_formed(event.value)) if isinstance(event, OpaqueBlock) else event


def _count(turn: Turn, usage: Usage) -> None:
    turn.budget.add(usage)
    turn.tell(turn.budget.changed())


async def _wait(parts: SessionDeps, turn: Turn, error: ProviderError, failures: int) -> None:
    if not is_passing(error) or failures >= parts.settings[STREAM_ATTEMPTS]:
        raise error
    seconds = wait_before(failures, error, parts.chance)
    told = Phrase(
        "{why} Wisp tries again in {seconds} s.", {"why": error.why.what, "seconds": f"{max(seconds, 1):.0f}"}
    )
    turn.tell(Notice("warning", told.said(words_in(parts.policy.language))))
    await parts.clock.sleep(seconds)
