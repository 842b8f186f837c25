"""Notices a model that goes round in circles: the same call again and again, or calls that change nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from app.protocol.result import JsonValue, ToolResult

WARN_AT = 3
ASK_AT = 5


class Repetition:
    """`count` is how often the same call was made in a row, with nothing new in its result. `idle` is how many passes
    in a row brought the same results, or ended with the same picture of the screen, whatever was called in them.
    """

    def __init__(self) -> None:
        self._call = ""
        self._result = ""
        self._brought: list[str] = []
        self._results = _Run()
        self._pictures = _Run()
        self._picture = ""
        self.count = 0

    @property
    def idle(self) -> int:
        return max(self._results.length, self._pictures.length)

    def forgive(self) -> None:
        """The person wants it to go on."""
        self._results, self._pictures, self.count = _Run(), _Run(), 0

    def note(self, name: str, arguments: Mapping[str, JsonValue]) -> int:
        """The how-manieth time in a row this call is made, this one included."""
        call = json.dumps([name, arguments], sort_keys=True, ensure_ascii=False, default=str)
        if call != self._call:
            self._call, self._result, self.count = call, "", 0
        self.count += 1
        return self.count

    def came(self, result: ToolResult) -> None:
        """What the call brought; something new starts the count again."""
        pictures = [hashlib.sha256(media.data).hexdigest() for media in result.llm_media]
        seen = "\n".join([result.llm_echo, *pictures])
        if self._result and seen != self._result:
            self.count = 1
        self._result = seen
        self._brought.append(seen)
        self._picture = pictures[-1] if pictures else self._picture

    def end_pass(self) -> None:
        """A pass is over; one without results, or without a picture, says nothing about progress."""
        if self._brought:
            self._results.add("\n".join(self._brought))
        if self._picture:
            self._pictures.add(self._picture)
        self._brought, self._picture = [], ""


class _Run:
    """The length of the latest run of equal values."""

    def __init__(self) -> None:
        self._last = ""
        self.length = 0

    def add(self, value: str) -> None:
        self.length = self.length + 1 if value == self._last else 1
        self._last = value
