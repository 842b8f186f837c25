"""Code, commands and their output: monospace, plain, selectable, with a copy button."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QColor, QGuiApplication, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from app.ui.buttons import GlyphButton
from app.ui.style import font
from app.ui.theme import Theme


class CodeView(QPlainTextEdit):
    """At most `code_lines` lines high; the end is in sight while it grows. `as_diff` colours added and removed."""

    def __init__(self, theme: Theme, parent: QWidget, *, as_diff: bool = False) -> None:
        super().__init__(parent)
        self._theme = theme
        self._as_diff = as_diff
        self._text = ""
        self.setObjectName("code")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setFont(font(theme, "code"))
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.document().setDocumentMargin(theme.size("gap"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._copy = GlyphButton(theme, "copy", QCoreApplication.translate("Cards", "Copy"), self)
        self._copy.clicked.connect(self._copy_all)
        self.setAccessibleName(QCoreApplication.translate("Cards", "Code"))

    def show_text(self, text: str) -> None:
        """Show this text; what only grew is added at the end."""
        if text == self._text:
            return
        cursor = QTextCursor(self.document())
        if self._text and text.startswith(self._text):
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(text[len(self._text) :])
        else:
            self.setPlainText(text)
        self._text = text
        if self._as_diff:
            self._color_lines()
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def height_for(self, width: int) -> int:
        theme = self._theme
        self.resize(width, self.height())
        lines = sum(
            self.document().findBlockByNumber(number).layout().lineCount() or 1
            for number in range(min(self.document().blockCount(), theme.count("code_lines")))
        )
        lines = min(max(lines, 1), theme.count("code_lines"))
        return round(lines * self.fontMetrics().lineSpacing() + 2 * theme.size("gap")) + 1

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inset = self._theme.size("grid") // 2
        self._copy.move(self.width() - self._copy.width() - inset, inset)

    def _copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self._text)

    def _color_lines(self) -> None:
        """Ground and letters of added and removed lines."""
        theme, marks = self._theme, []
        block = self.document().begin()
        while block.isValid():
            name = {"+": "added", "-": "removed"}.get(block.text()[:1])
            if name is not None:
                mark = QTextEdit.ExtraSelection()
                style = QTextCharFormat()
                style.setForeground(QColor(*theme.color(name)))
                style.setBackground(QColor(*theme.color(f"{name}_soft")))
                style.setProperty(QTextCharFormat.Property.FullWidthSelection.value, True)
                mark.format = style
                mark.cursor = QTextCursor(block)
                marks.append(mark)
            block = block.next()
        self.setExtraSelections(marks)
