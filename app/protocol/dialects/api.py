"""The interface of a dialect: it explains the tools, reads calls, writes results, and writes calls as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from app.base.facts import Failed, first
from app.base.values import dataclass
from app.protocol import docs
from app.protocol.call import INTRODUCED, Block, JsonValue, ToolCall, ToolResult
from app.protocol.message import CallOutcome, Message, ReaderEvent
from app.protocol.payload import DEFAULT_LIMITS, Limits
from app.protocol.spec import ToolSpec


class Pacing(Enum):
    """When Wisp runs the calls of a message, and when it stops the model's stream."""

    ONE_FEEDBACK_CALL = "each call as it closes; the stream is cut after the first that feeds back"
    ONE_BATCH = "all calls of the first batch, side by side; the stream is cut when the batch closes"
    WHOLE_MESSAGE = "all calls of the message, when it ends"


class DialectReader(Protocol):
    """Reads one message while it streams. Works piece by piece, in linear time, and never raises.

    If a stream ended inside a call, another response can continue it: `feed` its text, then `flush` once.
    """

    def feed(self, chunk: str) -> list[ReaderEvent]: ...

    def flush(self) -> list[ReaderEvent]:
        """End the message: release the text that was held back, and report an open call as `CallCut`."""
        ...

    def drain(self) -> list[Block]:
        """Return the calls finished since the last `drain`, for callers that do not use the events."""
        ...

    @property
    def is_open(self) -> bool:
        """True if the text so far ends inside a call (inside its tag, a payload or a batch)."""
        ...

    def tail(self, limit: int) -> str:
        """The last characters of the open call, so that the model can continue exactly there."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call, or of one reading error; `call` is None for a reading error.

    `toolset` names the vendor's own toolset if the model wrote the call in one.
    """

    call_id: str
    tool: str
    result: ToolResult
    call: ToolCall | None = None
    toolset: str = ""

    @property
    def outcome(self) -> CallOutcome:
        return CallOutcome(self.result.ok, self.result.facts)


INTRODUCES = "What {name} takes:"


def introduced(answer: Answer) -> tuple[str, ...]:
    """Return the names of the tools whose docs the model asked for with this call."""
    names = answer.result.payload.get(INTRODUCED)
    return tuple(str(name) for name in names) if isinstance(names, (list, tuple)) else ()


class Introductions:
    """Adds the full docs of a tool to an answer if the prompt described that tool by one line only.

    The docs come with the answer to the tool's first call, to each that was wrongly written, and to one that asks for
    them.
    """

    def __init__(self, write: Callable[[Sequence[ToolSpec]], str]) -> None:
        self._write = write
        self._specs: dict[str, ToolSpec] = {}
        self._by_line: set[str] = set()
        self._given: set[str] = set()

    def begin(self, specs: Sequence[ToolSpec], by_line: Iterable[ToolSpec]) -> None:
        """Use these tools from now on. The prompt describes those in `by_line` by one line only.

        Tools of an earlier `begin` stay known, because a goal within a conversation has fewer tools.
        """
        self._specs |= {spec.name: spec for spec in specs}
        self._by_line |= {spec.name for spec in by_line}

    def due(self, answer: Answer) -> tuple[str, ...]:
        """() if this answer must carry no docs."""
        names = [name for name in introduced(answer) if name in self._specs]
        why = first(Failed, answer.result.facts)
        is_new = answer.tool not in self._given or (why is not None and why.is_for_model)
        if not answer.toolset and answer.tool in self._by_line and is_new and answer.tool not in names:
            names.append(answer.tool)
        self._given.update(names)
        return tuple(f"{INTRODUCES.format(name=name)}\n{self._write((self._specs[name],))}" for name in names)


class Dialect(Protocol):
    name: str
    pacing: Pacing

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        """Return the tool docs for the system prompt. Equal specs give byte-identical text."""
        ...

    def schemas(self, specs: Sequence[ToolSpec], met: Sequence[str] = ()) -> tuple[Mapping[str, JsonValue], ...]:
        """Return the JSON schemas to declare with the request; () unless calls are native.

        A rare tool is declared only after the model has `met` it. Such tools come last, in the order in which the model
        met them, so that the earlier declarations do not change and the vendor's cache stays valid.
        """
        ...

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> DialectReader:
        """Return a reader for one message.

        If the model `has_read` text that other people wrote, the reader takes a call in the middle of a sentence as a
        quotation and reports `CallQuoted`.
        """
        ...

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:
        """Return the calls as a model would write them. Reading this text gives equal calls."""
        ...

    def answer(self, answers: Sequence[Answer]) -> Message:
        """Return the results as the next user message, with pictures. No text in it can begin a call."""
        ...


class TextDialect:
    """The part that all dialects written as text share. The prompt contains their `guide` and then the tool docs; no
    tool is declared to the vendor.
    """

    document: Callable[[Sequence[ToolSpec]], str]

    def __init__(self, guide: str = "", detail: docs.Detail = docs.EVERYTHING, limits: Limits = DEFAULT_LIMITS) -> None:
        self._guide = guide
        self._detail = detail
        self._limits = limits
        self._names: frozenset[str] = frozenset()
        self._introductions = Introductions(self.document)

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        self._introductions.begin(specs, self._detail.told_by_line(specs))
        return f"{self._guide.strip()}\n\n{docs.taught(specs, self.document, self._detail)}\n".lstrip()

    def schemas(self, *_: object) -> tuple[Mapping[str, JsonValue], ...]:
        return ()
