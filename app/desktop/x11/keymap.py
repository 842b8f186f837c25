"""The present keyboard layout as the X server tells it: which key, with which modifiers, makes which symbol.

The core protocol lists a key's symbols as two groups of two levels (plain, shift), then level 3 and 4 (AltGr) of the
first group. Which group is active comes in bits 13 and 14 of the modifier state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from Xlib import XK, X
from Xlib.display import Display

from app.desktop.keys import named_keys

_UNICODE = 0x01000000
_LEVEL_3 = 0xFE03
_CHARSETS = {0x1: "iso8859-2", 0x2: "iso8859-3", 0x3: "iso8859-4", 0x5: "iso8859-6", 0x6: "koi8-u", 0xC: "iso8859-8"}
"""The charsets whose upper halves the older ranges of symbols (0x1xx and so on) follow."""
_CYRILLIC = 0x6
"""Here only letters: the charset has box drawings where the symbols have letters of other languages."""
_ODD = {0x20AC: "€", 0x6B0: "№", 0x13BC: "Œ", 0x13BD: "œ", 0x13BE: "Ÿ", 0xAAA: "–", 0xAA9: "—", 0xAE6: "•", 0xAAE: "…"}
_ODD_SYMBOLS = {text: symbol for symbol, text in _ODD.items()}
_GROUP_SHIFT = 13


@dataclass(frozen=True, slots=True)
class Stroke:
    """A key and the modifiers that must be down with it."""

    keycode: int
    shift: bool = False
    level_3: bool = False


class Keymap:
    """A snapshot; `group` 0 is the first layout. Cheap to throw away and take anew when the server says it changed."""

    def __init__(self, display: Display, group: int) -> None:
        info = display.display.info
        self.first = int(info.min_keycode)
        self.rows: list[list[int]] = [
            list(row) for row in display.get_keyboard_mapping(self.first, info.max_keycode - self.first + 1)
        ]
        self._strokes: dict[int, Stroke] = {}
        for offset, row in enumerate(self.rows):
            self._add(self.first + offset, row, group)

    def _add(self, keycode: int, row: list[int], group: int) -> None:
        base = 2 if group and len(row) > 3 else 0
        wide = [(row[base], Stroke(keycode)), (row[base + 1], Stroke(keycode, shift=True))]
        above = 4 + (2 if base and len(row) > 7 else 0)
        if len(row) > above + 1 and not base:
            wide.append((row[above], Stroke(keycode, level_3=True)))
            wide.append((row[above + 1], Stroke(keycode, shift=True, level_3=True)))
        for symbol, stroke in wide:
            if symbol:
                known = self._strokes.get(symbol)
                if known is None or _effort(stroke) < _effort(known):
                    self._strokes[symbol] = stroke

    def stroke(self, symbol: int) -> Stroke | None:
        """How to make a symbol, with as few modifiers as can be."""
        return self._strokes.get(symbol)

    def stroke_for(self, character: str) -> Stroke | None:
        """How to type a character, or None where this layout cannot."""
        found = next((s for s in map(self._strokes.get, symbols_of(character)) if s), None)
        return found if found is None or not found.level_3 or self.level_3_keycode else None

    @property
    def level_3_keycode(self) -> int:
        """The key for AltGr; 0 where the layout has none."""
        found = self._strokes.get(_LEVEL_3)
        return found.keycode if found else 0

    def spare(self) -> list[int]:
        """Key codes that carry no symbol."""
        return [self.first + offset for offset, row in enumerate(self.rows) if not any(row)]


def _effort(stroke: Stroke) -> int:
    return stroke.shift + 2 * stroke.level_3


def group_of(state: int) -> int:
    """Which layout is active, from a modifier state."""
    return (state >> _GROUP_SHIFT) & 3


def is_caps(state: int) -> bool:
    return bool(state & X.LockMask)


@cache
def symbols_of(character: str) -> tuple[int, ...]:
    """The symbols that stand for a character, the likeliest first."""
    point = ord(character)
    if 0x20 <= point <= 0x7E or 0xA0 <= point <= 0xFF:
        return (point,)
    return (*_older(character), _UNICODE | point)


def _older(character: str) -> list[int]:
    found = [_ODD_SYMBOLS[character]] if character in _ODD_SYMBOLS else []
    for high, charset in _CHARSETS.items():
        try:
            byte = character.encode(charset)
        except UnicodeEncodeError:
            continue
        if len(byte) == 1 and byte[0] > 0xA0 and (character.isalpha() or high != _CYRILLIC):
            found.append((high << 8) | byte[0])
    return found


@cache
def symbol_of(name: str) -> int:
    """The symbol of a key name of `keys.py`, 0 where X knows none."""
    if len(name) == 1:
        return symbols_of(name)[0]
    if name.startswith("XF86"):
        XK.load_keysym_group("xf86")
        return int(XK.string_to_keysym(name.replace("XF86", "XF86_", 1)) or XK.string_to_keysym(name))
    if name == "ISO_Level3_Shift":
        return _LEVEL_3
    if name == "ISO_Left_Tab":
        return 0xFE20
    return int(XK.string_to_keysym(name))


@cache
def name_of(symbol: int) -> str:
    """The name in `keys.py` of a symbol: a sign of ASCII, or a key that is named; empty for all others."""
    if 0x21 <= symbol <= 0x7E:
        return chr(symbol)
    return next((name for name in named_keys() if symbol and symbol_of(name) == symbol), "")
