"""What a loopback server answers, said once for all vendors; each server writes it in its own wire format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Text:
    """Prose. `cut` is the number of characters in a delta: odd borders split tags, words and emoji."""

    text: str
    cut: int = 7


@dataclass(frozen=True)
class Thought:
    """Reasoning with a signature (a vendor that has none sends only the text)."""

    text: str
    signature: str = "c2lnbmVkIGJ5IHRoZSB2ZW5kb3I="


@dataclass(frozen=True)
class Call:
    """A native tool call; `toolset` names the vendor's own toolset. `cut` is the length of an argument delta."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = "toolu_01"
    toolset: str = ""
    cut: int = 5


@dataclass(frozen=True)
class Ping:
    """The vendor's sign of life between events."""


@dataclass(frozen=True)
class Stall:
    """Nothing more is sent until the client hangs up."""


@dataclass(frozen=True)
class Drop:
    """The connection is cut in the middle of the stream."""


@dataclass(frozen=True)
class Broken:
    """Bytes that the wire format does not allow, as an event's data."""

    data: str = '{"type": "content_block_delta", "index": '


@dataclass(frozen=True)
class Fault:
    """An error reported inside a stream that began with 200."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"


Part = Text | Thought | Call | Ping | Stall | Drop | Broken | Fault


@dataclass(frozen=True)
class Reply:
    """A 200 with a stream. `stop` is end_turn, max_tokens, tool_use or refusal; empty leaves the ending out.

    `bytes_at_once` cuts the stream on the socket, through the middle of lines and of UTF-8 characters.
    """

    parts: tuple[Part, ...]
    stop: str = "end_turn"
    input_tokens: int = 25
    output_tokens: int = 15
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    bytes_at_once: int = 0

    @classmethod
    def of(cls, *parts: Part | str, stop: str = "end_turn", **more: Any) -> Reply:
        """`Reply.of("text", Call("wait", {"seconds": 1}), stop="tool_use")`."""
        return cls(tuple(Text(part) if isinstance(part, str) else part for part in parts), stop, **more)


@dataclass(frozen=True)
class Status:
    """An HTTP error. The error's kind and words default to what the vendor sends with that code."""

    code: int
    kind: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
