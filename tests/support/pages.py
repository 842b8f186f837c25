"""The lists of the presence's pages, as the presence makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.features import loading
from app.features.feature import Ask
from app.ui.machine import Collection


def collection(name: str, workspace: Path, offered: Callable[[], object] = lambda: None) -> Collection:
    """Make the list on a page of a feature. `offered` returns what the conversation's features offer for it."""
    ask = Ask(lambda: workspace, lambda _kind: offered())
    made = [lists for _, lists in loading.each(lambda feature: feature.collections())]
    return next(one[name](ask) for one in made if name in one)
