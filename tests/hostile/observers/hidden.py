"""Signs in a text that a person would not see, or that would make them see another text."""

from __future__ import annotations

import unicodedata

_LAYOUT = "\n\t"
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0"
_JOINERS = "\u200c\u200d"


def hidden_in(text: str) -> set[str]:
    """Controls, format signs, half pairs, blank letters, runs of selectors; joiners count where nothing is joined."""
    return {f"U+{ord(sign):04X}" for at, sign in enumerate(text) if _is_hidden(text, at, sign)}


def _is_hidden(text: str, at: int, sign: str) -> bool:
    if sign.isascii() and sign.isprintable():
        return False
    if sign in _JOINERS:
        return text[at - 1 : at].isascii() or text[at + 1 : at + 2].isascii()
    if "\ufe00" <= sign <= "\ufe0f" or "\U000e0100" <= sign <= "\U000e01ef":
        return "\ufe00" <= text[at + 1 : at + 2] <= "\ufe0f" or "\U000e0100" <= text[at + 1 : at + 2] <= "\U000e01ef"
    return sign not in _LAYOUT and (sign in _BLANK_LETTERS or unicodedata.category(sign) in ("Cc", "Cf", "Cs"))
