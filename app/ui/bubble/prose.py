"""Text that can be selected and grows as it arrives: always plain, whatever it contains."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.ui.style import font
from app.ui.theme import Color, Theme


class Prose(QTextEdit):
    """A read-only text without frame or scroll bars; as high as its text is in the width it is given."""

    def __init__(self, theme: Theme, style: str, color: Color, parent: QWidget | None = None, margin: int = 0) -> None:
        super().__init__(parent)
        self._shown = ""
        self.setReadOnly(True)
        self.setAcceptRichText(False)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Wrapped at a width of its own: at the widget's, a text measured before it is shown would be wrapped at none.
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.document().setDocumentMargin(margin)
        self.document().setDefaultFont(font(theme, style))
        self.setFont(font(theme, style))
        self._block = QTextBlockFormat()
        self._block.setLineHeight(theme.type(style).line, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._characters = QTextCharFormat()
        self._characters.setForeground(QColor(*color))

    @property
    def shown(self) -> str:
        return self._shown

    def show_text(self, text: str) -> None:
        """Show exactly this; what only grew is added, so that a selection stays."""
        if text == self._shown:
            return
        cursor = QTextCursor(self.document())
        if self._shown and text.startswith(self._shown):
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(text[len(self._shown) :], self._characters)
        else:
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.setBlockFormat(self._block)
            cursor.insertText(text, self._characters)
        self._shown = text

    def height_for(self, width: int) -> int:
        """Pixels that the text takes in a width."""
        self.setLineWrapColumnOrWidth(width)
        return round(self.document().size().height())

    def width_within(self, most: int) -> int:
        """Pixels that the longest line takes, at most `most`."""
        self.setLineWrapColumnOrWidth(most)
        return min(most, math.ceil(self.document().idealWidth()) + 1)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
