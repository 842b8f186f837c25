"""How the summon key is written (`ctrl+alt+space`) and read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

_MODIFIERS = {
    "ctrl": "ctrl",
    "control": "ctrl",
    "alt": "alt",
    "option": "alt",
    "shift": "shift",
    "super": "super",
    "meta": "super",
    "win": "super",
    "cmd": "super",
    "command": "super",
}
_NAMED = ("space", "enter", "tab", "escape", "insert", "delete", "home", "end", "pageup", "pagedown", "pause", "print")
_OTHER_NAMES = {"return": "enter", "esc": "escape", "del": "delete", "ins": "insert", "page_up": "pageup"}
_FUNCTION = re.compile(r"f([1-9]|1\d|2[0-4])$")


@dataclass(frozen=True, slots=True)
class Keys:
    """Modifiers (`ctrl`, `alt`, `shift`, `super`) held while `key` is pressed: a character, `f1` to `f24`, a name."""

    modifiers: frozenset[str]
    key: str


def parsed(text: str) -> Keys:
    """Raises ValueError with a sentence for what is no key, or one that a person would type all the time."""
    tr = QCoreApplication.translate
    *held, last = [part.strip().lower() for part in text.split("+")]
    key = _OTHER_NAMES.get(last, last)
    unknown = [part for part in held if part not in _MODIFIERS]
    if unknown or not (len(key) == 1 or key in _NAMED or _FUNCTION.match(key)):
        raise ValueError(
            tr("Hotkey", "“{keys}” is no key. Write it like ctrl+alt+space or super+f9.").format(keys=text)
        )
    modifiers = frozenset(_MODIFIERS[part] for part in held)
    if not _FUNCTION.match(key) and not modifiers - {"shift"}:
        raise ValueError(
            tr("Hotkey", "“{keys}” is typed too often to be a call. Add ctrl, alt or super.").format(keys=text)
        )
    return Keys(modifiers, key)
