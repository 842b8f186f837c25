"""Code, commands and their output: monospace, plain, selectable, with a copy button."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QTextEdit, QWidget

from app.ui.bubble.prose import Prose
from app.ui.buttons import GlyphButton
from app.ui.theme import Theme


class CodeView(Prose):
    """At most `code_lines` lines high; the end is in sight while it grows. `as_diff` colours added and removed."""

    def __init__(self, theme: Theme, parent: QWidget, *, as_diff: bool = False) -> None:
        super().__init__(theme, "code", theme.color("code_ink"), parent, theme.size("gap"))
        self._theme = theme
        self._as_diff = as_diff
        self.setObjectName("code")
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._copy = GlyphButton(theme, "copy", QCoreApplication.translate("Cards", "Copy"), self)
        self._copy.clicked.connect(self._copy_all)
        self.setAccessibleName(QCoreApplication.translate("Cards", "Code"))

    def show_text(self, text: str) -> None:
        """Show this text; what only grew is added at the end."""
        text = text.rstrip("\n")
        if text == self.shown:
            return
        super().show_text(text)
        if self._as_diff:
            self._color_lines()
        self._go_to_end()

    def height_for(self, width: int) -> int:
        theme = self._theme
        most = theme.count("code_lines") * theme.type("code").line + 2 * theme.size("gap")
        return min(super().height_for(width - self._copy.width()), most)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._go_to_end()
        inset = self._theme.size("grid") // 2
        bar = self._theme.size("scrollbar")
        self._copy.move(self.width() - self._copy.width() - inset - bar // 2, inset)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolls itself while there is something to scroll, then the thread."""
        bar = self.verticalScrollBar()
        at_end = bar.value() == (bar.minimum() if event.angleDelta().y() > 0 else bar.maximum())
        if at_end:
            event.ignore()
        else:
            QTextEdit.wheelEvent(self, event)

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self.shown)

    def _color_lines(self) -> None:
        """Ground and letters of added and removed lines."""
        theme, marks = self._theme, []
        block = self.document().begin()
        while block.isValid():
            name = {"+": "added", "-": "removed"}.get(block.text()[:1])
            if name is not None:
                style = QTextCharFormat()
                style.setForeground(QColor(*theme.color(name)))
                style.setBackground(QColor(*theme.color(f"{name}_soft")))
                style.setProperty(QTextFormat.Property.FullWidthSelection.value, True)
                mark = QTextEdit.ExtraSelection()
                mark.format = style
                mark.cursor = QTextCursor(block)
                marks.append(mark)
            block = block.next()
        self.setExtraSelections(marks)
