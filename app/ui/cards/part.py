"""A part of an open card that shows something of its own kind."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.presenter.view import Card
from app.ui.theme import Theme


class CardPart(QWidget):
    """`opened` carries a picture that the person wants to see in its full size."""

    opened = Signal(object)
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def show_card(self, card: Card) -> None:
        raise NotImplementedError

    def height_for(self, width: int) -> int:
        """Arrange for a width and say how high that is, in pixels."""
        raise NotImplementedError
