"""The conversation as roles and parts, the same for every vendor and dialect."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from app.base.facts import Fact
from app.base.values import dataclass, field
from app.protocol.call import Block, JsonValue, Media


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class Author(StrEnum):
    """Who wrote a text of the user's role."""

    PERSON = "person"
    MEANWHILE = "meanwhile"
    """The person, while a turn ran."""
    WISP = "wisp"
    """Wisp itself: results, and notes on the run."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What one call came to, as facts."""

    ok: bool
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text. Models read only `text`.

    `author` wrote it; `wish` is what the person wants of it, if Wisp put words around that. `outcomes` are those of the
    calls whose results the text tells, in order. `holds_others`: others wrote a part of it. `attached` are the kinds of
    what the person attached, of which the text tells too: `wish` is then all that they wrote, also if it is "".
    """

    text: str
    author: Author = Author.PERSON
    wish: str = ""
    outcomes: tuple[CallOutcome, ...] = ()
    holds_others: bool = False
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture. If it has a label, the label is sent as text before it."""

    media: Media


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """A vendor's own block (such as a signed thinking block), to be sent back unchanged to that vendor."""

    vendor: str
    value: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CallPart:
    """A native tool call. `toolset` is set if the model called the vendor's own toolset."""

    id: str
    name: str
    args: Mapping[str, JsonValue]
    toolset: str = ""


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The result for a `CallPart`, matched by its id."""

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


def user(text: str, author: Author = Author.PERSON) -> Message:
    return Message(Role.USER, (TextPart(text, author),))


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, (TextPart(text),))


class Text(NamedTuple):
    """A piece of prose."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the model's private reasoning. It is never shown as an answer and never read for calls.

    `last` marks the end of one stretch of reasoning.
    """

    text: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class CallOpened:
    """A call has begun. Its name and attributes are known; its payload follows."""

    call_id: str
    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)


class CallDelta(NamedTuple):
    """A piece of the payload `param` of an open call, for display only. `CallClosed` has the value that counts."""

    call_id: str
    param: str
    text: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """A complete call. Only calls reported by this event may run."""

    block: Block


@dataclass(frozen=True, slots=True)
class CallCut:
    """A call that was not read to its end (`block.partial` is true). `is_explained`: a `Misread` says why."""

    block: Block
    is_explained: bool = False


@dataclass(frozen=True, slots=True)
class CallQuoted:
    """A complete call in the middle of a sentence. It is a quotation and never runs."""

    block: Block


@dataclass(frozen=True, slots=True)
class BatchClosed:
    """The calls closed since the batch opened form one valid batch (JSON batch dialect)."""

    call_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invented:
    """Results that the model wrote itself. They are no evidence, so Wisp neither shows nor stores them."""

    text: str


@dataclass(frozen=True, slots=True)
class DeclaredEnd:
    """The model declared its turn finished; `position` is the place in the message."""

    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Misread:
    """Text that looked like a call but cannot be one. The model gets it as an error result.

    `code` is a stable word, `detail` a sentence that says how to repair it, `position` a character offset in the
    message.
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
