"""Read the text of one payload, from after its opening tag to its true end.

- A plain payload ends at its first close tag.
- A payload declared `Close.LAST` (file contents, HTML) ends at the last of its close tags before the call's own. That
  is known only when the call closes, so nothing more is shown after the first close tag until then.
- A payload that starts with CDATA ends at the first close tag after a `]]>`. A close tag without `]]>` is only a
  candidate, so that a file may contain its own close tag. The candidate counts when the stream ends and when the next
  call begins, so that a broken CDATA end never swallows the next file. After a malformed end (`]]` without `>`, or
  text between `]]>` and the tag), any other tool's tag begins the next call. After no end at all, only a tag that
  begins a line or that holds CDATA does. If only another `]]>` follows the candidate, the payload was cut short.
- A child without a close tag ends at its call's close tag, if another tool's tag begins the next line. After an ended
  CDATA section, another tool's tag anywhere after it is enough.

The pieces of a payload are kept in a list and joined once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from app.base import ids
from app.base.values import dataclass
from app.protocol import payload
from app.protocol.call import Block, Child
from app.protocol.dialects.stream import ReaderState, UnreadText
from app.protocol.dialects.tags import Tag
from app.protocol.message import CallClosed, CallCut, CallDelta, CallOpened, Misread, ReaderEvent
from app.protocol.spec import PROGRESS, Close, Param, ToolSpec

_CDATA_END = re.compile(r"(?:\r?\n|\r)?(\](?:\](?:>\s{0,64})?)?)\Z")
_LONGEST_END = 80
_MAY_END = frozenset("\r\n]> \t")


class Preview:
    """Passes a payload on for display: drops a line break at its start, and holds back what may be its end tag."""

    def __init__(self, *, is_cdata: bool = False, keeps_end: bool = False) -> None:
        self.count = 0
        self._is_cdata = is_cdata
        self._keeps_end = keeps_end
        self._held = ""
        self._has_begun = False

    def feed(self, text: str) -> str:
        """Return the text that may be shown now. `count` is the number of characters shown so far."""
        if self._held:
            text = self._held + text
            self._held = ""
        if not self._has_begun:
            if text in ("", "\r"):
                self._held = text
                return ""
            self._has_begun = True
            text = text[2:] if text.startswith("\r\n") else text.removeprefix("\n")
        if text and text[-1] in _MAY_END:
            stop = self._end_of(text)
            self._held = text[stop:]
            text = text[:stop]
        self.count += len(text)
        return text

    def _end_of(self, text: str) -> int:
        """Return the index at which the text begins that may belong to the end of the payload."""
        if self._is_cdata and "]" in text[-_LONGEST_END:]:
            ending = _CDATA_END.search(text, max(len(text) - _LONGEST_END, 0))
            if ending:
                return ending.start(1 if self._keeps_end else 0)
        if self._keeps_end:
            return len(text)
        return len(text) - (2 if text.endswith("\r\n") else text[-1] in "\r\n")


def child_of(spec: ToolSpec, name: str) -> Param | None:
    """Return the argument that a sub-tag of that name writes, whether it is declared as attribute, child or body."""
    if name == PROGRESS.name:
        return spec.param(name) or PROGRESS
    return spec.param(name) or (Param(name) if spec.parts_of(name) else None)


class Call:
    """Collects the contents of one call. A call that exceeded a limit is read to its end but reports nothing more."""

    def __init__(self, spec: ToolSpec, tag: Tag) -> None:
        self.spec = spec
        self.tag = tag
        self._id = ids.unique("call_")
        self._children: list[Child] = []
        self._body = ""
        self._dead = False
        self._attrs = {name: self._attribute(name, raw) for name, raw in tag.attrs.items()}

    @property
    def has_children(self) -> bool:
        return bool(self._children)

    def open(self, stream: UnreadText) -> None:
        if self.tag.too_long:
            self.kill(stream, "attributes_too_long", f"The attributes of <{self.tag.name}> are too long; use its body.")
        else:
            stream.emit(CallOpened(self._id, self.tag.name, self._attrs))

    def show(self, param: str, text: str, stream: UnreadText) -> None:
        if text and not self._dead:
            stream.events.append(CallDelta(self._id, param, text))

    def add(self, name: str, text: str, attrs: dict[str, str]) -> None:
        self._children.append(Child(name, text, attrs))

    def set_body(self, text: str) -> None:
        self._body = text

    def close(self, stop: int, stream: UnreadText) -> None:
        if not self._dead:
            stream.emit(CallClosed(self._block(stop, partial=False)))

    def cut(self, stop: int, stream: UnreadText) -> None:
        if not self._dead:
            stream.emit(CallCut(self._block(stop, partial=True)))

    def kill(self, stream: UnreadText, code: str, detail: str) -> None:
        """Report that the call exceeded a limit (`code`, `detail`), once. The call will not run."""
        if not self._dead:
            stream.emit(CallCut(self._block(stream.position(), partial=True)))
            stream.emit(Misread(code, detail, self.tag.start))
        self._dead = True

    def _attribute(self, name: str, raw: str) -> str:
        param = child_of(self.spec, name)
        return payload.attribute_value(raw, short=param is None or param.short)

    def _block(self, stop: int, *, partial: bool) -> Block:
        return Block(
            self._id,
            self.tag.name,
            self._attrs,
            tuple(self._children),
            self._body,
            partial=partial,
            span=(self.tag.start, stop),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> list[str]:
        given = [child.name for child in self._children]
        many = {param.name for param in self.spec.params if param.many}
        twice = [*self.tag.repeated]
        twice += [name for name in dict.fromkeys(given) if name not in many and given.count(name) > 1]
        twice += [name for name in dict.fromkeys(given) if name in self._attrs]
        return [f"{name} was given more than once; the last one counts." for name in dict.fromkeys(twice)]


_BEFORE = 80
"""How many characters before a tag are checked for the end of a CDATA section and for a line start."""

_LONGEST_TAG = 96
_SHOWN_AT_ONCE = (32, 128)
"""How many characters of a short and of a long payload are shown at once: one or two frames of a fast model's text."""
_SHOWN_SHARE = 64
_GAP = 160
"""How many characters between a call's close tag and the next call are checked."""

_MALFORMED_END = re.compile(r"\](?:\s*\]\s*>?|\s*>)\s*\Z")
_SPACE = re.compile(r"\s*")
_LONGEST_FENCE = 320
_UNFINISHED_TAG = re.compile(r"</?[\w.:-]*\s{0,16}")


@dataclass(frozen=True, slots=True)
class PayloadPlace:
    """Where a payload is: its call, argument and tag. `is_body`: it is directly between the tags of the call."""

    call: Call
    param: Param
    close_name: str
    is_body: bool
    any_open: re.Pattern[str]


Closed = Callable[[str, UnreadText], ReaderState]
"""Gets the raw payload after it ended. Text that was read past its end has been put back."""

Unfinished = Callable[[str, UnreadText], ReaderState | None]
"""Gets the text so far if the stream ends inside the payload."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The functions that go on when a payload ends: `closed` at its close tag, `unfinished` with the stream.

    `fenced`: at its call's close tag, if another call follows. Without it, that tag is text.
    """

    closed: Closed
    unfinished: Unfinished
    fenced: Closed | None = None


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns that may end a payload: its own close tag, and the other tags that matter."""

    close: re.Pattern[str]
    fenced: re.Pattern[str]
    unfinished_fence: re.Pattern[str]
    next_line: re.Pattern[str]
    body_wide: re.Pattern[str]
    child_wide: re.Pattern[str]


@lru_cache(maxsize=256)
def _patterns(tag_name: str, close_name: str, any_open: re.Pattern[str]) -> _Patterns:
    close = rf"(?P<close></{re.escape(close_name)}\s{{0,16}}>)"
    parent = rf"</{re.escape(tag_name)}\s{{0,16}}>"
    gap = rf"[^<]{{0,{_GAP}}}"
    unfinished = rf"(?:>{gap}(?:<[\w.:-]{{0,{_LONGEST_TAG}}})?)?"
    cdata = re.escape(payload.CDATA_START)
    return _Patterns(
        re.compile(close),
        re.compile(rf"{close}|(?P<parent>{parent})(?={gap}{any_open.pattern})"),
        re.compile(rf"</{re.escape(tag_name)}\s{{0,16}}{unfinished}\Z"),
        re.compile(r"[ \t\r]{0,16}\n\s{0,64}<"),
        re.compile(rf"{close}|(?P<parent>(?!))|(?P<cdata>{cdata})|{any_open.pattern}"),
        re.compile(rf"{close}|(?P<parent>{parent})|(?P<cdata>{cdata})|{any_open.pattern}"),
    )


class Payload:
    """The state inside one payload."""

    def __init__(self, place: PayloadPlace, outcomes: Outcomes) -> None:
        self._place = place
        self._param = place.param
        self._outcomes = outcomes
        self._is_last = place.param.close is Close.LAST and not place.is_body and not place.param.many
        self._pieces: list[str] = []
        self._size = 0
        self._is_cdata: bool | None = None
        self._preview = Preview(keeps_end=place.param.keeps_final_newline)
        self._shown = self._show_at = 0
        self._candidate: int | None = None
        self._is_weak = False
        self._is_quiet = False
        self._is_malformed = False
        self._has_met_tool = False
        self._patterns = _patterns(place.call.tag.name, place.close_name, place.any_open)
        self._pattern = self._patterns.close if outcomes.fenced is None else self._patterns.fenced
        self._may_be_fenced = outcomes.fenced is not None

    def take(self, stream: UnreadText) -> ReaderState:
        if self._is_cdata is None and not self._begin(stream):
            return self
        while True:
            if "<" not in stream.data:
                self._add(stream, len(stream.data))
                return self
            found = self._pattern.search(stream.data, stream.at)
            if found is None:
                self._add(stream, self._safe_end(stream))
                return self
            self._add(stream, found.start())
            following = self._meet(found, stream)
            if following is not None:
                return following

    def take_plain(self, chunk: str, stream: UnreadText) -> list[ReaderEvent] | None:
        """Keep a chunk without tags, and return the events so far. Return None if it must be read in full."""
        if "</" in chunk or chunk[-1:] == "<":
            return None
        size = self._size + len(chunk)
        if size >= self._show_at:
            if self._is_cdata is None or self._candidate is not None or size > stream.limits.payload:
                return None
            self._pieces.append(chunk)
            self._size = size
            self._show(stream)
            return stream.report()
        self._pieces.append(chunk)
        self._size = size
        return []

    def end(self, stream: UnreadText) -> ReaderState | None:
        if self._candidate is not None and not self._is_cut_behind():
            return self._finish(self._candidate, stream)
        self._may_be_fenced = False
        self._add(stream, self._safe_end(stream))
        return self._outcomes.unfinished("".join(self._pieces), stream)

    @property
    def opened_at(self) -> int | None:
        tag = self._place.call.tag
        if self._candidate is not None and not self._is_cut_behind():
            is_closed = self._place.is_body or f"</{tag.name}" in "".join(self._pieces[self._candidate :])
            return None if is_closed else tag.start
        return tag.start

    def _is_cut_behind(self) -> bool:
        """Return whether the text ends with the end of the CDATA section that contains the candidate."""
        if not self._is_weak or not self._has_cdata_ended():
            return False
        return payload.CDATA_START not in "".join(self._pieces[self._candidate :])

    def _begin(self, stream: UnreadText) -> bool:
        """Decide whether the payload starts with CDATA. Returns False while too little text has arrived."""
        space = _SPACE.match(stream.data, stream.at)
        assert space is not None
        self._store(space[0])
        stream.at = space.end()
        rest = stream.data[stream.at : stream.at + len(payload.CDATA_START)]
        if rest != payload.CDATA_START and payload.CDATA_START.startswith(rest):
            return False
        self._is_cdata = rest == payload.CDATA_START
        if self._is_cdata:
            self._store(rest)
            stream.at += len(rest)
            self._preview = Preview(is_cdata=True, keeps_end=self._param.keeps_final_newline)
            self._shown = len(self._pieces)
        else:
            self._show(stream)
        return True

    def _safe_end(self, stream: UnreadText) -> int:
        """Return the index up to which the unread text certainly holds no beginning of a tag that matters."""
        data = stream.data
        if self._may_be_fenced:
            fence = self._patterns.unfinished_fence.search(data, max(stream.at, len(data) - _LONGEST_FENCE))
            if fence:
                return fence.start()
        at = data.rfind("<", max(stream.at, len(data) - _LONGEST_TAG))
        return at if at >= 0 and self._may_matter(data[at:]) else len(data)

    def _may_matter(self, rest: str) -> bool:
        close = f"</{self._place.close_name}"
        if close.startswith(rest) or (rest.startswith(close) and not rest[len(close) :].strip()):
            return True
        if self._may_be_fenced and f"</{self._place.call.tag.name}".startswith(rest):
            return True
        if self._candidate is None:
            return False
        return _UNFINISHED_TAG.fullmatch(rest) is not None or payload.CDATA_START.startswith(rest)

    def _store(self, piece: str) -> None:
        self._pieces.append(piece)
        self._size += len(piece)

    def _add(self, stream: UnreadText, stop: int) -> None:
        """Take the text of the payload up to `stop`."""
        if stop == stream.at:
            if self._candidate is None and self._shown < len(self._pieces):
                self._show(stream)
            return
        piece = stream.data[stream.at : stop]
        stream.at = stop
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > stream.limits.payload:
            self._drop(stream)
        elif self._candidate is None:
            self._show(stream)
        else:
            self._is_quiet = self._is_quiet and piece.isspace()

    def _drop(self, stream: UnreadText) -> None:
        call, name = self._place.call, self._param.name
        detail = f"{name} is longer than {stream.limits.payload} characters; write it in several calls."
        call.kill(stream, "payload_too_long", detail)
        self._pieces.clear()
        self._shown = 0
        self._candidate = None if self._candidate is None else 0

    def _show(self, stream: UnreadText) -> None:
        """Report the pieces that have not been shown yet."""
        if not self._param.short:
            text = "".join(self._pieces[self._shown :])
            self._place.call.show(self._param.name, self._preview.feed(text), stream)
        self._shown = len(self._pieces)
        step = sorted((*_SHOWN_AT_ONCE, self._size // _SHOWN_SHARE))[1]
        limit = stream.limits.payload
        self._show_at = limit if self._param.short else min(self._size + step, limit)

    def _meet(self, found: re.Match[str], stream: UnreadText) -> ReaderState | None:
        """Handle a tag that may end the payload. Return the next state if it does, None if it is text."""
        if found["close"]:
            return self._meet_close(found, stream)
        if self._candidate is None:
            return self._meet_fence(found, stream)
        is_parent = found["parent"] is not None
        if self._ends_at_parent(stream) if is_parent else self._ends_at_tool(is_cdata=found["cdata"] is not None):
            return self._finish(self._candidate, stream)
        was_quiet = self._is_quiet
        self._add(stream, found.end())
        self._is_quiet = was_quiet and is_parent
        return None

    def _meet_fence(self, found: re.Match[str], stream: UnreadText) -> ReaderState | None:
        """Handle a call that closes before another begins while this payload is open.

        If the payload is CDATA, its section must have ended first.
        """
        is_next_line = self._patterns.next_line.match(stream.data, found.end()) is not None
        is_fence = self._has_cdata_ended() if self._is_cdata else is_next_line
        if self._outcomes.fenced is None or not is_fence:
            self._add(stream, found.end())
            return None
        return self._outcomes.fenced("".join(self._pieces), stream)

    def _has_cdata_ended(self) -> bool:
        return self._before().rstrip().endswith(payload.CDATA_END)

    def _ends_at_parent(self, stream: UnreadText) -> bool:
        return not self._is_weak or stream.ended

    def _ends_at_tool(self, *, is_cdata: bool) -> bool:
        """Say whether the next tool's tag ends this payload.

        It does at the start of a line, right after the close tag, after a malformed end, or if it holds CDATA itself.
        """
        if is_cdata:
            return self._is_weak and self._has_met_tool
        self._has_met_tool = True
        if self._is_quiet or self._is_malformed:
            return True
        return self._is_weak and self._before().rstrip(" \t").endswith("\n")

    def _before(self) -> str:
        """Return the last characters of the payload so far."""
        pieces: list[str] = []
        missing = _BEFORE
        for piece in reversed(self._pieces):
            pieces.append(piece[-missing:])
            missing -= len(pieces[-1])
            if missing <= 0:
                break
        return "".join(reversed(pieces))

    def _meet_close(self, found: re.Match[str], stream: UnreadText) -> ReaderState | None:
        is_weak = bool(self._is_cdata) and not self._has_cdata_ended()
        if not self._is_last and (not is_weak or stream.ended):
            stream.at = found.end()
            return self._finish(len(self._pieces), stream)
        if not is_weak or self._candidate is None:
            self._show(stream)
            self._candidate, self._show_at = len(self._pieces), 0
            self._is_weak = is_weak
            self._is_malformed = is_weak and self._is_end_malformed()
            self._widen()
        self._store(found[0])
        stream.at = found.end()
        self._is_quiet = self._is_quiet or self._candidate == len(self._pieces) - 1
        return None

    def _is_end_malformed(self) -> bool:
        """Return whether the CDATA section has ended, but not in the correct form."""
        return _MALFORMED_END.search(self._before()) is not None or payload.CDATA_END in "".join(self._pieces)

    def _widen(self) -> None:
        """After the first candidate, also look for the call's own close tag and for other tools' tags."""
        self._may_be_fenced = False
        self._pattern = self._patterns.body_wide if self._place.is_body else self._patterns.child_wide

    def _finish(self, candidate: int, stream: UnreadText) -> ReaderState:
        """End the payload at piece `candidate`, which is its close tag, and put back the text after it."""
        raw = "".join(self._pieces[:candidate])
        stream.replay("".join(self._pieces[candidate + 1 :]))
        self._show_rest(raw, stream)
        return self._outcomes.closed(raw, stream)

    def _show_rest(self, raw: str, stream: UnreadText) -> None:
        span = payload.span_of(raw, self._param)
        if span is None:
            self._place.call.show(self._param.name, payload.value_of(raw, self._param), stream)
        elif self._param.short or self._is_cdata or payload.CDATA_START not in raw:
            start, stop = span
            self._place.call.show(self._param.name, raw[start + self._preview.count : stop], stream)
