"""Read chords as the key symbols that reach a program, however they are spelled.

All keys of a chord are held at once, so a program may take any part of it: `Return+a` is Return, and `ctrl+alt+Delete`
stays itself with a further key. A key also counts as every symbol that it makes in the present layouts, because the
modifiers of the chord, or a program that looks at another layout, may choose one of them (key symbols:
https://www.x.org/releases/current/doc/xproto/x11protocol.html, Keyboards; SECURITY.md: "A chord is judged by every part
of it").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from app.base import resources
from app.base.errors import ToolMisuse
from app.base.values import dataclass
from app.desktop.keys import chord, chords, is_modifier

CTRL, ALT, SHIFT, SUPER, ALTGR = "ctrl", "alt", "shift", "super", "altgr"
_MODIFIERS = {"Control": CTRL, "Alt": ALT, "Shift": SHIFT, "Super": SUPER, "ISO_Level3_Shift": ALTGR}
_SAME = {
    "KP_Enter": "Return",
    "ISO_Enter": "Return",
    "Linefeed": "Return",
    "\n": "Return",
    "\r": "Return",
    " ": "space",
}
_WITHOUT_NUM_LOCK = {
    "KP_Decimal": "Delete", "KP_0": "Insert", "KP_1": "End", "KP_2": "Down", "KP_3": "Page_Down", "KP_4": "Left",
    "KP_6": "Right", "KP_7": "Home", "KP_8": "Up", "KP_9": "Page_Up", "KP_Delete": "Delete", "KP_Insert": "Insert",
}  # fmt: skip
"""What the keys of the number pad are with shift held, or while num lock is off
(https://www.x.org/releases/current/doc/xproto/x11protocol.html, Keyboards)."""

Combination = frozenset[str]
Symbols = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Stroke:
    """A key that is pressed while modifiers are held."""

    held: Combination
    key: str

    @property
    def is_sign(self) -> bool:
        """True if the stroke types a character into a text field. A control character counts as its chord."""
        is_printed = (
            (len(self.key) == 1 and self.key.isprintable()) or self.key == "space" or self.key.startswith("KP_")
        )
        return is_printed and not self.held & {CTRL, ALT, SUPER}


@dataclass(frozen=True, slots=True)
class Pressed:
    """One chord: its spelling, the set of symbols that reach the program, and its strokes."""

    spelled: str
    symbols: Combination
    strokes: tuple[Stroke, ...]

    @property
    def types(self) -> bool:
        """True if the chord types a character into a text field."""
        return any(stroke.is_sign for stroke in self.strokes)

    def holds(self, combinations: Iterable[Combination]) -> bool:
        """True if one of these chords is a part of this one."""
        return any(one <= self.symbols for one in combinations)


def pressed(text: str, symbols: Symbols | None = None) -> tuple[Pressed, ...]:
    """() if the chords cannot be read, because the tool then presses nothing."""
    try:
        return tuple(_pressed(one.keys, symbols or {}) for one in chords(text)) if text else ()
    except ToolMisuse:
        return ()


def strokes(text: str) -> tuple[str, ...]:
    """As they are sent, without modifiers; () if they cannot be read."""
    try:
        return tuple(key for one in chords(text) for key in one.keys if not is_modifier(key)) if text else ()
    except ToolMisuse:
        return ()


def combination(text: str) -> Combination:
    """Raises ToolMisuse for an unknown key."""
    return frozenset(_named(name) for name in chord(text).keys)


@cache
def listed_chords(name: str) -> frozenset[Combination]:
    """`name` is a list in `resources/policy/keys.toml`."""
    return frozenset(map(combination, resources.table("policy/keys.toml", resources.Table)[name]))


def _pressed(keys: tuple[str, ...], symbols: Symbols) -> Pressed:
    names = [_named(name) for name in keys]
    modifiers = frozenset(name for name in names if name in _MODIFIERS.values())
    made = {name for key in keys for name in map(_named, symbols.get(key, frozenset()))}
    made |= {_WITHOUT_NUM_LOCK[name] for name in names if name in _WITHOUT_NUM_LOCK}
    strokes: list[Stroke] = []
    for place, (key, name) in enumerate(zip(keys, names, strict=True)):
        if name in modifiers:
            continue
        shifted = {SHIFT} if len(key) == 1 and key != key.lower() else set()
        before = modifiers & set(names[:place])
        strokes += [Stroke(held | shifted, name) for held in dict.fromkeys((before, modifiers))]
    return Pressed(_spelled(keys), frozenset({*names, *made}), tuple(strokes))


def _named(name: str) -> str:
    """As in the tables: one name for both modifiers of a kind, letters in lower case."""
    if is_modifier(name):
        return _MODIFIERS[name.removesuffix("_L").removesuffix("_R")]
    if name == "ISO_Left_Tab":
        return "Tab"
    return _SAME.get(name, name.lower() if len(name) == 1 else name)


def spelled(text: str) -> tuple[str, ...]:
    """Return the chords of a call in one spelling. A chord that cannot be read stays unchanged."""
    try:
        return tuple(_spelled(one.keys) for one in chords(text))
    except ToolMisuse:
        return tuple(text.split())


def _spelled(keys: tuple[str, ...]) -> str:
    """Short names of the modifiers in a fixed order, letters in lower case."""
    *held, last = keys
    names = {_named(name) if is_modifier(name) else name for name in held}
    final = _named(last) if is_modifier(last) else last.lower() if len(last) == 1 else last
    return "+".join([*sorted(names), final])
