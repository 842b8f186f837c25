"""Native tool calls while they stream: cards open early, string arguments show as they are written."""

from __future__ import annotations

import json
import re

from app.agent.cards import Cards
from app.agent.transcript import Transcript
from app.agent.words import told
from app.protocol.call import Block
from app.protocol.result import tool_error
from app.providers.api import NativeCallDelta, NativeCallEnded, NativeCallStarted, StreamEvent

_SHORT, _LONG, _PAIR = 2, 6, 12
"""Characters of an escape: one letter, a code unit, two code units that are one character."""
_HIGH_HALF = re.compile(r"\\u[dD][89abAB]")


class ArgumentPreview:
    """Reads a JSON object in pieces and gives the text of its string members as far as it is known."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._is_value = False
        self._key = ""
        self._text: list[str] = []
        self._escape = ""

    def feed(self, piece: str) -> str:
        """What is new of the member `key`; single characters keep the members apart."""
        return "".join(self._take(character) for character in piece)

    @property
    def key(self) -> str:
        return self._key

    def _take(self, character: str) -> str:
        if self._in_string:
            return self._inside(character)
        if character == '"':
            self._in_string, self._text = True, []
        elif character in "{[":
            self._depth += 1
            self._is_value = False
        elif character in "}]":
            self._depth -= 1
        elif self._depth == 1 and character in ":,":
            self._is_value = character == ":"
        return ""

    def _inside(self, character: str) -> str:
        if self._escape or character == "\\":
            return self._shown(self._unescaped(character))
        if character != '"':
            return self._shown(character)
        self._in_string = False
        if self._depth == 1 and not self._is_value:
            self._key = "".join(self._text)
        return ""

    def _shown(self, text: str) -> str:
        if self._depth == 1 and self._is_value:
            return text
        self._text.append(text)
        return ""

    def _unescaped(self, character: str) -> str:
        """The character an escape stands for, once it is whole; both halves of a surrogate pair are one."""
        self._escape += character
        if len(self._escape) < self._escape_length():
            return ""
        escape, self._escape = self._escape, ""
        try:
            text = str(json.loads(f'"{escape}"'))
        except ValueError:
            return ""
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _escape_length(self) -> int:
        if not self._escape.startswith("\\u"):
            return _SHORT
        return _PAIR if _HIGH_HALF.match(self._escape) else _LONG


class NativeCalls:
    """The calls of one message. `pending` are complete; `refused` are those whose arguments cannot be read."""

    def __init__(self, cards: Cards, transcript: Transcript) -> None:
        self._cards = cards
        self._transcript = transcript
        self._open: dict[str, tuple[NativeCallStarted, ArgumentPreview]] = {}
        self.pending: list[Block] = []
        self.refused: list[tuple[Block, str]] = []
        self.toolsets: dict[str, str] = {}

    @property
    def open_names(self) -> dict[str, str]:
        """The names of calls that have begun and not ended, by id."""
        return {call_id: started.name for call_id, (started, _) in self._open.items()}

    def forget_open(self) -> None:
        """A stream that broke inside calls is asked again: what had begun is closed."""
        for call_id, name in self.open_names.items():
            self._cards.finished(call_id, tool_error(name, told("not_run")))
        self._open.clear()

    def take(self, event: StreamEvent) -> None:
        match event:
            case NativeCallStarted():
                self._started(event)
            case NativeCallDelta():
                self._delta(event)
            case NativeCallEnded():
                self._ended(event)

    def _started(self, event: NativeCallStarted) -> None:
        self._open[event.call_id] = (event, ArgumentPreview())
        self._cards.opened(event.call_id, event.name, {})

    def _delta(self, event: NativeCallDelta) -> None:
        if event.call_id not in self._open:
            return
        preview = self._open[event.call_id][1]
        key, shown = preview.key, ""
        for character in event.json:
            text = preview.feed(character)
            if text and preview.key != key:
                self._show(event.call_id, key, shown)
                key, shown = preview.key, ""
            shown += text
        self._show(event.call_id, key, shown)

    def _ended(self, event: NativeCallEnded) -> None:
        opened = self._open.pop(event.call_id, None)
        if opened is None:
            return
        started = opened[0]
        block = Block(event.call_id, started.name, args=event.args)
        self._transcript.call(block, started.toolset)
        if event.unread:
            self.refused.append((block, event.unread))
            return
        if started.toolset:
            self.toolsets[event.call_id] = started.toolset
        self.pending.append(block)

    def _show(self, call_id: str, param: str, text: str) -> None:
        if text:
            self._cards.delta(call_id, param, text)
