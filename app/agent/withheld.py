"""Prose that may turn out to be a call in another format waits for the end of the answer before it is spoken."""

from __future__ import annotations

import re
from functools import lru_cache

_FOREIGN_TAGS = ("function", "invoke", "antml", "tool_call", "execute")
_PERHAPS = re.compile(r"(?m)^[ \t]*(?:[{\[]\s*|</?[\w:-]{0,64}|`{1,8}[ \t]*[a-z_]{0,4})?\Z")
_LONGEST = 96


@lru_cache(maxsize=8)
def _beginning(tools: frozenset[str]) -> re.Pattern[str]:
    """What a line begins with that is such a call, or an example of one."""
    names = "|".join([*_FOREIGN_TAGS, *(rf"{re.escape(name)}[\s/>]" for name in sorted(tools))])
    return re.compile(rf"(?m)^[ \t]*(?:\{{\s*\"|\[\s*\{{|</?(?:{names})|`{{3,}}[ \t]*(?:json|xml|tool))")


class Withheld:
    """`take` gives what may be spoken now; what it keeps, `rest` gives. Without `is_on` nothing is kept.

    `tools` are the names whose tags may begin a call.
    """

    def __init__(self, tools: frozenset[str], *, is_on: bool) -> None:
        self._beginning = _beginning(tools)
        self._is_on = is_on
        self._kept: list[str] = []
        self._is_certain = False
        self._is_line_start = True

    def take(self, text: str) -> str:
        if not self._is_on:
            return text
        if self._is_certain:
            self._kept.append(text)
            return ""
        text = self.rest() + text
        lead = "" if self._is_line_start else "."
        certain = self._beginning.search(lead + text)
        perhaps = certain or _PERHAPS.search(lead + text, max(0, len(lead + text) - _LONGEST))
        stop = max(perhaps.start() - len(lead), 0) if perhaps else len(text)
        self._is_certain = certain is not None
        if stop < len(text):
            self._kept.append(text[stop:])
        if stop:
            self._is_line_start = text[stop - 1] == "\n"
        return text[:stop]

    def rest(self) -> str:
        """What was kept, in one piece; from here on it begins anew."""
        rest = "".join(self._kept)
        self._kept.clear()
        self._is_certain = False
        return rest
