"""Names of keys as people and models write them, and the pieces in which a text is typed.

A name is translated to an X keysym name, or to the character that the key types.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from app.base import resources
from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.values import dataclass

Check = Callable[[], Awaitable[None]]
"""Called right before an action. Raises ToolFailed if the action is not allowed any more."""


async def nothing_to_check(*_left: object) -> None:
    """Check nothing before an act."""


class KeyChecks(NamedTuple):
    """`still` is called right before keys are sent, and `taking` before a program gets a pasted text."""

    still: Check = nothing_to_check
    taking: Check = nothing_to_check


UNCHECKED = KeyChecks()

_SUGGESTIONS = 3
_LOWEST_LIKENESS = 50
_NAME_CHARS = 60
_MOST_CHORDS = 200
_OPEN_MENUS = frozenset({"F10", "Menu"})
_LEAVE = frozenset({"Tab", "ISO_Left_Tab", "F6"})
_CARET = frozenset({"Left", "Right", "Up", "Down", "Home", "End", "Page_Up", "Page_Down"})
_PRESS = frozenset({"space", "Return", "KP_Enter", "KP_Space"})

_MNEMONIC_LEAD_S = 0.12
"""Qt asks the accessibility bus about each key and handles it after the answer, or after 100 ms; a shortcut it handles
at once. An Alt that comes after its letter closes the menu that this opened:
https://code.qt.io/cgit/qt/qtbase.git/tree/src/gui/accessible/linux/qspiapplicationadaptor.cpp
"""


@dataclass(frozen=True, slots=True)
class Chord:
    """Keys that are pressed in this order and released in reverse order."""

    keys: tuple[str, ...]

    @property
    def may_switch(self) -> bool:
        """True if a window manager may switch windows or desktops at it (alt+Tab, super+1, ctrl+alt+Left)."""
        held = {name.removesuffix("_L").removesuffix("_R") for name in self.keys[:-1]}
        is_sign = len(self.keys[-1]) == 1
        return bool(held & {"Super", "Meta", "Hyper"}) or ("Alt" in held and (not is_sign or "Control" in held))

    @property
    def may_open_menu(self) -> bool:
        """True if the chord may open a menu. A field in the window then still reports the keyboard focus."""
        return self.keys[-1] in _OPEN_MENUS or any(key.startswith("Alt_") for key in self.keys)

    @property
    def lead_s(self) -> float:
        """How long (s) the other keys are held before the last: above 0 for Alt with a letter, as for menus."""
        is_mnemonic = len(self.keys[-1]) == 1 and any(key.startswith("Alt_") for key in self.keys[:-1])
        return _MNEMONIC_LEAD_S if is_mnemonic else 0.0

    @property
    def may_leave(self) -> bool:
        """True if this chord may move the focus to another control."""
        return self.keys[-1] in _LEAVE or self.may_open_menu

    @property
    def may_press(self) -> bool:
        """True if this chord presses the button that has the keyboard focus."""
        return self.keys[-1] in _PRESS

    @property
    def moves_caret(self) -> bool:
        """True if this chord does no more in a text than to move the caret or to select."""
        held = {name.removesuffix("_L").removesuffix("_R") for name in self.keys[:-1]}
        is_all = "Control" in held and self.keys[-1] == "a"
        return held <= {"Control", "Shift"} and (self.keys[-1] in _CARET or is_all)

    def __str__(self) -> str:
        return "+".join(self.keys)


def chord(text: str) -> Chord:
    """Read `ctrl+shift+t`, `Return`, `a`, `ctrl++`. Raises ToolMisuse with the nearest names for an unknown key."""
    names = _split(text.strip() or text)
    if not names:
        raise ToolMisuse('There is no key in it. Name one, such as keys="Return" or keys="ctrl+s".')
    return Chord(tuple(key(name) for name in names))


def chords(text: str) -> tuple[Chord, ...]:
    """Read chords, separated by blanks, to press one after the other. Raises ToolMisuse for too many."""
    parts = text.split()
    if len(parts) > _MOST_CHORDS:
        raise ToolMisuse(f"{len(parts)} chords are too many for one call; at most {_MOST_CHORDS}. Type text as text.")
    return tuple(chord(part) for part in parts) or (chord(text),)


def key(name: str) -> str:
    """The standard name. Raises ToolMisuse with the nearest names for an unknown key."""
    if len(name) == 1:
        return "space" if name == " " else name
    found = _names().get(_folded(name))
    if found is None:
        raise ToolMisuse(f"There is no key called {clip_line(name, _NAME_CHARS)!r}. {_nearest(name[:_NAME_CHARS])}")
    return found


def modifiers(text: str) -> tuple[str, ...]:
    """Parse modifier keys by name, such as `ctrl+shift`. Raises ToolMisuse for any other text."""
    found = tuple(key(name) for name in _split(text.strip()))
    for name in found:
        if name not in _modifiers():
            raise ToolMisuse(f"{name!r} is not a modifier. Use ctrl, shift, alt, altgr or super, joined by +.")
    return found


def is_modifier(name: str) -> bool:
    return name in _modifiers()


def _split(text: str) -> list[str]:
    """Split at plus signs. A plus sign at the end is itself a key."""
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
    """Return the keys that have a name (not a character) and are no modifiers."""
    return tuple(name for name in _table()["keys"] if len(name) > 1)


@cache
def _modifiers() -> frozenset[str]:
    return frozenset(_table()["modifiers"])


def _nearest(name: str) -> str:
    from rapidfuzz import process

    found = process.extract(_folded(name), _names().keys(), limit=_SUGGESTIONS, score_cutoff=_LOWEST_LIKENESS)
    if not found:
        return "Keys are named like Return, Escape, Page_Down, F5, kp_7, a; chords like ctrl+shift+t."
    return f"Did you mean {' or '.join(alias for alias, _score, _index in found)}?"


LIMIT_CHARS = 100_000
SLICE_CHARS = 16  # because Wisp can only stop between slices: a longer one would still arrive after the stop key
PACE_CHARS = 256
"""After this many characters Wisp waits for the program, and checks the keyboard focus again."""
_SIGNS = {"Return": "\n", "Tab": "\t"}
_LINES_AND_TABS = re.compile(r"(\r\n|\r|\n|\t)")


class Route(Enum):
    """How a piece of text reaches the program: by the layout's keys, as a named key, or pasted or remapped."""

    TYPED = "typed"
    KEY = "key"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. `text` is what to type, or the key's name for `Route.KEY`."""

    route: Route
    text: str

    @property
    def source(self) -> str:
        """The part of the text that this piece types."""
        return _SIGNS[self.text] if self.route is Route.KEY else self.text


def plan(text: str, can_type: Callable[[str], bool]) -> list[Piece]:
    """Split a text into pieces to type, in order. Raises ToolMisuse if it is too long or has an untypable character."""
    if len(text) > LIMIT_CHARS:
        raise ToolMisuse(
            f"The text has {len(text)} characters; at most {LIMIT_CHARS} can be typed. Write it to a file instead."
        )
    return [piece for part in _LINES_AND_TABS.split(text) if part for piece in _pieces(part, can_type)]


def with_lead(pieces: list[Piece], can_type: Callable[[str], bool]) -> list[Piece]:
    """Make the first character a piece of its own, if it is typed by the layout's keys."""
    first = pieces[0] if pieces and pieces[0].route is not Route.KEY else None
    if first is None or len(first.text) < 2 or not can_type(first.text[0]):
        return pieces
    return [Piece(Route.TYPED, first.text[0]), Piece(first.route, first.text[1:]), *pieces[1:]]


def with_short_lead(pieces: list[Piece], taker: Taker | None) -> list[Piece]:
    """Split the first piece if it is typed, so that little text reaches a wrong control if the focus moves.

    For a field of one line, which may pass the focus on, its first word stays (at most `SLICE_CHARS`); for buttons (as
    of a calculator), what comes before a repeated character; for any other control, `PACE_CHARS`.
    """
    first = pieces[0]
    is_field = taker is Taker.ENTRY
    blank = first.text.find(" ", 1) if is_field else -1
    end = min(len(first.text) if blank < 0 else blank, SLICE_CHARS if is_field else PACE_CHARS)
    if taker is Taker.BUTTONS:
        end = next((at for at, sign in enumerate(first.text) if sign in first.text[:at]), end)
    if first.route is not Route.TYPED or end == len(first.text):
        return pieces
    return [Piece(Route.TYPED, first.text[:end]), Piece(Route.TYPED, first.text[end:]), *pieces[1:]]


def is_best_pasted(piece: Piece) -> bool:
    """Return whether a piece should be pasted into a field at once instead of typed.

    While a field is typed into, it may pass the focus on, and the rest would reach another control. Pasting is also
    faster.
    """
    return piece.route is Route.TYPED and len(piece.text) > 1


def _pieces(part: str, can_type: Callable[[str], bool]) -> Iterator[Piece]:
    if part == "\t":
        yield Piece(Route.KEY, "Tab")
    elif part[0] in "\r\n":
        yield Piece(Route.KEY, "Return")
    else:
        odd = next((c for c in part if not _is_typable(c)), None)
        if odd is not None:
            raise ToolMisuse(f"The character U+{ord(odd):04X} cannot be typed; press keys with computer_key instead.")
        yield Piece(Route.TYPED if can_type(part) else Route.EXACT, part)


def _is_typable(character: str) -> bool:
    point = ord(character)
    return point >= 0x20 and not 0x7F <= point < 0xA0 and not 0xD800 <= point < 0xE000


def slices(text: str) -> Iterator[str]:
    """Split a text into parts that are short enough for a stop to take effect between them."""
    for start in range(0, len(text), SLICE_CHARS):
        yield text[start : start + SLICE_CHARS]


class Taker(Enum):
    """What kind of control receives a text."""

    LINES = "lines"
    """A field of many lines: a line break only adds a line, and opens nothing."""
    ENTRY = "entry"
    """A field of one line: it may pass the focus on by itself, to a button that a blank would press."""
    BUTTONS = "buttons"
    """Buttons with characters on them, as in a calculator: they ignore the same key again for a while."""
    OTHER = "other"
