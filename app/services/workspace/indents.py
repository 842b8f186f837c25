"""Moves the new lines of a block to the indentation that its old lines have in the file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from app.services.workspace.blocks import Block

_Known = dict[str, list[tuple[int, str]]]
"""An indentation of SEARCH, with the lines that have it and how the file indents each of them."""


def reindented(block: Block, old: Sequence[str], kept: Mapping[int, int]) -> tuple[str, ...]:
    """`block.replace` as the file would indent it.

    `old` are the file's lines where SEARCH was found; `kept` tells which new lines are old ones (new to old number).
    """
    known: _Known = {}
    for number, (wanted, present) in enumerate(zip(block.search, old, strict=True)):
        if wanted.strip() and wanted.strip() == present.strip():
            known.setdefault(_indent(wanted), []).append((number, _indent(present)))
    result, place = [], 0
    for number, line in enumerate(block.replace):
        place = kept.get(number, place)
        result.append(_moved(line, known, place) if line.strip() else line)
        place += 1
    return tuple(result)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _moved(line: str, known: _Known, place: int) -> str:
    """The line moved as the old lines of its indentation were, the one nearest to `place` where they differ."""
    own = _indent(line)
    nearest = max((indent for indent in known if own.startswith(indent)), key=len, default=None)
    if nearest is not None:
        return _at(known[nearest], place) + line[len(nearest) :]
    deeper = min((indent for indent in known if indent.startswith(own)), key=len, default=None)
    if deeper is None:
        return line
    return _at(known[deeper], place).removesuffix(deeper[len(own) :]) + line.lstrip()


def _at(lines: list[tuple[int, str]], place: int) -> str:
    after = bisect_left(lines, (place,))
    around = lines[max(after - 1, 0) : after + 1]
    return min(around, key=lambda line: abs(line[0] - place))[1]
