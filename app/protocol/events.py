"""What a reader reports while a model is talking: a closed union, in source order.

What was reported is never taken back, and the reports do not depend on how the stream was cut into chunks, except
that adjacent `Text`, `Thought` and `CallDelta` reports may be cut differently. `Text` and `CallDelta` are made for
nearly every chunk: named tuples, which take a third of the time of a frozen dataclass to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.protocol.call import Block


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
class Ended:
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
    | Ended
    | Misread
)
