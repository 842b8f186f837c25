"""What a dialect is: it teaches, reads, answers, and writes calls back into history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from app.base.values import dataclass
from app.protocol.call import INTRODUCED, Block, JsonValue, ToolCall, ToolResult
from app.protocol.message import Message, ReaderEvent
from app.protocol.spec import ToolSpec


class Pacing(Enum):
    """When closed calls run, and when the provider's stream is cut."""

    ONE_FEEDBACK_CALL = "each call as it closes; the stream is cut after the first that feeds back"
    ONE_BATCH = "all calls of the first batch, side by side; the stream is cut when the batch closes"
    WHOLE_MESSAGE = "all calls of the message, when it ends"


class DialectReader(Protocol):
    """Reads one message as it streams. Incremental, linear, never raises.

    A stream that ends inside a call may be continued: `feed` what the next response brings, then `flush` once.
    """

    def feed(self, chunk: str) -> list[ReaderEvent]: ...

    def flush(self) -> list[ReaderEvent]:
        """The stream is over: held-back text comes out, an open call is reported as `CallCut`."""
        ...

    def drain(self) -> list[Block]:
        """The finished calls since the last time of asking, for callers that want no events."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether the text so far ends inside a call (its tag, a payload, a batch)."""
        ...

    def tail(self, limit: int) -> str:
        """The last `limit` characters of the open call as written, to ask a model for the exact next one."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A call (or the reader's complaint about one) with its result, in source order. `call` is None for complaints.

    `toolset` is the vendor's own that the call was written in, if it was.
    """

    call_id: str
    tool: str
    result: ToolResult
    call: ToolCall | None = None
    toolset: str = ""


INTRODUCES = "What {name} takes:"


def introduced(answer: Answer) -> tuple[str, ...]:
    """The tools whose docs the answer is asked for."""
    names = answer.result.payload.get(INTRODUCED)
    return tuple(str(name) for name in names) if isinstance(names, (list, tuple)) else ()


class Introductions:
    """The docs of tools that are taught by less: they come with the answer to the first call of one, to every call that
    fails, and to a call that asks for them.
    """

    def __init__(self, write: Callable[[Sequence[ToolSpec]], str]) -> None:
        self._write = write
        self._specs: dict[str, ToolSpec] = {}
        self._by_line: set[str] = set()
        self._given: set[str] = set()

    def begin(self, specs: Sequence[ToolSpec], by_line: Iterable[ToolSpec]) -> None:
        """Of these tools, those `by_line` were taught by one line. Those of an earlier time stay known, because a goal
        within a conversation has fewer tools.
        """
        self._specs |= {spec.name: spec for spec in specs}
        self._by_line |= {spec.name for spec in by_line}

    def due(self, answer: Answer) -> tuple[str, ...]:
        """What the answer has to tell of its tool; empty where nothing is."""
        names = [name for name in introduced(answer) if name in self._specs]
        if (
            not answer.toolset
            and answer.tool in self._by_line
            and not (answer.result.ok and answer.tool in self._given)
        ):
            names.append(answer.tool)
        self._given.update(names)
        return tuple(f"{INTRODUCES.format(name=name)}\n{self._write((self._specs[name],))}" for name in names)


class Dialect(Protocol):
    name: str
    pacing: Pacing

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        """The tool docs for the system prompt, byte-identical for equal specs."""
        ...

    def schemas(self, specs: Sequence[ToolSpec], met: Sequence[str] = ()) -> tuple[Mapping[str, JsonValue], ...]:
        """JSON schemas to declare with the request; empty unless calls are native. Rare tools are declared once they
        were `met`, behind all others and in that order, so that what was declared before stays as it was.
        """
        ...

    def reader(self, specs: Sequence[ToolSpec], *, has_read: bool = False) -> DialectReader:
        """A reader of one message. Once the model `has_read` what others wrote, a call in the middle of a sentence is
        a quotation and reported as `CallQuoted`.
        """
        ...

    def write(self, calls: Sequence[ToolCall], specs: Sequence[ToolSpec]) -> str:
        """Calls as a model would write them; reading it back gives equal calls."""
        ...

    def answer(self, answers: Sequence[Answer]) -> Message:
        """The results as the next user message, pictures included; nothing in it can open a call."""
        ...
