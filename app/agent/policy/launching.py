"""What opening something in a program that starts programs comes to: a double click, a press or "Open" on an item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from app.agent.policy.tables import table
from app.agent.policy.values import Control
from app.protocol.call import ToolCall
from app.services.workspace.document_kinds import DocumentKind

_HARMLESS = frozenset({DocumentKind.FOLDER.value, DocumentKind.PLAIN.value})
_WORD = re.compile(r"\w+")
_OPENS_A_DIALOG = ("…", "...")


def of_opening(call: ToolCall, seen: Sequence[Control]) -> frozenset[str]:
    """Nothing where the item is known to be a folder or a plain document; in a terminal a double click only selects."""
    control = seen[-1] if seen else Control()
    if not control.is_launcher or control.is_terminal or control.opens in _HARMLESS:
        return frozenset()
    return frozenset({"launches"} if _opens(call, control) else ())


def _opens(call: ToolCall, control: Control) -> bool:
    known = table("launchers")
    count = call.arguments.get("count", 1)
    if call.name in known["clicks"] and isinstance(count, int) and count > 1:
        return True
    if call.name in known["presses"] and control.role in known["items"]:
        return True
    words = _WORD.findall(control.name.replace("_", "").casefold())
    is_choice = call.name in (*known["clicks"], *known["presses"], *known["choices"])
    return is_choice and not control.name.rstrip().endswith(_OPENS_A_DIALOG) and bool(set(words) & _words())


@cache
def _words() -> frozenset[str]:
    return frozenset(word for words in table("launchers")["words"].values() for word in words)
