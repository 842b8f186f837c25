"""What the model said in one pass, as it goes into the history: its own characters up to where it was cut."""

from __future__ import annotations

import re
from functools import lru_cache

from app.agent.cards import Cards
from app.agent.prompt import told
from app.protocol.call import Block, tool_error
from app.protocol.dialects.native import NativeCalls
from app.protocol.dialects.tags import AFTER_NAME, NAME
from app.protocol.message import (
    CallClosed,
    CallCut,
    CallDelta,
    CallOpened,
    CallPart,
    Message,
    Misread,
    OpaquePart,
    Part,
    ReaderEvent,
    Role,
    TextPart,
)
from app.providers.api import NativeCallDelta, NativeCallEnded, NativeCallStarted, StreamEvent


class Transcript:
    """Collects the parts of a message in order. Positions count all characters, as a reader does."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._pieces: list[str] = []
        self._hidden: list[tuple[int, int]] = []
        self._before = 0
        self._length = 0

    @property
    def position(self) -> int:
        """The number of characters so far."""
        return self._before + self._length

    @property
    def text(self) -> str:
        """The text since the last part of another kind, without hidden parts."""
        said, kept, at = "".join(self._pieces), [], 0
        for start, stop in self._hidden:
            kept.append(said[at:start])
            at = stop
        return "".join([*kept, said[at:]])

    def say(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def between(self, start: int, stop: int) -> str:
        """Return the text between two positions, if no part of another kind came in between."""
        return "".join(self._pieces)[max(start - self._before, 0) : max(stop - self._before, 0)]

    def opaque(self, part: OpaquePart) -> None:
        self._flush()
        self._parts.append(part)

    def call(self, block: Block, toolset: str = "", body: str = "") -> None:
        """Add a complete call, which will be answered by its id. `body` names the argument between its tags."""
        self._flush()
        written = {**block.attrs, **{child.name: child.text for child in block.children}}
        if body and block.body:
            written[body] = block.body
        self._parts.append(CallPart(block.call_id, block.name, written if block.args is None else block.args, toolset))

    def cut(self, position: int) -> None:
        """Drop the text from this position on."""
        self._pieces = ["".join(self._pieces)[: max(position - self._before, 0)]]
        self._length = len(self._pieces[0])

    def hide(self, inner: str) -> None:
        """Leave the last occurrence of a text, with its tags, out of the message. Positions do not change."""
        said = "".join(self._pieces)
        start = said.rfind(inner)
        if start < 0 or not inner:
            return
        stop = start + len(inner)
        if said[:start].rstrip().endswith(">"):
            start = max(said.rfind("<", 0, start), 0)
        if said[stop:].lstrip().startswith("</") and ">" in said[stop:]:
            stop = said.index(">", stop) + 1
        self._hidden.append((start, stop))

    def message(self) -> Message:
        """Return the whole message, without parts if nothing was said."""
        text = self.text.strip()
        last: tuple[Part, ...] = (TextPart(text),) if text else ()
        return Message(Role.ASSISTANT, (*self._parts, *last))

    def _flush(self) -> None:
        self._before = self.position
        if text := self.text.strip():
            self._parts.append(TextPart(text))
        self._pieces, self._hidden, self._length = [], [], 0


_LOOK = 240
"""How many characters of the continuation to read before deciding."""
_SHORTEST_REPEAT = 8
"""A shorter overlap counts as chance, because a payload may well repeat a bracket or a line break."""
_OPENING = 24
"""How many first characters of a call must be repeated for it to count as written again."""
_SHORTEST_OPENING = 5
"""The same if the call was cut earlier: at least a short tag."""


class Continuation:
    """Join a continued answer to the text before it.

    `written` is the open call so far (only its end if it is long), or the end of the prose; `opening` is the call's
    beginning. `tags` are the names of the tags that begin another call; none if no call is open. `restarted` says that
    the model wrote the call from the start again, `is_left` that it began another call instead of going on.
    """

    def __init__(self, written: str, opening: str = "", tags: frozenset[str] = frozenset()) -> None:
        self._written = written
        self._opening = (opening or written)[:_OPENING]
        self._is_whole = written.startswith(self._opening)
        self._tags = tags
        self._held = ""
        self._decided = False
        self.restarted = False
        self.is_left = False

    def feed(self, chunk: str) -> str:
        """Take a chunk of the continued answer, and return the text that is new and can be shown by now."""
        if self._decided:
            return chunk
        self._held += chunk
        return self._decide(final=False)

    def finish(self) -> str:
        """Return the text that is still held back, because the stream is over."""
        return "" if self._decided else self._decide(final=True)

    def _decide(self, *, final: bool) -> str:
        if self._begins_anew():
            is_short = len(self._held.lstrip()) < len(self._written)
            waits = self._is_whole and not final and is_short and self._is_copy_so_far()
            return "" if waits else self._copied()
        if self._begins_another(final=final):
            self.is_left = True
            return self._settle(self._held.lstrip())
        if not final and len(self._held) < _LOOK:
            return ""
        return self._settle(self._held[self._overlap() :])

    def _begins_anew(self) -> bool:
        opening = self._opening
        return opening.startswith("<") and len(opening) >= _SHORTEST_OPENING and self._held.lstrip().startswith(opening)

    def _begins_another(self, *, final: bool) -> bool:
        text = self._held.lstrip()
        name = NAME.match(text)
        if not name or name[1] not in self._tags or text[name.end() : name.end() + 1] not in AFTER_NAME:
            return False
        return final or not self._opening.startswith(text)

    def _is_copy_so_far(self) -> bool:
        return self._written.startswith(self._held.lstrip())

    def _copied(self) -> str:
        """Handle a call that the model wrote again: drop an exact copy; otherwise it replaces the old call."""
        text = self._held.lstrip()
        if self._is_whole and text.startswith(self._written):
            return self._settle(text[len(self._written) :])
        self.restarted = not (self._is_whole and self._is_copy_so_far())
        return self._settle(text if self.restarted else "")

    def _overlap(self) -> int:
        longest = min(len(self._held), len(self._written))
        for size in range(longest, _SHORTEST_REPEAT - 1, -1):
            if self._written.endswith(self._held[:size]):
                return size
        return 0

    def _settle(self, text: str) -> str:
        self._decided = True
        self._held = ""
        return text


_FOREIGN_TAGS = ("function", "invoke", "antml", "tool_call", "execute")
_PERHAPS = re.compile(r"(?m)^[ \t]*(?:[{\[]\s*|\[[A-Z_]{0,10}|</?[\w:-]{0,64}|`{1,8}[ \t]*[a-z_]{0,4})?\Z")
_LONGEST = 96


@lru_cache(maxsize=8)
def _beginning(tools: frozenset[str]) -> re.Pattern[str]:
    """Matches a line that begins a call in a foreign format, or an example of such a call."""
    names = "|".join([*_FOREIGN_TAGS, *(rf"{re.escape(name)}[\s/>]" for name in sorted(tools))])
    marks = r"<[|｜]|\[TOOL_CALLS\]|`{3,}[ \t]*(?:json|xml|tool)"
    return re.compile(rf"(?m)^[ \t]*(?:\{{\s*\"|\[\s*\{{|</?(?:{names})|{marks})")


class ProseBuffer:
    """Holds back prose that may begin a call. `take` returns what may be shown now, `rest` the remainder.

    If not `is_on`, nothing is held back. `tools` are the names whose tags may begin a call.
    """

    def __init__(self, tools: frozenset[str], *, is_on: bool) -> None:
        self._beginning = _beginning(tools)
        self._is_on = is_on
        self._kept: list[str] = []
        self._is_certain = False
        self._is_line_start = True

    def take(self, text: str) -> str:
        if not self._is_on:
            return text
        if self._is_certain:
            self._kept.append(text)
            return ""
        text = self.rest() + text
        lead = "" if self._is_line_start else "."
        certain = self._beginning.search(lead + text)
        perhaps = certain or _PERHAPS.search(lead + text, max(0, len(lead + text) - _LONGEST))
        stop = max(perhaps.start() - len(lead), 0) if perhaps else len(text)
        self._is_certain = certain is not None
        if stop < len(text):
            self._kept.append(text[stop:])
        if stop:
            self._is_line_start = text[stop - 1] == "\n"
        return text[:stop]

    def rest(self) -> str:
        """Return the held text in one piece, and reset."""
        rest = "".join(self._kept)
        self._kept.clear()
        self._is_certain = False
        return rest


class NativeHearing:
    """The native calls of one message. `pending` are complete; `refused` are those with unreadable arguments."""

    def __init__(self, cards: Cards, transcript: Transcript) -> None:
        self._cards = cards
        self._transcript = transcript
        self._reading = NativeCalls()
        self._begun: dict[str, str] = {}
        self.pending: list[Block] = []
        self.refused: list[tuple[Block, str]] = []
        self.toolsets: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        """Whether a call has begun and not ended."""
        return self._reading.is_open

    def name_of(self, call_id: str) -> str:
        """The name of a call that has begun; "" if there is none."""
        return self._begun.get(call_id, "")

    def cut(self) -> list[Block]:
        """Return the calls that began and will never be complete."""
        return [event.block for event in self._reading.cut() if isinstance(event, CallCut)]

    def forget_open(self) -> None:
        """Close the cards of unfinished calls after a stream broke, because the model will be asked again."""
        for block in self.cut():
            self._cards.finished(block.call_id, tool_error(block.name, told("not_run")))

    def take(self, event: StreamEvent) -> None:
        match event:
            case NativeCallStarted():
                if event.toolset:
                    self.toolsets[event.call_id] = event.toolset
                self._begun[event.call_id] = event.name
                self._show(self._reading.started(event.call_id, event.name))
            case NativeCallDelta():
                self._show(self._reading.delta(event.call_id, event.json))
            case NativeCallEnded() if event.call_id in self._begun:
                self._ended(event)

    def _ended(self, event: NativeCallEnded) -> None:
        block = Block(event.call_id, self._begun.pop(event.call_id), args=event.args)
        self._transcript.call(block, self.toolsets.get(event.call_id, ""))
        for told_event in self._reading.ended(event.call_id, event.args, event.unread):
            if isinstance(told_event, CallClosed):
                self.pending.append(told_event.block)
            elif isinstance(told_event, Misread):
                self.refused.append((block, told_event.detail))

    def _show(self, events: list[ReaderEvent]) -> None:
        for event in events:
            if isinstance(event, CallOpened):
                self._cards.opened(event.call_id, event.name, {})
            elif isinstance(event, CallDelta):
                self._cards.delta(event.call_id, event.param, event.text)
