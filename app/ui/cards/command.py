"""A command that comes with a result: to read and to copy; nothing runs it."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.ui.bubble.row import RowWidget
from app.ui.cards.code import CodeView
from app.ui.motion import Ticker
from app.ui.presenter.view import Command
from app.ui.presenter.visible import visible
from app.ui.theme import Theme


class CommandRow(RowWidget):
    """Below the words it belongs to, with nothing hidden in it."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._code = CodeView(theme, self)
        self.setAccessibleName(QCoreApplication.translate("Cards", "A command to copy"))

    def show_row(self, row: Command) -> None:
        self._code.show_text(visible(row.text))
        self.setAccessibleDescription(self._code.shown)

    def height_for(self, width: int) -> int:
        left = self.theme.count("stripe") + self.theme.size("card_padding")
        height = self._code.height_for(width - left)
        self._code.setGeometry(left, 0, width - left, height)
        return height
