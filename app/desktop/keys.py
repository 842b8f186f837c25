"""Translate the names that people and models use for keys into X keysym names, or the character that the key types."""

from __future__ import annotations

from functools import cache

from app.base import resources
from app.base.errors import ToolMisuse
from app.base.values import dataclass

_SUGGESTIONS = 3
_LOWEST_LIKENESS = 50
_OPEN_MENUS = frozenset({"F10", "Menu"})
_LEAVE = frozenset({"Tab", "ISO_Left_Tab", "F6"})
_PRESS = frozenset({"space", "Return", "KP_Enter", "KP_Space"})


@dataclass(frozen=True, slots=True)
class Chord:
    """Keys that are pressed in this order and released in reverse order."""

    keys: tuple[str, ...]

    @property
    def may_switch(self) -> bool:
        """Whether window managers switch windows or desktops by such chords: alt+Tab, super+1, ctrl+alt+Left."""
        held = {name.removesuffix("_L").removesuffix("_R") for name in self.keys[:-1]}
        is_sign = len(self.keys[-1]) == 1
        return bool(held & {"Super", "Meta", "Hyper"}) or ("Alt" in held and (not is_sign or "Control" in held))

    @property
    def may_open_menu(self) -> bool:
        """Whether programs open menus by such chords, below which a field says that it keeps the keyboard."""
        return self.keys[-1] in _OPEN_MENUS or any(key.startswith("Alt_") for key in self.keys)

    @property
    def may_leave(self) -> bool:
        """Whether such a chord may move the focus to another control."""
        return self.keys[-1] in _LEAVE or self.may_open_menu

    @property
    def may_press(self) -> bool:
        """Whether such a chord presses the button that has the keyboard."""
        return self.keys[-1] in _PRESS

    def __str__(self) -> str:
        return "+".join(self.keys)


def chord(text: str) -> Chord:
    """Read `ctrl+shift+t`, `Return`, `a`, `ctrl++`. Raises ToolMisuse with the nearest names for an unknown key."""
    names = _split(text.strip() or text)
    if not names:
        raise ToolMisuse('There is no key in it. Name one, such as keys="Return" or keys="ctrl+s".')
    return Chord(tuple(key(name) for name in names))


def chords(text: str) -> tuple[Chord, ...]:
    """Several chords, pressed one after the other, with blanks between them."""
    return tuple(chord(part) for part in text.split()) or (chord(text),)


def key(name: str) -> str:
    """The key's own name. Raises ToolMisuse with the nearest names for an unknown one."""
    if len(name) == 1:
        return "space" if name == " " else name
    found = _names().get(_folded(name))
    if found is None:
        raise ToolMisuse(f"There is no key called {name!r}. {_nearest(name)}")
    return found


def modifiers(text: str) -> tuple[str, ...]:
    """Parse modifier keys by name, such as `ctrl+shift`. Raises ToolMisuse for any other text."""
    found = tuple(key(name) for name in _split(text.strip()))
    for name in found:
        if name not in _modifiers():
            raise ToolMisuse(f"{name!r} is not a modifier. Use ctrl, shift, alt, altgr or super, joined by +.")
    return found


def is_modifier(name: str) -> bool:
    """Whether a key (by its own name) only changes what others do."""
    return name in _modifiers()


def _split(text: str) -> list[str]:
    """Parts between plus signs; a plus sign at the end is a key itself."""
    if text in ("+", ""):
        return ["+"] if text else []
    if text.endswith("++"):
        return [*_split(text[:-2]), "+"]
    return [part.strip() or "+" for part in text.split("+")]


def _folded(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _table() -> dict[str, dict[str, list[str]]]:
    return resources.table("desktop/keys.toml", dict[str, dict[str, list[str]]])


@cache
def _names() -> dict[str, str]:
    return {alias: name for group in _table().values() for name, aliases in group.items() for alias in aliases}


@cache
def named_keys() -> tuple[str, ...]:
    """The keys that are called by a name and change nothing of what others do."""
    return tuple(name for name in _table()["keys"] if len(name) > 1)


def modifier_keys() -> tuple[str, ...]:
    """The keys that only change what others do."""
    return tuple(_table()["modifiers"])


@cache
def _modifiers() -> frozenset[str]:
    return frozenset(_table()["modifiers"])


def _nearest(name: str) -> str:
    from rapidfuzz import process

    found = process.extract(_folded(name), _names().keys(), limit=_SUGGESTIONS, score_cutoff=_LOWEST_LIKENESS)
    if not found:
        return "Keys are named like Return, Escape, Page_Down, F5, kp_7, a; chords like ctrl+shift+t."
    return f"Did you mean {' or '.join(alias for alias, _score, _index in found)}?"
