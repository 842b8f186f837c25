"""Notices a model that goes round in circles: the same call again and again, or calls that change nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from app.protocol.result import JsonValue, ToolResult

WARN_AT = 3
ASK_AT = 5


class Repetition:
    """Counts calls of equal name and arguments that follow each other; a result that differs is progress.

    `idle` counts results, and pictures of the screen, that equal the one before, whatever was called for them.
    """

    def __init__(self) -> None:
        self._last = ""
        self._last_result = ""
        self._last_picture = ""
        self._results = self._pictures = 0
        self.count = 0

    @property
    def idle(self) -> int:
        return max(self._results, self._pictures)

    def forgive(self) -> None:
        """The person wants it to go on."""
        self._results = self._pictures = self.count = 0

    def note(self, name: str, arguments: Mapping[str, JsonValue]) -> int:
        """The how-manieth time in a row this call is made, this one included."""
        call = json.dumps([name, arguments], sort_keys=True, ensure_ascii=False, default=str)
        if call != self._last:
            self._last, self.count = call, 0
        self.count += 1
        return self.count

    def came(self, result: ToolResult) -> None:
        """What the call brought; something new starts the count again."""
        pictures = [hashlib.sha256(media.data).hexdigest() for media in result.llm_media]
        seen = "\n".join([result.llm_echo, *pictures])
        is_new = seen != self._last_result
        if is_new and self._last_result:
            self.count = 1
        self._results = 1 if is_new else self._results + 1
        self._last_result = seen
        if pictures:
            self._pictures = 1 if pictures[-1] != self._last_picture else self._pictures + 1
            self._last_picture = pictures[-1]
