"""Text with nothing hidden in it: what cannot be seen is spelled out."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
_ODD_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\u115f\u3164"


def visible(text: str) -> str:
    """Control, direction and zero-width characters, and spaces that only look like one, as `⟨U+202E⟩`."""
    return "".join(character if _can_be_seen(character) else f"⟨U+{ord(character):04X}⟩" for character in text)


def _can_be_seen(character: str) -> bool:
    if character in _KEPT:
        return True
    return unicodedata.category(character) not in _HIDDEN and character not in _ODD_SPACES
