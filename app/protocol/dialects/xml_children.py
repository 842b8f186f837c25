"""Read what is between a call's tags: its children, its body and its close tag.

Only the children that the tool declares are read as children, and only before a body begins. From the first other text
on, a tool that takes a body reads everything up to its close tag as that body, so that tags inside a file never set an
argument. For a tool without a body, text between the children is kept for the argument check. Another tool's opening
tag at the start of a line ends a call that was never closed: it is reported as cut and does not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from app.protocol import payload
from app.protocol.dialects.stream import ReaderState, UnreadText
from app.protocol.dialects.tags import AFTER_NAME, NAME, OpenTag, Tag, TagForm
from app.protocol.dialects.xml_payload import Call, Outcomes, Payload, PayloadPlace, child_of
from app.protocol.message import Misread
from app.protocol.spec import Close, Param

_COMMENT = ("<!--", "-->")
_CDATA = (payload.CDATA_START, payload.CDATA_END)
_LONGEST_TAG = 96


class Children:
    """The state inside an open call but outside all its children."""

    def __init__(self, call: Call, following: ReaderState, any_open: re.Pattern[str]) -> None:
        self._call = call
        self._following = following
        self.any_open = any_open
        self._close = re.compile(rf"</{re.escape(call.tag.name)}\s{{0,16}}>")
        self._unfinished_close = re.compile(rf"</{re.escape(call.tag.name)}\s{{0,16}}")
        self._takes_body = call.spec.body is not None
        self._gap: list[str] = []
        self._stray: list[str] = []
        self._line = "\n"

    def take(self, stream: UnreadText) -> ReaderState:
        while stream.at < len(stream.data):
            stop = stream.data.find("<", stream.at)
            stop = len(stream.data) if stop < 0 else stop
            if stop > stream.at:
                if self._takes_body and not stream.data[stream.at : stop].isspace():
                    return self._body(stream)
                self._keep(stream, stop)
                continue
            following = self._markup(stream)
            if following is not None:
                return following
        return self

    def end(self, stream: UnreadText) -> ReaderState | None:
        self._set_stray()
        self._call.cut(stream.position(len(stream.data)), stream)
        return None

    @property
    def opened_at(self) -> int | None:
        return self._call.tag.start

    def tag_read(self, tag: Tag, _stream: UnreadText) -> ReaderState:
        self._gap.clear()
        self._line = ""
        param = child_of(self._call.spec, tag.name)
        assert param is not None
        if tag.closes_itself:
            self._add(param, tag, "")
            return self
        place = PayloadPlace(self._call, param, tag.name, is_body=False, any_open=self.any_open)
        return Payload(place, self._outcomes(param, tag))

    def tag_refused(self, name: str, stream: UnreadText) -> ReaderState:
        """Continue after text that looks like a child but is none (such as `<path d="…">` in an SVG picture)."""
        if self._takes_body:
            stream.replay(f"<{name}")
            return self._body(stream)
        self._stray.append(f"<{name}")
        return self

    def tag_cut(self, _tag: Tag, stream: UnreadText) -> ReaderState | None:
        return self.end(stream)

    def tag_fenced(self, _tag: Tag, stream: UnreadText) -> ReaderState:
        self._set_stray()
        self._call.cut(stream.position(), stream)
        return self._following

    def _markup(self, stream: UnreadText) -> ReaderState | None:
        """Read the markup at a `<`. Returns the next state, `self` if the markup is still incomplete, or None if it was
        read and this state continues.
        """
        data, at = stream.data, stream.at
        close = self._close.match(data, at)
        if close:
            body = self._call.spec.body
            # A blank body that may hold its own close tag: the first one need not be its end.
            may_be_text = body is not None and body.close is Close.LAST and not self._call.has_children
            return self._body(stream) if may_be_text else self._closed(close.end(), stream)
        rest = data[at : at + _LONGEST_TAG]
        for start, stop in (_COMMENT, _CDATA):
            if rest.startswith(start):
                return self._section(start, stop, stream)
        name = NAME.match(data, at)
        if not stream.ended and self._may_matter(rest, name, len(data)):
            return self
        if name and name.end() < len(data) and data[name.end()] in AFTER_NAME:
            return self._tag(name[1], stream)
        return self._text(stream, at + 1)

    def _may_matter(self, rest: str, name: re.Match[str] | None, size: int) -> bool:
        if name:
            return name.end() == size and len(rest) < _LONGEST_TAG
        starts = (_COMMENT[0], _CDATA[0], f"</{self._call.tag.name}")
        return any(start.startswith(rest) for start in starts) or bool(self._unfinished_close.fullmatch(rest))

    def _tag(self, name: str, stream: UnreadText) -> ReaderState | None:
        param = child_of(self._call.spec, name)
        if param is not None:
            return OpenTag(name, self._form(param), self, stream)
        if self.any_open.match(stream.data, stream.at) and self._is_line_start():
            return self._fenced(stream)
        return self._text(stream, stream.at + 1 + len(name))

    def _is_line_start(self) -> bool:
        """Say whether only space precedes this place on its line.

        For a tool that takes a body, the first line never counts, because it belongs to the body.
        """
        *earlier, line = self._line.split("\n")
        return bool(earlier) and not line.strip() and (self._call.has_children or not self._takes_body)

    def _form(self, param: Param) -> TagForm:
        known = frozenset(name for attr in param.attrs for name in (attr.name, *attr.aliases))
        takes = (lambda _name: True) if self._call.spec.open else known.__contains__
        return TagForm(takes)

    def _fenced(self, stream: UnreadText) -> ReaderState:
        """Report this call as cut, because the next tool begins before it was closed."""
        self._set_stray()
        name = self._call.tag.name
        self._call.cut(stream.position(), stream)
        detail = f"<{name}> was not closed before the next tool; end it with </{name}>, or write <{name} …/>."
        stream.emit(Misread("unclosed_call", detail, self._call.tag.start))
        return self._following

    def _text(self, stream: UnreadText, stop: int) -> ReaderState | None:
        if self._takes_body:
            return self._body(stream)
        self._keep(stream, stop)
        return None

    def _keep(self, stream: UnreadText, stop: int) -> None:
        """Keep the text up to `stop`, which belongs to no child: space before a body, or stray text."""
        piece = stream.data[stream.at : stop]
        stream.at = stop
        (self._gap if self._takes_body else self._stray).append(piece)
        self._line = piece[-200:] if "\n" in piece else (self._line + piece)[-200:]

    def _section(self, start: str, stop: str, stream: UnreadText) -> ReaderState:
        if self._takes_body and start != _COMMENT[0]:
            return self._body(stream)
        return Section(start, stop, self, self._section_read)

    def _section_read(self, raw: str) -> None:
        if self._takes_body or not raw.startswith(_COMMENT[0]):
            (self._gap if self._takes_body else self._stray).append(raw)

    def _body(self, stream: UnreadText) -> ReaderState:
        body = self._call.spec.body
        assert body is not None
        stream.replay("".join(self._gap))
        place = PayloadPlace(self._call, body, self._call.tag.name, is_body=True, any_open=self.any_open)
        return Payload(place, Outcomes(self._body_closed, self._body_unfinished))

    def _body_closed(self, raw: str, stream: UnreadText) -> ReaderState:
        self._set_body(raw)
        self._call.close(stream.position(), stream)
        return self._following

    def _body_unfinished(self, raw: str, stream: UnreadText) -> ReaderState | None:
        self._set_body(raw)
        self._call.cut(stream.position(len(stream.data)), stream)
        return None

    def _set_body(self, raw: str) -> None:
        self._call.set_body(payload.value_of(raw, self._call.spec.body))

    def _closed(self, stop: int, stream: UnreadText) -> ReaderState:
        stream.at = stop
        self._set_stray()
        self._call.close(stream.position(), stream)
        return self._following

    def _set_stray(self) -> None:
        """Store the text outside the children in the call: as its body if the tool has one and no child was given."""
        pieces = self._gap if self._takes_body and not self._call.has_children else self._stray
        if pieces:
            self._set_body("".join(pieces))

    def _outcomes(self, param: Param, tag: Tag) -> Outcomes:
        def closed(raw: str, _stream: UnreadText) -> ReaderState:
            self._add(param, tag, raw)
            return self

        def unfinished(raw: str, stream: UnreadText) -> ReaderState | None:
            self._add(param, tag, raw)
            return self.end(stream)

        def fenced(raw: str, stream: UnreadText) -> ReaderState:
            self._add(param, tag, raw)
            return self._child_fenced(tag, stream)

        return Outcomes(closed, unfinished, fenced)

    def _child_fenced(self, tag: Tag, stream: UnreadText) -> ReaderState:
        """End the call when its close tag and the next tool came before the child's close tag."""
        close = self._close.match(stream.data, stream.at)
        assert close is not None
        stream.at = close.end()
        self._set_stray()
        self._call.cut(stream.position(), stream)
        detail = f"<{tag.name}> was not closed, so <{self._call.tag.name}> did not run; end it with </{tag.name}>."
        stream.emit(Misread("unclosed_child", detail, tag.start))
        return self._following

    def _add(self, param: Param, tag: Tag, raw: str) -> None:
        attrs = {name: payload.attribute_value(value, short=True) for name, value in tag.attrs.items()}
        self._call.add(tag.name, payload.value_of(raw, param), attrs)


class Section:
    """A comment or CDATA section between children, in which no tag counts."""

    def __init__(self, start: str, stop: str, owner: Children, read: Callable[[str], None]) -> None:
        self._start = start
        self._stop = stop
        self._owner = owner
        self._read = read
        self._pieces: list[str] = []

    def take(self, stream: UnreadText) -> ReaderState:
        data = stream.data
        begin = stream.at if self._pieces else stream.at + len(self._start)
        stop = data.find(self._stop, begin)
        if stop < 0:
            kept = max(len(data) - len(self._stop) + 1, begin)
            if kept > stream.at:
                self._pieces.append(data[stream.at : kept])
                stream.at = kept
            return self
        stop += len(self._stop)
        self._pieces.append(data[stream.at : stop])
        stream.at = stop
        self._read("".join(self._pieces))
        return self._owner

    def end(self, stream: UnreadText) -> ReaderState | None:
        self._read("".join(self._pieces) + stream.data[stream.at :])
        stream.at = len(stream.data)
        return self._owner

    @property
    def opened_at(self) -> int | None:
        return self._owner.opened_at
