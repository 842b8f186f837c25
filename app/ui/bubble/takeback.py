"""How many files a turn has changed, with a button that takes the changes back."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Signal
from PySide6.QtGui import QPainter, QPaintEvent

from app.ui import icons
from app.ui.bubble.prose import Prose
from app.ui.bubble.row import RowWidget
from app.ui.buttons import WordButton
from app.ui.mirror import placed, put
from app.ui.motion import Ticker
from app.ui.presenter.view import TakeBack
from app.ui.theme import Theme


class TakeBackRow(RowWidget):
    """`wanted` carries the id of the turn whose changes the person takes back."""

    wanted = Signal(str)

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._turn_id = ""
        self._text = Prose(theme, "small", theme.color("muted"), self)
        self.button = WordButton(theme, QCoreApplication.translate("Bubble", "Take back"), parent=self)
        self.button.clicked.connect(lambda: self.wanted.emit(self._turn_id))

    def show_row(self, row: TakeBack) -> None:
        self._turn_id = row.turn_id
        words = _words(row.count)
        self._text.show_text(words)
        self.setAccessibleName(words)

    def height_for(self, width: int) -> int:
        theme = self.theme
        left, button = theme.size("glyph") + theme.size("gap"), self.button.size()
        room = max(width - left - button.width() - theme.size("gap"), 1)
        lines = self._text.height_for(room)
        height = max(lines, button.height())
        put(self._text, QRect(left, (height - lines) // 2, room, lines), width)
        put(self.button, QRect(QPoint(width - button.width(), (height - button.height()) // 2), button), width)
        return height

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        side = theme.size("small_glyph")
        place = QRectF((theme.size("glyph") - side) / 2, (self.height() - side) / 2, side, side)
        place = placed(place, QRectF(self.rect()), self.layoutDirection())
        icons.draw(painter, "pencil", place, theme.color("muted"))


def _words(count: int) -> str:
    if count == 1:
        return QCoreApplication.translate("Bubble", "1 file changed")
    return QCoreApplication.translate("Bubble", "{count} files changed").format(count=count)
