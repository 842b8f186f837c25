"""The field: grows to six lines; Enter sends, Shift+Enter breaks, Up and Down recall, Esc closes."""

from __future__ import annotations

import datetime

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.base import resources
from app.ui.theme.drawing import font
from app.ui.theme.theme import Theme

_KEPT = 200


class Recall:
    """Goes back and forth through what was sent; what was being written is kept at the end."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._draft = ""
        self._place = 0

    def sent(self, text: str) -> None:
        if not self._sent or self._sent[-1] != text:
            self._sent = [*self._sent, text][-_KEPT:]
        self._draft = ""
        self._place = len(self._sent)

    def earlier(self, writing: str) -> str | None:
        """The text before; None where there is none."""
        if self._place == 0:
            return None
        if self._place == len(self._sent):
            self._draft = writing
        self._place -= 1
        return self._sent[self._place]

    def later(self) -> str | None:
        """The text after, at last the draft; None where there is none."""
        if self._place >= len(self._sent):
            return None
        self._place += 1
        return self._draft if self._place == len(self._sent) else self._sent[self._place]


_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_BREAKS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class ComposerField(QPlainTextEdit):
    """Plain text only, also from the clipboard; files and pictures that are pasted or dropped are `offered`.

    Keys reach it only from a person's own device (`InputFilter`), so that what was typed is the person's own words.
    """

    offered = Signal(object)
    sent = Signal()
    left = Signal()
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._recall = Recall()
        self._is_typed, self._is_typing = True, False
        self.document().contentsChange.connect(self._note_change)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(font(theme, "text"))
        self.document().setDocumentMargin(0)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.textChanged.connect(self._fit)
        self._height = self._fitting()

    def wanted_height(self) -> int:
        return self._height

    def take(self) -> tuple[str, bool]:
        """What was written, to be sent, and whether the person typed all of it; the field is empty afterwards."""
        text, is_typed = self.toPlainText().strip(), self._is_typed
        if text:
            self._recall.sent(text)
        self.clear()
        self._is_typed = True
        return text, is_typed

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return _holds_files(source) or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if _holds_files(source) or (source.hasImage() and not source.hasText()):
            self.offered.emit(source)
        else:
            self._is_typed = False
            super().insertFromMimeData(source)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and not event.modifiers() & _BREAKS:
            self.sent.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif self._recalled(event.key()):
            return
        else:
            self._is_typing = True
            super().keyPressEvent(event)
            self._is_typing = False

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._is_typing = True
        super().inputMethodEvent(event)
        self._is_typing = False

    def _note_change(self, _place: int, _removed: int, added: int) -> None:
        """What comes by any other way, such as accessibility, may be somebody else's."""
        if added and not self._is_typing:
            self._is_typed = False

    def _recalled(self, key: int) -> bool:
        """Whether an arrow key at the text's edge brought another text."""
        line = self.textCursor().blockNumber()
        if key == Qt.Key.Key_Up and line == 0:
            return self._recall_to(earlier=True)
        return key == Qt.Key.Key_Down and line == self.blockCount() - 1 and self._recall_to(earlier=False)

    def _recall_to(self, *, earlier: bool) -> bool:
        text = self._recall.earlier(self.toPlainText()) if earlier else self._recall.later()
        if text is None:
            return False
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)
        return True

    def _fitting(self) -> int:
        line = self.fontMetrics().lineSpacing()
        lines = round(self.document().size().height())  # in lines, because a plain text document measures in lines
        return line * max(1, min(lines, self._theme.count("composer_lines"))) + 2

    def _fit(self) -> None:
        lines = round(self.document().size().height())
        more = lines > self._theme.count("composer_lines")
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if more else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        height = self._fitting()
        if height != self._height:
            self._height = height
            self.height_changed.emit()


def _holds_files(data: QMimeData) -> bool:
    return data.hasUrls() and any(url.isLocalFile() for url in data.urls())


def todays() -> str:
    """Today's line of `resources/suggestions.toml`."""
    known = resources.table("suggestions.toml", dict[str, list[str]])["suggestions"]
    return known[datetime.date.today().toordinal() % len(known)]
