"""The conversation as providers carry it: roles and parts, independent of vendor and dialect."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from app.base.values import dataclass, field
from app.protocol.call import Block, JsonValue, Media


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture; its label, if any, is sent as text before it."""

    media: Media


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """A vendor's own block (a thinking block with its signature) that must be replayed untouched to that vendor."""

    vendor: str
    value: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CallPart:
    """A native tool-use block. `toolset` is set where the vendor's own toolset was called."""

    id: str
    name: str
    args: Mapping[str, JsonValue]
    toolset: str = ""


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The answer to a `CallPart`, by its id."""

    call_id: str
    text: str
    media: tuple[Media, ...] = ()
    is_error: bool = False
    toolset: str = ""


Part = TextPart | ImagePart | OpaquePart | CallPart | ResultPart


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    parts: tuple[Part, ...]


def user(text: str) -> Message:
    return Message(Role.USER, (TextPart(text),))


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, (TextPart(text),))


class Text(NamedTuple):
    """A piece of prose."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of private reasoning: never shown as an answer, never read for calls. `last` ends one stretch of it."""

    text: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class CallOpened:
    """A call has begun: its name and attributes are known, its payload is still to come."""

    call_id: str
    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)


class CallDelta(NamedTuple):
    """A piece of the payload `param` of an open call, for display. The value that counts is in `CallClosed`."""

    call_id: str
    param: str
    text: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """A complete call. Only these may run."""

    block: Block


@dataclass(frozen=True, slots=True)
class CallCut:
    """The stream ended inside this call (`block.partial` is true)."""

    block: Block


@dataclass(frozen=True, slots=True)
class CallQuoted:
    """A complete call that stands in the middle of a sentence, where it is a quotation: it never runs."""

    block: Block


@dataclass(frozen=True, slots=True)
class BatchClosed:
    """The calls closed since the batch opened are one valid batch (JSON batch dialect)."""

    call_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invented:
    """Results that the model wrote itself: never evidence, neither shown nor stored."""

    text: str


@dataclass(frozen=True, slots=True)
class DeclaredEnd:
    """The model declared its turn over; `position` is where in the message."""

    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Misread:
    """Something that looked like a call cannot be one. Goes to the model as an error result.

    `code` is a stable word, `detail` a sentence with the fix, `position` a character offset in the message.
    """

    code: str
    detail: str
    position: int


ReaderEvent = (
    Text
    | Thought
    | CallOpened
    | CallDelta
    | CallClosed
    | CallCut
    | CallQuoted
    | BatchClosed
    | Invented
    | DeclaredEnd
    | Misread
)
