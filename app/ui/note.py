"""A sentence beside the orb with buttons below it: told by the presence itself, and never in anybody's way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout

from app.base.geometry import Rect, Size
from app.ui import icons, places
from app.ui.buttons import WordButton
from app.ui.floating import Floating
from app.ui.look import Look
from app.ui.style import font

Answers = Mapping[str, Callable[[], None]]
"""The words of each button and what a press does; every press closes the note as well."""


class NoteWindow(Floating):
    """Does not take the keyboard by itself; a click on it does nothing but what its buttons say."""

    def __init__(self, look: Look, glyph: str, sentence: str, answers: Answers) -> None:
        super().__init__(look.theme, look.around)
        self._glyph = glyph
        theme = self.theme
        self.setAccessibleName(sentence)
        words = QLabel(sentence)
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setWordWrap(True)
        words.setFont(font(theme, "text"))
        row = QHBoxLayout()
        row.setSpacing(theme.size("gap"))
        row.addStretch()
        self.buttons: list[WordButton] = []
        for text, act in answers.items():
            button = WordButton(theme, text)
            button.clicked.connect(self.close)
            button.clicked.connect(act)
            row.addWidget(button)
            self.buttons.append(button)
        self._box = box = QVBoxLayout(self)
        padding = theme.size("padding") + self.margin
        glyph_room = theme.size("glyph") + theme.size("gap")
        left, right = (0, glyph_room) if self.isRightToLeft() else (glyph_room, 0)
        box.setContentsMargins(padding + left, padding, padding + right, padding)
        box.setSpacing(theme.size("gap") + theme.count("grid"))
        box.addWidget(words)
        box.addLayout(row)

    def show_beside(self, orb: Rect, screen: Rect) -> None:
        """On the side of the orb with more room."""
        theme, margin = self.theme, self.margin
        width = theme.size("bubble_width")
        height = self._box.heightForWidth(width + 2 * margin) - 2 * margin
        found = places.arranged(screen, orb, Size(width, height), Size(width, 0), theme.size("gap"))
        self.place_body(found.bubble)
        self.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        side, inset = theme.size("glyph"), theme.size("padding")
        body = self.body()
        x = body.right() - inset - side if self.isRightToLeft() else body.left() + inset
        icons.draw(painter, self._glyph, QRectF(x, body.top() + inset, side, side), theme.color("warn"))
