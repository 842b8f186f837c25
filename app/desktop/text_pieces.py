"""How a text is typed: the pieces that it is cut into, and what takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum

from app.base.errors import ToolMisuse
from app.base.values import dataclass

LIMIT_CHARS = 100_000
SLICE_CHARS = 16
_PASTED_CHARS = 24
PACE_CHARS = 256
"""After so many characters Wisp waits for the program, and looks again at what has the keyboard."""
_SIGNS = {"Return": "\n", "Tab": "\t"}
_LINES_AND_TABS = re.compile(r"(\r\n|\r|\n|\t)")


class Route(Enum):
    """By what means a piece reaches the program."""

    TYPED = "typed"
    KEY = "key"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is what to type, or for `Route.KEY` the key's name."""

    route: Route
    text: str

    @property
    def source(self) -> str:
        """Return the part of the text that this piece types."""
        return _SIGNS[self.text] if self.route is Route.KEY else self.text


def plan(text: str, can_type: Callable[[str], bool]) -> list[Piece]:
    """Split a text into pieces to type, in order. Raises ToolMisuse if it is too long or has an untypable character."""
    if len(text) > LIMIT_CHARS:
        raise ToolMisuse(
            f"The text has {len(text)} characters; at most {LIMIT_CHARS} can be typed. Write it to a file instead."
        )
    return [piece for part in _LINES_AND_TABS.split(text) if part for piece in _pieces(part, can_type)]


def with_lead(pieces: list[Piece]) -> list[Piece]:
    """The same pieces, the first character a piece of its own where it is a key."""
    first = pieces[0].text if pieces and pieces[0].route is Route.TYPED else ""
    if len(first) < 2:
        return pieces
    return [Piece(Route.TYPED, first[0]), Piece(Route.TYPED, first[1:]), *pieces[1:]]


def with_short_lead(pieces: list[Piece], taker: Taker | None) -> list[Piece]:
    """The same pieces, the first so short that little goes astray where the keyboard moves: a word for an entry."""
    first = pieces[0]
    blank = first.text.find(" ", 1) if taker is Taker.ENTRY else -1
    end = min(len(first.text) if blank < 0 else blank, SLICE_CHARS if taker is Taker.ENTRY else PACE_CHARS)
    if first.route is not Route.TYPED or end == len(first.text):
        return pieces
    return [Piece(Route.TYPED, first.text[:end]), Piece(Route.TYPED, first.text[end:]), *pieces[1:]]


def pasted_sooner(piece: Piece) -> bool:
    """Whether a field has the text sooner when it is pasted: programs take a millisecond and more for each key."""
    return piece.route is Route.TYPED and len(piece.text) >= _PASTED_CHARS


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
    """Parts short enough that a stop between them comes at once."""
    for start in range(0, len(text), SLICE_CHARS):
        yield text[start : start + SLICE_CHARS]


class Taker(Enum):
    """What takes a text."""

    LINES = "lines"
    """A field of many lines: a line break only adds one, and brings nothing up to wait for."""
    ENTRY = "entry"
    """A field of one line: it may hand the keyboard on by itself, to what takes a blank for a press."""
    OTHER = "other"
