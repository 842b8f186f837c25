"""Native calls as they stream: the same reports as from text, so that cards open early and fill while JSON arrives."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from app.protocol import json_text
from app.protocol.call import Block
from app.protocol.events import CallClosed, CallCut, CallDelta, CallOpened, Misread, ReaderEvent
from app.protocol.result import JsonValue

_TOKEN = re.compile(r'["\\\[\]{},:]')
_SHOWN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class NativeCalls:
    """All native calls of one answer, told apart by their ids."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, _Strings]] = {}

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def started(self, call_id: str, name: str) -> list[ReaderEvent]:
        self._open[call_id] = (name, _Strings())
        return [CallOpened(call_id, name)]

    def delta(self, call_id: str, piece: str) -> list[ReaderEvent]:
        """A piece of the arguments' JSON: texts at its top level are shown as they grow."""
        if call_id not in self._open:
            return []
        return [CallDelta(call_id, name, text) for name, text in self._open[call_id][1].feed(piece)]

    def ended(self, call_id: str, args: Mapping[str, JsonValue], unread: str = "") -> list[ReaderEvent]:
        """The call is whole; `unread` is what the vendor sent where that is no JSON object."""
        name, _ = self._open.pop(call_id, ("", None))
        if unread:
            cut = Block(call_id, name, args={}, partial=True)
            detail = f"The arguments of {name} are no JSON object: {_why(unread)}. Call it again."
            return [CallCut(cut), Misread("invalid_json", detail, 0)]
        return [CallClosed(Block(call_id, name, args=args))]

    def cut(self) -> list[ReaderEvent]:
        """The stream is over: what is still open was never completed."""
        events: list[ReaderEvent] = [
            CallCut(Block(call_id, name, args={}, partial=True)) for call_id, (name, _) in self._open.items()
        ]
        self._open.clear()
        return events


def _why(text: str) -> str:
    try:
        json_text.load(text)
    except json.JSONDecodeError as error:
        return f"{error.msg}, line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        return "it cannot be read"
    return "it is another value"


class _Strings:
    """Follows a JSON object as it streams and hands out the text of its top-level strings. For display only."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._is_key = True
        self._key = ""
        self._rest = ""

    def feed(self, piece: str) -> list[tuple[str, str]]:
        data = self._rest + piece
        self._rest = ""
        shown: list[str] = []
        events: list[tuple[str, str]] = []
        at = 0
        while at < len(data):
            token = _TOKEN.search(data, at)
            stop = token.start() if token else len(data)
            if self._in_string:
                shown.append(data[at:stop])
            if token is None:
                break
            after = self._meet(data, stop, shown)
            if after < 0:
                self._rest = data[stop:]
                break
            if token[0] == '"' and not self._in_string:
                self._told("".join(shown), events)
                shown = []
            at = after
        if self._in_string:
            self._told("".join(shown), events)
        return events

    def _told(self, text: str, events: list[tuple[str, str]]) -> None:
        if self._depth != 1:
            return
        if self._is_key:
            self._key += text
        elif text:
            events.append((self._key, text))

    def _meet(self, data: str, at: int, shown: list[str]) -> int:
        """Take the token at `at`; where to go on, or -1 while an escape is not complete."""
        letter = data[at]
        if letter == '"':
            self._in_string = not self._in_string
            if self._in_string and self._is_key and self._depth == 1:
                self._key = ""
            return at + 1
        if self._in_string:
            return self._escape(data, at, shown) if letter == "\\" else self._plain(letter, at, shown)
        if letter in "[{":
            self._depth += 1
        elif letter in "]}":
            self._depth -= 1
        elif self._depth == 1:
            self._is_key = letter == ","
        return at + 1

    def _plain(self, letter: str, at: int, shown: list[str]) -> int:
        shown.append(letter)
        return at + 1

    def _escape(self, data: str, at: int, shown: list[str]) -> int:
        code = data[at + 1 : at + 2]
        size = 6 if code == "u" else 2
        if len(data) < at + size:
            return -1
        if code == "u":
            return self._code_point(data, at, shown)
        shown.append(_SHOWN_ESCAPES.get(code, code))
        return at + size

    def _code_point(self, data: str, at: int, shown: list[str]) -> int:
        """`\\uXXXX`, or two of them that make one character."""
        high = re.match(r"\\u[dD][89abAB][0-9a-fA-F]{2}", data[at:])
        if high and len(data) < at + 12 and r"\u".startswith(data[at + 6 : at + 8][:2]):
            return -1
        size = 12 if high and data.startswith(r"\u", at + 6) else 6
        try:
            shown.append(json_text.load(f'"{data[at : at + size]}"'))
        except ValueError:
            shown.append("\ufffd")
        return at + size
