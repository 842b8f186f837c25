"""A page of the bubble: a way back, a title, and below it whatever the page is about."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QAccessible, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.ui.buttons import GlyphButton
from app.ui.style import font
from app.ui.theme import Theme


class Page(QWidget):
    """`left` is the way back, by its button or Esc; `note` says what came of what the person did."""

    ROLE = QAccessible.Role.Pane
    left = Signal()

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.theme = theme
        self.setAccessibleName(title)
        self.back = GlyphButton(theme, "back", QCoreApplication.translate("Page", "Back"), self)
        self.back.clicked.connect(self.left)
        self.bar = QHBoxLayout()
        self.bar.setSpacing(theme.size("grid"))
        self.bar.addWidget(self.back)
        self.bar.addWidget(self.label(title, "title", strong=True), 1)
        self.note = self.label("", "small", quiet=True)
        self.note.hide()
        self.box = QVBoxLayout(self)
        inset = theme.size("padding")
        self.box.setContentsMargins(inset, 0, inset, theme.size("gap"))
        self.box.setSpacing(theme.size("gap"))
        self.box.addLayout(self.bar)

    def label(self, words: str, style: str = "text", *, strong: bool = False, quiet: bool = False) -> QLabel:
        """Plain words in the theme's type; they wrap."""
        made = QLabel(words)
        made.setTextFormat(Qt.TextFormat.PlainText)
        made.setWordWrap(True)
        made.setFont(font(self.theme, style, strong=strong))
        if quiet:
            made.setObjectName("about")
        return made

    def tell(self, sentence: str) -> None:
        """Say what came of it; nothing takes the last sentence away."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))

    @property
    def wanted_height(self) -> int:
        """Pixels; at most this much is shown."""
        return self.theme.size("page_height")

    def take_focus(self) -> None:
        """Where the keyboard goes when the page opens."""
        self.back.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)
