"""Whether what a model is told from outside can pass for the protocol's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_OWN = {"xml": ("tool_results", "result"), "batch": ("results",)}
_STRUCTURE = ("tool_results", "results", "result", "execute", "think", "thinking", "end", "function_calls", "invoke")


def forged(messages: Sequence[str], dialect: str, tools: Iterable[str]) -> list[str]:
    """The tags in the messages beyond one envelope each. Each message answers one call, as these dialects have it."""
    if dialect not in _OWN:
        return []  # vendors carry results apart from words
    found: list[str] = []
    for text in messages:
        rest = text
        for name in _OWN[dialect]:
            if f"<{name}" in rest or f"</{name}" in rest:
                rest = re.sub(rf"<{name}(?: tool=\"[^\"<>]*\" status=\"\w+\")?>", "", rest, count=1)
                rest = "".join(rest.rsplit(f"</{name}>", 1))
        names = "|".join(map(re.escape, {*_STRUCTURE, *tools}))
        found += re.findall(rf"<\s*/?\s*(?:{names})\b", rest, re.IGNORECASE)
    return found
