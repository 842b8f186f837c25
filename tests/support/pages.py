"""The pages of the presence with their lists, as the presence makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.commands import presence
from app.ui.machine import Ask, Collection, ListPage


def list_pages() -> list[ListPage]:
    """The pages of all features, and that of the extras, in the order of the menu."""
    return presence._pages()


def collection(name: str, workspace: Path, offered: Callable[[], object] = lambda: None) -> Collection:
    """Make the list on a page. `offered` returns what the conversation's features offer for it."""
    ask = Ask(lambda: workspace, lambda _kind: offered())
    return next(page.make(ask) for page in list_pages() if page.name == name)
