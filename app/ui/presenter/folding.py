"""A run of small finished actions becomes one line: "7 actions"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.ui.presenter.view import Card, Item, Status

FOLDED_FROM = 3


@dataclass(frozen=True, slots=True)
class Fold:
    """The cards that one line stands for."""

    key: str
    cards: tuple[Card, ...]
    is_open: bool = False


Row = Item | Fold


def folded(items: Iterable[Item], opened: frozenset[str] = frozenset()) -> tuple[Row, ...]:
    """The rows of the thread. The newest item is never folded; a fold whose key is in `opened` shows its cards."""
    rows: list[Row] = []
    run: list[Card] = []
    all_items = tuple(items)
    for item in all_items[:-1]:
        if isinstance(item, Card) and item.small and item.status in (Status.OK, Status.UNVERIFIED):
            run.append(item)
        else:
            _close(run, rows, opened)
            rows.append(item)
    _close(run, rows, opened)
    return (*rows, *all_items[-1:])


def _close(run: list[Card], rows: list[Row], opened: frozenset[str]) -> None:
    if len(run) >= FOLDED_FROM:
        key = f"f{run[0].key}"
        rows.append(Fold(key, tuple(run), key in opened))
        if key in opened:
            rows.extend(run)
    else:
        rows.extend(run)
    run.clear()
