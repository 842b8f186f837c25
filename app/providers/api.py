"""The interface of a provider, and the events that it streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from app.base.values import dataclass
from app.protocol.call import JsonValue
from app.protocol.message import Message


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the model. `system` never changes between passes; `context` is the facts of the moment."""

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
    """A vendor's block that the history must send back unchanged (thinking with its signature)."""

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
    """The call is complete. If its arguments are no JSON object, `args` is empty and `unread` holds the text."""

    call_id: str
    args: Mapping[str, JsonValue]
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one pass, as the provider counts them. If a stream sends several, the last one counts.

    The four figures do not overlap: `input_tokens` are those neither read from a cache nor written to one.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """The answer is finished. `reason` is end_turn, max_tokens, tool_use or refusal."""

    reason: str


@dataclass(frozen=True, slots=True)
class Alive:
    """A sign of life: the service works but has no content yet. The stall timer starts again."""


StreamEvent = (
    TextDelta | Thinking | OpaqueBlock | NativeCallStarted | NativeCallDelta | NativeCallEnded | Usage | Alive | Stopped
)


class Provider(Protocol):
    """A connection to one model service. Closing its stream ends the HTTP request at once.

    The only exceptions that it raises are `errors.ProviderError`s.
    """

    name: str

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]: ...

    async def models(self) -> tuple[str, ...]:
        """Ask the service for its models, and return their ids."""
        ...

    async def close(self) -> None: ...
