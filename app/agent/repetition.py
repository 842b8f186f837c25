"""Notices a model that goes round in circles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from app.protocol.result import JsonValue, ToolResult

WARN_AT = 3
ASK_AT = 5


class Repetition:
    """Counts calls of equal name and arguments that follow each other; a result that differs is progress."""

    def __init__(self) -> None:
        self._last = ""
        self._last_result = ""
        self.count = 0

    def note(self, name: str, arguments: Mapping[str, JsonValue]) -> int:
        """The how-manieth time in a row this call is made, this one included."""
        call = json.dumps([name, arguments], sort_keys=True, ensure_ascii=False, default=str)
        if call != self._last:
            self._last, self._last_result, self.count = call, "", 0
        self.count += 1
        return self.count

    def came(self, result: ToolResult) -> None:
        """What the call brought; something new starts the count again."""
        digest = hashlib.sha256(result.llm_echo.encode("utf-8", "replace"))
        for media in result.llm_media:
            digest.update(media.data)
        seen = digest.hexdigest()
        if self._last_result and seen != self._last_result:
            self.count = 1
        self._last_result = seen
