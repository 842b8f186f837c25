"""The answers below a question: one button each, in as many lines as they need."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeySequence, QPainter
from PySide6.QtWidgets import QWidget

from app.ui.bubble.row import RowWidget
from app.ui.buttons import WordButton
from app.ui.mirror import put
from app.ui.motion import Ticker
from app.ui.presenter.view import Offer
from app.ui.presenter.visible import visible
from app.ui.style import font, lines_of
from app.ui.theme import Theme


class AnswerButton(WordButton):
    """An answer as plain words; a long one is broken into lines."""

    def __init__(self, theme: Theme, words: str, parent: QWidget) -> None:
        super().__init__(theme, words, parent=parent)
        self._lines = Qt.TextFlag.TextWordWrap
        self.setShortcut(QKeySequence())  # an "&" is a letter of the answer here

    def fit(self, most: int) -> None:
        """As wide as the words, within `most` pixels, and as high as their lines."""
        theme = self._theme
        metrics, inset = QFontMetrics(font(theme, "text", strong=True)), theme.size("card_padding")
        self._lines, box = lines_of(metrics, most - 2 * inset, self.text())
        height = max(box.height() + 2 * theme.size("gap"), theme.size("button_height"))
        self.setFixedSize(min(box.width() + 2 * inset + 2, most), height)

    def _paint_words(self, painter: QPainter, box: QRectF) -> None:
        theme = self._theme
        inset = theme.size("card_padding") - 1.5
        painter.setFont(font(theme, "text", strong=self.hasFocus()))
        painter.setPen(QColor(*theme.color("ink")))
        flags = Qt.AlignmentFlag.AlignCenter | self._lines
        painter.drawText(box.adjusted(inset, 0, -inset, 0), flags, self.text())


class OfferRow(RowWidget):
    """`chosen` carries the words of the answer that was pressed."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self.buttons: tuple[AnswerButton, ...] = ()
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Answers to choose from"))

    def show_row(self, row: Offer) -> None:
        for old in self.buttons:
            old.deleteLater()
        self.buttons = tuple(AnswerButton(self.theme, visible(answer), self) for answer in row.answers)
        for button, answer in zip(self.buttons, row.answers, strict=True):
            button.clicked.connect(lambda _=False, answer=answer: self.chosen.emit(answer))
            button.show()

    def height_for(self, width: int) -> int:
        theme = self.theme
        gap, left = theme.size("gap"), theme.count("stripe") + theme.size("card_padding")
        x, y, high = left, 0, 0
        for button in self.buttons:
            button.fit(width - left)
            if x > left and x + button.width() > width:
                x, y, high = left, y + high + gap, 0
            put(button, QRect(QPoint(x, y), button.size()), width)
            x, high = x + button.width() + gap, max(high, button.height())
        return y + high
