"""Where the old lines of a block stand in a file: four ways to look, from exact to similar; only whole lines count."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

_SIMILAR = 0.7
"""Least share of equal inner lines where only the first and last line of a block are found (protocols reference, 5)."""
_MOST_ANCHORS = 2_000
_MOST_WORK = 2_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """The lines `start` to `end` (exclusive, from 0) and how they were found."""

    start: int
    end: int
    way: str


def _as_is(line: str) -> str:
    return line


_WAYS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("exact", _as_is),
    ("trailing spaces differ", str.rstrip),
    ("indentation differs", str.strip),
)


@dataclass(slots=True)
class Lines:
    """A file's lines without line ends, with the indexes that looking needs, made once and only if needed."""

    lines: Sequence[str]
    _views: dict[str, tuple[str, list[int]]] = field(default_factory=dict)

    def places(self, search: Sequence[str]) -> list[Found]:
        """All places of the first way that finds any; empty where none does."""
        for way, view in _WAYS:
            if found := list(self._equal(search, way, view)):
                return found
        return list(self._similar(search))

    def holding(self, search: Sequence[str]) -> int | None:
        """The line (from 0) in which `search` begins if it stands in the file without ending at line borders."""
        text, starts = self._view("exact", _as_is)
        at = text.find("\n".join(search), 1)
        return None if at < 0 else bisect_right(starts, at) - 1

    def _view(self, way: str, view: Callable[[str], str]) -> tuple[str, list[int]]:
        if way not in self._views:
            seen = [view(line) for line in self.lines]
            starts = list(accumulate((len(line) + 1 for line in seen), initial=1))
            self._views[way] = "\n" + "\n".join(seen) + "\n", starts
        return self._views[way]

    def _equal(self, search: Sequence[str], way: str, view: Callable[[str], str]) -> Iterator[Found]:
        text, starts = self._view(way, view)
        wanted = "\n" + "\n".join(view(line) for line in search) + "\n"
        at = text.find(wanted)
        while at >= 0:
            first = bisect_right(starts, at + 1) - 1
            yield Found(first, first + len(search), way)
            at = text.find(wanted, at + 1)

    def _similar(self, search: Sequence[str]) -> Iterator[Found]:
        """First and last line equal, and most of those between."""
        size = len(search)
        if size < 3:
            return
        wanted = [line.strip() for line in search]
        ends = [
            found.start
            for found in self._equal(search[:1], "indentation differs", str.strip)
            if found.start + size <= len(self.lines) and self.lines[found.start + size - 1].strip() == wanted[-1]
        ]
        if len(ends) > _MOST_ANCHORS or len(ends) * size > _MOST_WORK:
            return
        for start in ends:
            inner = zip(wanted[1:-1], self.lines[start + 1 : start + size - 1], strict=True)
            if sum(a == b.strip() for a, b in inner) >= _SIMILAR * (size - 2):
                yield Found(start, start + size, "some inner lines differ")
