"""The presence's menu, as the orb and the tray show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMenu


@dataclass(frozen=True, slots=True)
class Actions:
    """What the menu does."""

    toggle: Callable[[], None]
    stop: Callable[[], None]
    settings: Callable[[], None]
    quit: Callable[[], None]


def menu_for(actions: Actions, *, is_open: bool, running: bool) -> QMenu:
    """What can be done now: `is_open` and `running` are how things stand."""
    menu, tr = QMenu(), QCoreApplication.translate
    menu.addAction(tr("Menu", "Close") if is_open else tr("Menu", "Open"), actions.toggle)
    stop = menu.addAction(tr("Menu", "Stop"), actions.stop)
    stop.setEnabled(running)
    menu.addSeparator()
    menu.addAction(tr("Menu", "Settings"), actions.settings)
    menu.addAction(tr("Menu", "Quit"), actions.quit)
    return menu
