"""What a provider is, and what it streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from app.base.values import dataclass
from app.protocol.call import JsonValue
from app.protocol.message import Message


@dataclass(frozen=True, slots=True)
class Request:
    """One pass. `system` is the byte-stable prefix; `context` the facts of the moment, sent after it."""

    model: str
    system: str
    messages: tuple[Message, ...]
    context: str = ""
    tools: tuple[Mapping[str, JsonValue], ...] = ()
    max_tokens: int = 8192


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's reasoning, for display only."""

    text: str


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """A vendor's block to be replayed untouched in the history (thinking with its signature)."""

    vendor: str
    value: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class NativeCallStarted:
    call_id: str
    name: str
    toolset: str = ""


@dataclass(frozen=True, slots=True)
class NativeCallDelta:
    """A piece of the call's arguments as JSON text."""

    call_id: str
    json: str


@dataclass(frozen=True, slots=True)
class NativeCallEnded:
    """The call is complete. Where its arguments are no JSON object, `args` is empty and `unread` holds them as sent."""

    call_id: str
    args: Mapping[str, JsonValue]
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one pass, as the provider counts them. A stream may send several: the last one counts.

    The four do not overlap: `input_tokens` are those neither read from nor written to a cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """The answer is over. `reason`: end_turn, max_tokens, tool_use, refusal."""

    reason: str


@dataclass(frozen=True, slots=True)
class Alive:
    """A keep-alive: the service works but has no content yet. The stall timer starts again."""


StreamEvent = (
    TextDelta | Thinking | OpaqueBlock | NativeCallStarted | NativeCallDelta | NativeCallEnded | Usage | Alive | Stopped
)


class Provider(Protocol):
    """Closing the iterator ends the HTTP stream at once. Failures are `errors.ProviderError`s, nothing else."""

    name: str

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]: ...

    async def models(self) -> tuple[str, ...]:
        """The model ids the endpoint offers."""
        ...

    async def close(self) -> None: ...
