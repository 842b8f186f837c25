"""Where the old lines of a block stand in a file: four ways to look, from exact to similar; only whole lines count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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


View = Callable[[str], str]
_WAYS: tuple[tuple[str, View], ...] = (
    ("exact", str),
    ("trailing spaces differ", str.rstrip),
    ("indentation differs", str.strip),
)


class Lines:
    """A file's lines without line ends. All that will be looked for is named at once, so that one pass finds it all."""

    def __init__(self, lines: Sequence[str], searches: Sequence[Sequence[str]]) -> None:
        self.lines = lines
        self._searches = searches
        self._views: dict[str, tuple[list[str], dict[str, list[int]]]] = {}

    def places(self, search: Sequence[str]) -> list[Found]:
        """All places of the first way that finds any; empty where none does."""
        for way, view in _WAYS:
            if starts := list(self._equal(search, way, view)):
                return [Found(start, start + len(search), way) for start in starts]
        return list(self._similar(search))

    def holding(self, search: Sequence[str]) -> int | None:
        """The line (from 0) in which `search` begins if it stands in the file without ending at line borders."""
        text = "\n".join(self.lines)
        at = text.find("\n".join(search))
        return None if at < 0 else text.count("\n", 0, at)

    def _equal(self, search: Sequence[str], way: str, view: View) -> Iterator[int]:
        seen, index = self._view(way, view)
        wanted = list(map(view, search))
        key = _key(search)
        places = index[wanted[key]]
        if len(places) * len(wanted) > _MOST_WORK:
            return _repeated(seen, wanted)
        return (at - key for at in places if at >= key and seen[at - key : at - key + len(wanted)] == wanted)

    def _view(self, way: str, view: View) -> tuple[list[str], dict[str, list[int]]]:
        """The lines as that way sees them, and where the key line of each search stands."""
        if way not in self._views:
            seen = list(map(view, self.lines))
            index: dict[str, list[int]] = {view(search[_key(search)]): [] for search in self._searches}
            for number, line in enumerate(seen):
                if line in index:
                    index[line].append(number)
            self._views[way] = seen, index
        return self._views[way]

    def _similar(self, search: Sequence[str]) -> Iterator[Found]:
        """First and last line equal, and most of those between."""
        size = len(search)
        if size < 3:
            return
        seen, _ = self._view("indentation differs", str.strip)
        wanted = [line.strip() for line in search]
        ends = [
            at
            for at, (one, other) in enumerate(zip(seen, seen[size - 1 :], strict=False))
            if one == wanted[0] and other == wanted[-1]
        ]
        if len(ends) > _MOST_ANCHORS or len(ends) * size > _MOST_WORK:
            return
        for start in ends:
            inner = zip(wanted[1:-1], seen[start + 1 : start + size - 1], strict=True)
            if sum(one == other for one, other in inner) >= _SIMILAR * (size - 2):
                yield Found(start, start + size, "some inner lines differ")


def _key(search: Sequence[str]) -> int:
    """Which line of a search is looked up: the longest, because it is the rarest."""
    return max(range(len(search)), key=lambda at: len(search[at].strip()))


def _repeated(seen: list[str], wanted: list[str]) -> Iterator[int]:
    """Starts of `wanted` where its key line is nearly everywhere: searching as text stays linear, trying does not."""
    text, sought = "\n" + "\n".join(seen) + "\n", "\n" + "\n".join(wanted) + "\n"
    at, line, before = text.find(sought), 0, 0
    while at >= 0:
        line += text.count("\n", before, at)
        yield line
        before, at = at, text.find(sought, at + 1)
