"""The two places where prose must be read ahead to know whether a tag in it is meant or only quoted."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from app.protocol.dialects.markdown import Markdown
from app.protocol.dialects.stream import State, Stream
from app.protocol.dialects.tags import Tag

_LOOKAHEAD = 8192
"""What decides must begin within this many characters."""

_LONGEST_DECIDER = 128
_PEEK = 96
_SPACE = re.compile(r"\s+")
_UNDECIDED = re.compile(r"(?:\n[ \t\r]{0,64}|<[^<>]{0,80})\Z")


class ProseState(State, Protocol):
    """What the look-ahead needs from the prose around it."""

    markdown: Markdown
    any_open: re.Pattern[str]

    def say(self, text: str, stream: Stream) -> None: ...

    def follow(self, tag: Tag, stream: Stream) -> State: ...

    def is_meant(self, tag: Tag, text: str) -> bool | None: ...

    def skips_space(self, tag: Tag) -> bool: ...

    def is_call(self, tag: Tag) -> bool: ...


class _Held:
    """Text read ahead, kept in pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def take(self, stream: Stream, stop: int) -> None:
        self._pieces.append(stream.data[stream.at : stop])
        self._size += stop - stream.at
        stream.at = stop

    def find(self, pattern: re.Pattern[str], stream: Stream) -> re.Match[str] | None:
        """The first decider that begins near enough."""
        found = pattern.search(stream.data, stream.at)
        return found if found and self._size + found.start() - stream.at < _LOOKAHEAD else None

    def is_enough(self, stream: Stream) -> bool:
        """Whether a decider that is near enough would have been found."""
        return self._size + len(stream.data) - stream.at >= _LOOKAHEAD + _LONGEST_DECIDER

    @property
    def text(self) -> str:
        return "".join(self._pieces)


class InlineCode:
    """Holds the text from a tag on that stands after a backtick, until its line shows whether that opened code."""

    def __init__(self, prose: ProseState, ticks: int) -> None:
        self._prose = prose
        self._held = _Held()
        self._decides = re.compile(rf"\n|(?<!`)`{{{ticks}}}(?!`)")

    def take(self, stream: Stream) -> State:
        data = stream.data
        found = self._held.find(self._decides, stream)
        if found and (found[0] == "\n" or found.end() < len(data) or stream.ended):
            return self._decided(stream, found)
        if self._held.is_enough(stream):
            return self._no_code(stream)
        self._held.take(stream, max(len(data.rstrip("`")), stream.at))
        return self

    def end(self, stream: Stream) -> State | None:
        found = self._held.find(self._decides, stream)
        return self._decided(stream, found) if found else self._no_code(stream)

    @property
    def opened_at(self) -> int | None:
        return None

    def _decided(self, stream: Stream, found: re.Match[str]) -> State:
        if found[0] == "\n":
            return self._no_code(stream)
        self._held.take(stream, found.start())
        self._prose.say(self._held.text, stream)
        return self._prose

    def _no_code(self, stream: Stream) -> State:
        self._prose.markdown.no_code_here()
        stream.replay(self._held.text)
        return self._prose


@lru_cache(maxsize=256)
def _deciders(name: str, any_open: re.Pattern[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What ends the doubt about a tag of that name in a line, and where it begins one."""
    stops = rf"(?P<close></{re.escape(name)}\s{{0,16}}>)|{any_open.pattern}"
    return re.compile(rf"{stops}|\n[ \t]{{0,64}}\r?\n"), re.compile(stops)


class Mention:
    """After an opening tag without attributes: is it a call, or does the prose only speak of it?"""

    def __init__(self, prose: ProseState, tag: Tag) -> None:
        self._prose = prose
        self._tag = tag
        self._held = _Held()
        self._is_doubtful = False
        self._is_bare = prose.markdown.is_bare
        self._decides = _deciders(tag.name, prose.any_open)[self._is_bare]

    def take(self, stream: Stream) -> State:
        if not self._is_doubtful:
            meant = self._judge(stream)
            if meant:
                return self._call(stream)
            if meant is None:
                return self
            self._is_doubtful = True
        found = self._held.find(self._decides, stream)
        if found:
            return self._call(stream) if found["close"] else self._text(stream)
        if self._held.is_enough(stream):
            return self._call(stream) if self._is_bare else self._text(stream)
        undecided = _UNDECIDED.search(stream.data, stream.at)
        self._held.take(stream, undecided.start() if undecided else len(stream.data))
        return self

    def end(self, stream: Stream) -> State | None:
        return self._text(stream) if self._is_doubtful else self._call(stream)

    @property
    def opened_at(self) -> int | None:
        return self._tag.start if not self._is_doubtful and self._prose.is_call(self._tag) else None

    def _judge(self, stream: Stream) -> bool | None:
        if self._prose.skips_space(self._tag):
            space = _SPACE.match(stream.data, stream.at)
            if space:
                self._held.take(stream, space.end())
        return self._prose.is_meant(self._tag, stream.data[stream.at : stream.at + _PEEK])

    def _call(self, stream: Stream) -> State:
        stream.replay(self._held.text)
        return self._prose.follow(self._tag, stream)

    def _text(self, stream: Stream) -> State:
        self._prose.say(self._tag.raw, stream)
        stream.replay(self._held.text)
        return self._prose
