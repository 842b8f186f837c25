"""Read the text of one payload, from after its opening tag to its true end.

- A plain payload ends at its first close tag.
- A payload declared `Close.LAST` (file contents, HTML) may hold its own close tag. As a child it ends at the last one
  before its call's. Its end is certain only at the end of the stream or at the next call: another tool's tag right
  after the call, at the start of a line, or with a CDATA section. Nothing more is shown until then.
- If such a payload is plain and another close tag of its call follows, which no later call has opened, it has two
  readings. Then the call does not run, and the model is asked for CDATA.
- A payload that starts with CDATA ends at a close tag after a `]]>`: at the last one that belongs to no later section
  of the same tag, if it is declared `Close.LAST`, else at the first.
- After a close tag without `]]>` (a broken end), after several plain lines, and if a payload holds its own opening tag,
  calls that follow may be text of the payload, so the reader waits for the end of the stream. Then a broken end counts,
  so that it never swallows the next file. If only another `]]>` follows it, the payload was cut short.
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
        """Where the text begins that may belong to the end of the payload."""
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
    """Collects the contents of one call. A call that cannot run is read to its end but reports nothing more."""

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
        """Report once why the call will not run (`code`, `detail`)."""
        if not self._dead:
            stream.emit(CallCut(self._block(stream.position(), partial=True), is_explained=True))
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

_SPACE = re.compile(r"\s*")
_THOUGHTS = ("<think", "<thinking")
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


@lru_cache(maxsize=256)
def _patterns(tag_name: str, close_name: str, any_open: re.Pattern[str]) -> _Patterns:
    close = rf"(?P<close></{re.escape(close_name)}\s{{0,16}}>)"
    parent = rf"</{re.escape(tag_name)}\s{{0,16}}>"
    gap = rf"[^<]{{0,{_GAP}}}"
    unfinished = rf"(?:>{gap}(?:<[\w.:-]{{0,{_LONGEST_TAG}}})?)?"
    return _Patterns(
        re.compile(close),
        re.compile(rf"{close}|(?P<parent>{parent})(?={gap}{any_open.pattern})"),
        re.compile(rf"</{re.escape(tag_name)}\s{{0,16}}{unfinished}\Z"),
        re.compile(r"[ \t\r]{0,16}\n\s{0,64}<"),
    )


@lru_cache(maxsize=256)
def _behind_close(tag_name: str, close_name: str, own: str, any_open: re.Pattern[str]) -> re.Pattern[str]:
    """What matters after a close tag; `own` is the tag that opens such a payload again."""
    parent = "(?!)" if tag_name == close_name else rf"</{re.escape(tag_name)}\s{{0,16}}>"
    return re.compile(
        rf"(?P<close></{re.escape(close_name)}\s{{0,16}}>)|(?P<parent>{parent})|(?P<cdata>{re.escape(payload.CDATA_START)})"
        rf"|<(?P<own>{re.escape(own)})(?=[\s/>])|{any_open.pattern}"
    )


_UNCLEAR = (
    "The text in <{name}> contains </{name}>, so its end is unclear, and nothing was done. Write the whole call again "
    "with the text between <![CDATA[ and ]]>."
)


class Payload:
    """The state inside one payload."""

    def __init__(self, place: PayloadPlace, outcomes: Outcomes) -> None:
        self._place = place
        self._param = place.param
        self._outcomes = outcomes
        self._is_last = place.param.close is Close.LAST and not place.param.many
        self._pieces: list[str] = []
        self._size = 0
        self._is_cdata: bool | None = None
        self._preview = Preview(keeps_end=place.param.keeps_final_newline)
        self._shown = self._show_at = 0
        self._candidate: int | None = None
        self._is_weak = self._is_unclear = False
        self._is_call_over = self._is_quiet = False
        self._is_patient = False
        self._depth = self._later = 0
        self._opened: str | None = None
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
        """True if the text ends with the end of the CDATA section around the candidate."""
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
        """Up to here, the unread text certainly holds no beginning of a tag that matters."""
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
        self._is_last = False
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
        if found["parent"] is not None:
            self._meet_parent(found, stream)
            return None
        if self._begins_call(found) and not self._is_patient:
            return self._finish(self._candidate, stream)
        self._add(stream, found.end())
        self._is_quiet = False
        return None

    def _begins_call(self, found: re.Match[str]) -> bool:
        """Say whether another call begins here: its tag has two of three signs, or a CDATA section follows it.

        Count the calls that have a close tag as this payload has.
        """
        if found["cdata"]:
            begins = self._opened is not None and self._before().rstrip().endswith(">")
            self._later += begins and self._opened == self._own
            self._opened = None
            return begins
        if found[0] in _THOUGHTS:
            return False
        signs = (self._is_quiet, self._is_call_over, self._before().rstrip(" \t").endswith("\n"))
        begins = sum(signs) > 1
        self._opened = found["own"] or ""
        if begins and self._opened and not self._is_cdata:
            self._later += 1
            self._opened = ""
        return begins

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

    def _before(self) -> str:
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
        is_text = self._candidate is not None and self._is_later_or_text(is_weak=is_weak)
        if not (self._is_last or is_weak or is_text):
            stream.at = found.end()
            return self._finish(len(self._pieces), stream)
        self._opened = None
        if is_text:
            self._is_quiet = False
        else:
            self._set_candidate(stream, is_weak=is_weak)
        self._store(found[0])
        stream.at = found.end()
        return None

    def _is_later_or_text(self, *, is_weak: bool) -> bool:
        """Say whether a close tag after the candidate belongs to a later call or is text."""
        if is_weak or not (self._is_cdata or self._place.is_body):
            return is_weak or self._is_call_over
        is_later = self._later > 0
        self._later -= is_later
        return is_later

    def _set_candidate(self, stream: UnreadText, *, is_weak: bool) -> None:
        """Let the close tag that comes next be the end of the payload, unless what follows shows that it is not."""
        is_first, was_weak = self._candidate is None, self._is_weak
        self._show(stream)
        self._candidate, self._show_at, self._is_weak = len(self._pieces), 0, is_weak
        self._is_call_over, self._is_quiet = self._place.is_body, True
        if is_first:
            self._may_be_fenced = False
            call_name = self._place.call.tag.name
            self._pattern = _behind_close(call_name, self._place.close_name, self._own, self._place.any_open)
            if self._is_cdata or self._place.is_body:
                self._look_inside(stream)
        elif not self._is_cdata:
            self._is_unclear = self._place.is_body
        elif not was_weak or not self._depth:
            self._depth = max(self._depth - 1, 0)
            self._is_patient = self._is_patient and self._depth > 0

    def _meet_parent(self, found: re.Match[str], stream: UnreadText) -> None:
        """Handle a close tag of the call after the candidate. A second one makes the end of a plain child unclear."""
        if not self._is_cdata and not self._is_call_over:
            self._is_quiet = True
            self._look_inside(stream)
        elif not self._is_cdata and self._later:
            self._later -= 1
        elif not self._is_cdata:
            self._is_unclear = True
            self._candidate = len(self._pieces)
        self._is_call_over = True
        self._store(found[0])
        stream.at = found.end()

    def _look_inside(self, stream: UnreadText) -> None:
        """Decide whether calls that follow may be text of the payload: after a broken end, behind several plain lines,
        and if the payload opens its like. Only a few payloads of a message may wait for its end, so that its cost stays
        linear.
        """
        cdata = rf"[^<]*>\s*{re.escape(payload.CDATA_START)}" if self._is_cdata else ""
        inside = re.compile(rf"<{re.escape(self._own)}(?=[\s/>]){cdata}")
        text = "".join(self._pieces[: self._candidate])
        self._depth = len(inside.findall(text))
        is_unsure = self._is_weak or self._depth > 0 or (not self._is_cdata and "\n" in text)
        self._is_patient = is_unsure and stream.may_wait()

    @property
    def _own(self) -> str:
        """The name of the tag that opens a payload with the same close tag."""
        return self._place.close_name if self._is_cdata else self._place.call.tag.name

    def _finish(self, candidate: int, stream: UnreadText) -> ReaderState:
        """End the payload at piece `candidate`, which is its close tag, and put back the text after it."""
        raw = "".join(self._pieces[:candidate])
        is_for_call = self._is_unclear and not self._place.is_body  # then the close tag is the call's
        stream.replay("".join(self._pieces[candidate if is_for_call else candidate + 1 :]))
        if self._is_unclear:
            self._place.call.kill(stream, "unclear_end", _UNCLEAR.format(name=self._place.call.tag.name))
        self._show_rest(raw, stream)
        return self._outcomes.closed(raw, stream)

    def _show_rest(self, raw: str, stream: UnreadText) -> None:
        span = payload.span_of(raw, self._param)
        if span is None:
            self._place.call.show(self._param.name, payload.value_of(raw, self._param), stream)
        elif self._param.short or self._is_cdata or payload.CDATA_START not in raw:
            start, stop = span
            self._place.call.show(self._param.name, raw[start + self._preview.count : stop], stream)
