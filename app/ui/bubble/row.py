"""What every row of the thread is: a widget that shows an item and knows how high it is in a width."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from app.ui.motion import Ticker
from app.ui.theme import Theme


class RowWidget(QWidget):
    """`height_changed` says that `height_for` has another answer now."""

    ROLE = QAccessible.Role.ListItem
    height_changed = Signal()

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__()
        self.theme = theme
        self.ticker = ticker

    def show_row(self, row: Any) -> None:
        """Show this row from now on; it has the key of the one before."""
        raise NotImplementedError

    def height_for(self, width: int) -> int:
        """Arrange for a width and say how high that is, in pixels."""
        raise NotImplementedError

    def leave(self) -> None:
        """The row scrolls out of reach: end what moves."""
