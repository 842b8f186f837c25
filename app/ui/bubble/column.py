"""Where the rows of a long thread begin: pure numbers, reckoned anew only from the first row that has changed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from app.ui.presenter.folding import Row
from app.ui.presenter.view import Said

_CONTINUED_FROM_CHARS = 1500


class Column:
    """`guess` is the height of a row that was never measured; `gap` is what keeps rows apart. All in pixels."""

    def __init__(self, guess: Callable[[Row], int], gap: int) -> None:
        self.rows: tuple[Row, ...] = ()
        self.tops: list[int] = [0]
        self._guess = guess
        self._gap = gap
        self._measured: dict[str, int] = {}
        self._index: dict[str, int] = {}
        self._clean = 0

    @property
    def height(self) -> int:
        return self.tops[-1]

    def show(self, rows: Sequence[Row]) -> None:
        """These rows from now on; the ones at the beginning that are the same objects cost nothing."""
        old, new = self.rows, tuple(rows)
        same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one is not other), None)
        first = min(len(old), len(new)) if same is None else same
        for row in old[first:]:
            self._index.pop(row.key, None)
        for at in range(first, len(new)):
            self._index[new[at].key] = at
        for row in old[first:]:
            if row.key not in self._index:
                self._measured.pop(row.key, None)
        self.rows = new
        self._clean = min(self._clean, first)

    def measured(self, key: str) -> bool:
        """Whether a row's real height is known."""
        return key in self._measured

    def measure(self, row: Row, height: int) -> bool:
        """Keep a row's real height; whether it is another one than was reckoned with."""
        before = self.height_of(row)
        self._measured[row.key] = height
        if height != before:
            self._touch(row.key)
        return height != before

    def forget(self, key: str) -> None:
        """The row will have another height."""
        if self._measured.pop(key, None) is not None:
            self._touch(key)

    def forget_all(self) -> None:
        """The width is another one."""
        self._measured.clear()
        self._clean = 0

    def height_of(self, row: Row) -> int:
        return self._measured.get(row.key) or self._guess(row)

    def reckon(self) -> None:
        """Bring the tops up to date."""
        first = self._clean
        steps = (self.height_of(row) + (0 if _goes_on(row) else self._gap) for row in self.rows[first:])
        self.tops[first:] = accumulate(steps, initial=self.tops[first] if first < len(self.tops) else 0)
        self._clean = len(self.rows)

    def at(self, y: int) -> int:
        """The index of the row at a height."""
        return bisect_right(self.tops, y) - 1

    def index_of(self, key: str) -> int | None:
        return self._index.get(key)

    def _touch(self, key: str) -> None:
        self._clean = min(self._clean, self._index.get(key, self._clean))


def _goes_on(row: Row) -> bool:
    """Whether the row goes on without a gap (the gap is kept below a row, so that it belongs to the next one)."""
    return isinstance(row, Said) and row.done and len(row.text) > _CONTINUED_FROM_CHARS
