"""Makes text from outside harmless: nothing in it can open or close a tag of the protocol."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.protocol.spec import ToolSpec

_STRUCTURE = ("tool_results", "results", "result", "think", "thinking", "execute", "end", "system", "function_calls")
_FOREIGN = ("invoke", "parameter", "function", "tool", "assistant", "user", "human")
"""What other agents' formats and chat templates call their parts."""


def pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Matches the `<` of every tag that means something: structure, the named tools, any name with an underscore, and
    the marks of chat templates (`<|im_start|>`, `<<SYS>>`), which some servers read in any text.
    """
    known = "|".join(re.escape(name) for name in sorted({*_STRUCTURE, *_FOREIGN, *names}))
    return re.compile(
        rf"<(?=\s*/?\s*(?:(?:{known})\b|[a-z][a-z0-9]*_[a-z0-9_]+)|[|\uff5c]|</?SYS>|/?(?:\w+:)(?:{known})\b)",
        re.IGNORECASE,
    )


def escape(text: str, names: Iterable[str] = ()) -> str:
    """The text with `&lt;` where a tag would begin."""
    return pattern(names).sub("&lt;", text)


def names_of(specs: Sequence[ToolSpec]) -> frozenset[str]:
    """Everything by which these tools can be called."""
    return frozenset(name for spec in specs for name in (spec.name, *spec.aliases))
