"""What all text readers share: a cursor over the unread text, and states that move it.

A state takes what it can decide and returns the next state. It leaves unread what it cannot decide yet (such as a
possible tag at the end of a chunk), and that rest is always short. States keep longer waiting text as lists of pieces,
so that nothing is copied or searched twice: the cost of a message is linear however it is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from app.protocol.call import Block
from app.protocol.message import BatchClosed, CallClosed, CallQuoted, Misread, ReaderEvent
from app.protocol.payload import DEFAULT_LIMITS, Limits

_MOST_WAITS = 16
_TAIL_KEPT = 64 * 1024
"""At least this many characters of the message stay available to `tail`."""


class UnreadText:
    """The text from the cursor `at` on, and the list of events that the reader reports.

    `is_doubtful` means that the current call may be a quotation; `is_cited` means that its line is certainly one. When
    a doubtful call closes, later events wait until `settle` says whether the call is quoted.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.data = ""
        self.at = 0
        self.ended = False
        self.events: list[ReaderEvent] = []
        self.finished: list[Block] = []
        self.is_doubtful = False
        self.is_cited = False
        self._ready: list[ReaderEvent] | None = None
        self._base = 0
        self._waits = 0

    def may_wait(self) -> bool:
        """Count a payload that waits for the end of the stream; False if too many did, as each is read again."""
        self._waits += 1
        return self._waits <= _MOST_WAITS

    def add(self, chunk: str, stop: int) -> None:
        """Add a chunk that ends at offset `stop` of the message. Earlier chunks may have bypassed this object."""
        at = self.at
        self.data = chunk if at == len(self.data) else self.data[at:] + chunk
        self._base = stop - len(self.data)
        self.at = 0

    def replay(self, text: str) -> None:
        """Put text that a state had already taken before the unread text again, usually by moving the cursor back."""
        back = self.at - len(text)
        if back >= 0 and self.data.startswith(text, back):
            self.at = back
            return
        self._base += back
        self.data = text + self.data[self.at :]
        self.at = 0

    def position(self, at: int | None = None) -> int:
        """Convert an index into `data` to an offset in the message. The default is the cursor."""
        return self._base + (self.at if at is None else at)

    def emit(self, event: ReaderEvent) -> None:
        if isinstance(event, CallClosed):
            if not self.is_doubtful:
                self.finished.append(event.block)
            elif self._ready is None:
                self._ready, self.events = self.events, []
        self.events.append(event)

    @property
    def is_holding(self) -> bool:
        """True if a closed call waits for the rest of its line."""
        return self._ready is not None

    def settle(self, *, is_quoted: bool, speech: frozenset[str] = frozenset()) -> None:
        """Report the held events, with their calls as quotations or as calls.

        Calls of the tools named in `speech` only talk, so they always run.
        """
        assert self._ready is not None
        is_quoted = is_quoted or self.is_cited
        held, self.events, self._ready, self.is_doubtful = self.events, self._ready, None, False
        for event in held:
            if not is_quoted or (isinstance(event, CallClosed) and event.block.name in speech):
                self.emit(event)
            elif isinstance(event, CallClosed):
                self.emit(CallQuoted(event.block))
            elif not isinstance(event, BatchClosed):
                self.emit(event)

    def report(self) -> list[ReaderEvent]:
        """The events that are certain. Forgets them."""
        if self._ready is not None:
            events, self._ready = self._ready, []
        else:
            events, self.events = self.events, []
        return events


class ReaderState(Protocol):
    def take(self, stream: UnreadText, /) -> ReaderState:
        """Move the cursor. Return the next state, or this state if it needs more text."""
        ...

    def end(self, stream: UnreadText, /) -> ReaderState | None:
        """Handle the end of the text: report what is open, or put back text that must be read in another way."""
        ...

    @property
    def opened_at(self) -> int | None:
        """The offset in the message at which the unfinished call began; None outside a call."""
        ...


TakePlain = Callable[[str, UnreadText], list[ReaderEvent] | None]
"""A fast path that a state may offer as `take_plain`: it takes a chunk of plain text and returns the events.
It returns None if the chunk may be more than text. It is called only while no text waits before the chunk.
"""


class Over:
    """The state after the end of reading: it ignores all text.

    Reading ends after the first batch, after a message that is too long, and after `flush`.
    """

    def take(self, stream: UnreadText) -> ReaderState:
        stream.at = len(stream.data)
        return self

    def end(self, _stream: UnreadText) -> ReaderState | None:
        return None

    @property
    def opened_at(self) -> int | None:
        return None


class StreamReader:
    """A `DialectReader` that consists of states. `state` is the first one."""

    def __init__(self, state: ReaderState, limits: Limits = DEFAULT_LIMITS) -> None:
        self._state = state
        self._take_plain: TakePlain | None = getattr(state, "take_plain", None)
        self._stream = UnreadText(limits)
        self._recent: list[str] = []
        self._older: list[str] = []
        self._room = limits.message
        self._forget_at = max(limits.message - _TAIL_KEPT, 0)
        self._is_full = False

    def feed(self, chunk: str) -> list[ReaderEvent]:
        room = self._room - len(chunk)
        if room < self._forget_at:
            if room < 0:
                return self._overflow(chunk[: self._room])
            self._forget(room)
        self._room = room
        self._recent.append(chunk)
        if self._take_plain is not None:
            events = self._take_plain(chunk, self._stream)
            if events is not None:
                return events
        stream, state = self._stream, self._state
        stream.add(chunk, stream.limits.message - room)
        following = state.take(stream)
        if following is not state:
            self._state = following
            self._run()
        is_clear = stream.at == len(stream.data) and not stream.is_holding
        self._take_plain = getattr(self._state, "take_plain", None) if is_clear else None
        return stream.report()

    def flush(self) -> list[ReaderEvent]:
        self._stream.add("", self._stream.limits.message - self._room)
        self._stream.ended = True
        following = self._state.end(self._stream)
        while following is not None:
            self._state = following
            self._run()
            following = self._state.end(self._stream)
        if self._stream.is_holding:
            self._stream.settle(is_quoted=False)
        self._state, self._take_plain = Over(), None
        return self._stream.report()

    def drain(self) -> list[Block]:
        finished, self._stream.finished = self._stream.finished, []
        return finished

    @property
    def is_open(self) -> bool:
        return self._state.opened_at is not None

    def tail(self, limit: int) -> str:
        start = self._state.opened_at
        length = self._stream.limits.message - self._room
        missing = min(limit, length - start) if start is not None else 0
        pieces: list[str] = []
        for chunk in reversed(self._older + self._recent):
            if missing <= 0:
                break
            pieces.append(chunk[-missing:])
            missing -= len(pieces[-1])
        return "".join(reversed(pieces))

    def _forget(self, room: int) -> None:
        """Drop the oldest chunks, now and then, to be fast. `tail` keeps at least `_TAIL_KEPT` characters.

        `room` is how many characters the message may still get.
        """
        self._older, self._recent = self._recent, []
        self._forget_at = max(room - _TAIL_KEPT, 0)

    def _run(self) -> None:
        state, stream = self._state, self._stream
        following = state.take(stream)
        while following is not state:
            state = following
            following = state.take(stream)
        self._state = state

    def _overflow(self, last: str) -> list[ReaderEvent]:
        """Read what still fits, then report once that the rest is not read."""
        if not self._room and self._is_full:
            return []
        events = self.feed(last) + self.flush()
        self._is_full = True
        limit = self._stream.limits.message
        detail = f"The message is longer than {limit} characters; write less in one answer."
        return [*events, Misread("message_too_long", detail, limit)]
