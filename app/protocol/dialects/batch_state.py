"""The inside of `<execute>`: a JSON array, closed by the first `</execute>` that stands in none of its strings.

Strings are followed as they stream. Where their quotes never balance, the batch is broken anyway: it then ends at its
first close tag, so that the text behind it is not lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.base import ids
from app.protocol.call import Block
from app.protocol.dialects import batch_json
from app.protocol.dialects.batch_json import BadBatch
from app.protocol.dialects.stream import Over, State, Stream
from app.protocol.dialects.tags import Tag
from app.protocol.events import BatchClosed, CallClosed, CallCut, CallOpened, Misread, Text

_CLOSE = re.compile(r"</execute\s{0,16}>")
_OUTSIDE = re.compile(r'(?:[^"<]++|<(?!/|\Z))*+')
_INSIDE = re.compile(r'(?:[^"\\\n<]++|\\[^\n]|<(?!/|\Z))*+')
"""All that needs no look: up to a quote, a close tag, a line break in a string, an escape or tag cut by the chunk."""

_UNFINISHED = re.compile(r"<(?:/(?:e(?:x(?:e(?:c(?:u(?:t(?:e\s{0,16})?)?)?)?)?)?)?)?\Z")
_LONGEST_TAG = 32
_BLANK = re.compile(r"[ \t\r]*")
_GOES_ON = re.compile(r"\n|<(?:end|think|thinking|results|tool_results)\s*>")
_MAY_GO_ON = re.compile(r"<[a-z_]{0,12}\s{0,16}")
"""What stands behind a batch in the protocol, and what may become that."""

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,64})"')


class Execute:
    """Reads one batch. Emits nothing before it is known to be valid as a whole."""

    def __init__(self, tag: Tag, prose: State, renamed: Mapping[str, str]) -> None:
        self._tag = tag
        self._prose = prose
        self._renamed = renamed
        self._pieces: list[str] = []
        self._size = 0
        self._in_string = False
        self._is_broken = False
        self._first_close: int | None = None
        self._is_too_long = False

    def take(self, stream: Stream) -> State:
        if self._is_broken:
            return self._find_close(stream)
        while True:
            harmless = (_INSIDE if self._in_string else _OUTSIDE).match(stream.data, stream.at)
            assert harmless is not None
            self._pass(stream, harmless.end())
            if stream.at == len(stream.data):
                return self
            before = stream.at
            following = self._meet(stream)
            if following is not None:
                return following
            if stream.at == before:
                return self

    def end(self, stream: Stream) -> State | None:
        if self._first_close is not None:
            return self._fall_back(stream)
        raw = "".join(self._pieces)
        names = _NAME.findall(raw)
        stop = stream.position(len(stream.data))
        name = names[-1] if names else "execute"
        stream.emit(CallCut(Block(ids.unique("call_"), name, args={}, partial=True, span=(self._tag.start, stop))))
        return None

    @property
    def opened_at(self) -> int | None:
        if self._first_close is not None and not "".join(self._pieces[self._first_close + 1 :]).strip():
            return None
        return self._tag.start

    def _pass(self, stream: Stream, stop: int) -> None:
        if stop <= stream.at:
            return
        self._size += stop - stream.at
        if self._size > stream.limits.payload:
            self._is_too_long = True
            self._first_close = None
            self._pieces.clear()
        else:
            self._pieces.append(stream.data[stream.at : stop])
        stream.at = stop

    def _meet(self, stream: Stream) -> State | None:
        """At a character that counts. The next state, or None; where nothing is taken, more text is needed."""
        data, at = stream.data, stream.at
        if data[at] == '"':
            self._in_string = not self._in_string
            self._pass(stream, at + 1)
        elif data[at] == "\n":
            return self._break(stream)
        elif data[at] == "\\":
            self._pass(stream, at + 2 if at + 1 < len(data) else at)
        else:
            return self._meet_tag(stream)
        return None

    def _meet_tag(self, stream: Stream) -> State | None:
        found = _CLOSE.match(stream.data, stream.at)
        if not found:
            may_close = _UNFINISHED.match(stream.data, stream.at)
            self._pass(stream, stream.at if may_close else stream.at + 1)
        elif not self._in_string:
            stream.at = found.end()
            return self._closed(stream)
        else:
            if self._first_close is None:
                self._first_close = len(self._pieces)
            self._pass(stream, found.end())
        return None

    def _find_close(self, stream: Stream) -> State:
        """In a batch that is broken already: its first close tag ends it."""
        found = _CLOSE.search(stream.data, stream.at)
        if found:
            self._pass(stream, found.start())
            stream.at = found.end()
            return self._closed(stream)
        unfinished = _UNFINISHED.search(stream.data, max(stream.at, len(stream.data) - _LONGEST_TAG))
        self._pass(stream, unfinished.start() if unfinished else len(stream.data))
        return self

    def _break(self, stream: Stream) -> State:
        """A line break in a string is no JSON: quotes can no longer be trusted."""
        self._is_broken = True
        return self._fall_back(stream) if self._first_close is not None else self._find_close(stream)

    def _fall_back(self, stream: Stream) -> State:
        assert self._first_close is not None
        stream.replay("".join(self._pieces[self._first_close + 1 :]))
        del self._pieces[self._first_close :]
        return self._closed(stream)

    def _closed(self, stream: Stream) -> State:
        stop = stream.position()
        try:
            if self._is_too_long:
                raise BadBatch("too_long", 0, f"a batch may hold {stream.limits.payload} characters; send fewer calls")
            calls = batch_json.calls_of("".join(self._pieces), stream.limits)
        except BadBatch as bad:
            detail = f"{bad.detail}: {bad}. Nothing of this batch ran; write the whole <execute> again."
            stream.emit(Misread("malformed_execute", detail, self._tag.stop + bad.offset))
            return self._prose
        blocks = [
            Block(ids.unique("call_"), self._renamed.get(name, name), args=args, span=(self._tag.start, stop))
            for name, args in calls
        ]
        for block in blocks:
            stream.emit(CallOpened(block.call_id, block.name))
            stream.emit(CallClosed(block))
        stream.emit(BatchClosed(tuple(block.call_id for block in blocks)))
        return Behind(self._prose) if stream.is_holding else Over()


class Behind:
    """Behind a batch that prose stands before: the rest of its line shows whether it was quoted."""

    def __init__(self, prose: State) -> None:
        self._prose = prose

    def take(self, stream: Stream) -> State:
        return self._judge(stream) or self

    def end(self, stream: Stream) -> State | None:
        return self._judge(stream)

    @property
    def opened_at(self) -> int | None:
        return None

    def _judge(self, stream: Stream) -> State | None:
        space = _BLANK.match(stream.data, stream.at)
        assert space is not None
        if space[0]:
            stream.emit(Text(space[0]))
        stream.at = space.end()
        rest = stream.data[stream.at : stream.at + _LONGEST_TAG]
        if not rest or (not stream.ended and _MAY_GO_ON.fullmatch(rest)):
            return None
        is_quoted = stream.is_cited or not _GOES_ON.match(rest)
        stream.settle(is_quoted=is_quoted)
        return self._prose if is_quoted else Over()
