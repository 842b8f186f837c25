"""The thread's items: adding one, replacing one, and letting the oldest go."""

from __future__ import annotations

from dataclasses import replace

from app.ui.presenter.view import Card, Item, View

KEPT_ITEMS = 3_000
KEPT_PICTURES = 24
_SLACK = 200


def added(view: View, item: Item) -> View:
    """The item at the end of the thread."""
    return replace(view, items=(*view.items, item), serial=view.serial + 1)


def replaced(view: View, item: Item) -> View:
    """The item in the place of the one with its key; looked for from the end, where changes happen."""
    for index in range(len(view.items) - 1, -1, -1):
        if view.items[index].key == item.key:
            return replace(view, items=(*view.items[:index], item, *view.items[index + 1 :]))
    return view


def dropped_below(view: View) -> View:
    """The thread within its bounds; items go in batches, so that this costs nothing for each event."""
    extra = len(view.items) - KEPT_ITEMS
    if extra <= _SLACK:
        return view
    return replace(view, items=view.items[extra:], dropped=view.dropped + extra)


def without_old_pictures(view: View) -> View:
    """The view with only the newest pictures kept."""
    pictured = [item for item in view.items if isinstance(item, Card) and item.picture is not None]
    for card in pictured[:-KEPT_PICTURES]:
        view = replaced(view, replace(card, picture=None))
    return view
