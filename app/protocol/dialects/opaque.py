"""Stretches in which no tag counts: private reasoning, results that the model made up, comments."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.protocol.dialects.stream import State, Stream
from app.protocol.events import Invented, Text, Thought

_UNFINISHED = re.compile(r"</?\w{0,24}\s{0,16}\Z|--?\Z")


class Opaque:
    """Reads up to what `close` matches; `piece` gets the text as it arrives, `done` the close itself, or nothing."""

    def __init__(
        self,
        close: re.Pattern[str],
        following: State,
        piece: Callable[[str, Stream], None],
        done: Callable[[str, Stream], None],
    ) -> None:
        self._close = close
        self._following = following
        self._piece = piece
        self._done = done

    def take(self, stream: Stream) -> State:
        found = self._close.search(stream.data, stream.at)
        if found:
            self._pass(stream, found.start())
            stream.at = found.end()
            self._done(found[0], stream)
            return self._following
        unfinished = _UNFINISHED.search(stream.data, max(stream.at, len(stream.data) - 48))
        self._pass(stream, unfinished.start() if unfinished else len(stream.data))
        return self

    def end(self, stream: Stream) -> State | None:
        self._pass(stream, len(stream.data))
        self._done("", stream)
        return None

    @property
    def opened_at(self) -> int | None:
        return None

    def _pass(self, stream: Stream, stop: int) -> None:
        if stop > stream.at:
            self._piece(stream.data[stream.at : stop], stream)
        stream.at = stop


def thinking(following: State) -> State:
    """`<think>` and `<thinking>`; either close tag ends either. A blank thought is none."""
    blank: list[str] | None = []

    def think(text: str, stream: Stream) -> None:
        nonlocal blank
        if blank is not None:
            blank.append(text)
            if text.isspace():
                return
            text = "".join(blank)
            blank = None
        stream.emit(Thought(text))

    def done(_close: str, stream: Stream) -> None:
        if blank is None:
            stream.emit(Thought("", last=True))

    return Opaque(re.compile(r"</think(?:ing)?\s{0,16}>"), following, think, done)


def invented(name: str, following: State) -> State:
    """Results the model wrote itself, reported as one piece."""
    pieces: list[str] = []
    return Opaque(
        re.compile(rf"</{name}\s{{0,16}}>"),
        following,
        lambda text, _stream: pieces.append(text),
        lambda _close, stream: stream.emit(Invented("".join(pieces))),
    )


def comment(following: State) -> State:
    """`<!-- … -->`: shown as it is written, and nothing in it runs."""

    def say(text: str, stream: Stream) -> None:
        if text:
            stream.emit(Text(text))

    return Opaque(re.compile("-->"), following, say, say)
