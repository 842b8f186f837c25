"""The text field: its keys, earlier messages, and a grey completion after the caret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QCoreApplication, QMimeData, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QInputMethodEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.ui.composer.home import rest_of
from app.ui.theme.drawing import font, placed
from app.ui.theme.theme import Theme

_KEPT = 200


class Recall:
    """Moves through earlier messages, from the newest back. After the newest comes the draft, which is kept
    meanwhile."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._draft = ""
        self._place = 0

    @property
    def newest_first(self) -> list[str]:
        return self._sent[::-1]

    def sent(self, text: str) -> None:
        if not self._sent or self._sent[-1] != text:
            self._sent = [*self._sent, text][-_KEPT:]
        self._draft = ""
        self._place = len(self._sent)

    def earlier(self, writing: str) -> str | None:
        """Return the message before the current one; None at the oldest. `writing` is the draft to keep."""
        if self._place == 0:
            return None
        if self._place == len(self._sent):
            self._draft = writing
        self._place -= 1
        return self._sent[self._place]

    def later(self) -> str | None:
        """The next message, and after the newest the draft; None if the draft is already shown."""
        if self._place >= len(self._sent):
            return None
        self._place += 1
        return self._draft if self._place == len(self._sent) else self._sent[self._place]


_LINEFEED = 0x0A
"""What programs that type for the person may send for a line break, such as xdotool. Qt has no name for it."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter, _LINEFEED)
_KEYPAD = Qt.KeyboardModifier.KeypadModifier
_BREAKS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class ComposerField(QPlainTextEdit):
    """A field for plain text. It emits `offered` with files and pictures that are pasted or dropped.

    Key presses that programs make up never reach it (`InputFilter`), so what was typed is the person's own words. The
    suggested end of a known task is painted in grey behind the caret, and is no part of the text until it is accepted.
    """

    offered = Signal(object)
    sent = Signal()
    left = Signal()
    pressed = Signal()
    choosing = Signal()
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._recall = Recall()
        self._is_typed, self._is_typing = True, False
        self._known: tuple[str, ...] = ()
        self._ghost, self._is_declined = "", False
        self.has_found = False
        """Whether something that fits what is typed stands beside it."""
        self.document().contentsChange.connect(self._note_change)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(font(theme, "text"))
        self.document().setDocumentMargin(0)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.textChanged.connect(self._align)
        self.textChanged.connect(self._fit)
        self.textChanged.connect(self._look_ahead)
        self.cursorPositionChanged.connect(self._look_ahead)
        self._height = self._fitting()

    def wanted_height(self) -> int:
        return self._height

    @property
    def ghost(self) -> str:
        """The suggested end of the text, which Tab would insert at the caret; "" if there is no suggestion."""
        return self._ghost

    def complete_from(self, known: Sequence[str]) -> None:
        """Set the lines that may complete the text, the likeliest first. The person's earlier messages are tried
        before them."""
        self._known = tuple(known)

    def take(self) -> tuple[str, bool]:
        """Empty the field. Return its text, and whether the person typed all of it."""
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
        elif event.key() == Qt.Key.Key_Escape and self._ghost:
            self._is_declined = True
            self._look_ahead()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif self._is_completed_by(event) or self._is_moved_from(event.key()):
            return
        else:
            self._is_typing = True
            super().keyPressEvent(event)
            self._is_typing = False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit()
        super().mousePressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._is_typing = True
        super().inputMethodEvent(event)
        self._is_typing = False
        self._look_ahead()  # because what is still being composed is no change of the text

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: FBT001 - Qt's signature
        """Accept the completion with Tab. Without one, Tab moves the focus."""
        return (forward and self._completed()) or super().focusNextPrevChild(forward)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._ghost:
            self._paint_ghost(QPainter(self.viewport()))

    def _look_ahead(self) -> None:
        """Find a completion of the text, if the person typed all of it, it is one line, and the caret is at its end."""
        text, cursor = self.toPlainText(), self.textCursor()
        self._is_declined = self._is_declined and bool(text)
        is_one_line = round(self.document().size().height()) == 1 and not cursor.block().layout().preeditAreaText()
        fits = self._is_typed and not self._is_declined and is_one_line and cursor.atEnd() and not cursor.hasSelection()
        ghost = rest_of(text, (*self._recall.newest_first, *self._known)) if fits else ""
        if ghost == self._ghost:
            return
        self._ghost = ghost
        words = QCoreApplication.translate("Composer", "Tab completes: {text}")
        self.setAccessibleDescription(words.format(text=text + ghost) if ghost else "")
        self.viewport().update()

    def _is_completed_by(self, event: QKeyEvent) -> bool:
        """Accept the completion if the key is the arrow in writing direction. Return whether there was one to
        accept."""
        is_left = self.textCursor().block().textDirection() is Qt.LayoutDirection.RightToLeft
        goes_on = Qt.Key.Key_Left if is_left else Qt.Key.Key_Right
        return event.key() == goes_on and not event.modifiers() & ~_KEYPAD and self._completed()

    def _completed(self) -> bool:
        """Insert the completion, which does not count as typed by the person. Return whether there was one."""
        if not self._ghost:
            return False
        self.textCursor().insertText(self._ghost)
        return True

    def _paint_ghost(self, painter: QPainter) -> None:
        """Paint the completion behind the caret, cut to the room, and "Tab", the key that accepts it, at the end of
        the line."""
        theme, block, whole = self._theme, self.textCursor().block(), QRectF(self.viewport().rect())
        line, way = block.layout().lineAt(0), block.textDirection()
        origin = self.contentOffset() + block.layout().position()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(way)
        small, metrics = font(theme, "small"), QFontMetricsF(self.font())
        key, gap = QCoreApplication.translate("Composer", "Tab"), theme.size("gap")
        wide = QFontMetricsF(small).horizontalAdvance(key) + gap
        end, _ = cast("tuple[float, int]", line.cursorToX(line.textLength()))  # PySide's stub says object
        caret = origin.x() + end
        cap = placed(QRectF(whole.right() - wide - 1, origin.y() + line.y(), wide, line.height()), whole, way)
        is_left = way is Qt.LayoutDirection.RightToLeft
        room = (caret - cap.right() if is_left else cap.left() - caret) - gap
        words = metrics.elidedText(self._ghost, Qt.TextElideMode.ElideRight, max(room, 0))
        start = caret - metrics.horizontalAdvance(words) if is_left else caret
        painter.setPen(QColor(*theme.color("muted")))
        painter.setFont(self.font())
        painter.drawText(QPointF(start, cap.top() + line.ascent()), words)
        painter.setFont(small)
        painter.drawText(cap, Qt.AlignmentFlag.AlignCenter, key)
        painter.setPen(QColor(*theme.color("hairline")))
        painter.drawRoundedRect(cap.adjusted(0.5, 0.5, -0.5, -0.5), theme.size("grid"), theme.size("grid"))

    def _note_change(self, _place: int, _removed: int, added: int) -> None:
        """Note that the text is not all typed by the person, if text was added without a key press, such as by
        accessibility."""
        if added and not self._is_typing:
            self._is_typed = False

    def _is_moved_from(self, key: int) -> bool:
        """Handle an arrow key that leaves the text for the list or for an earlier message. Return whether it did."""
        return (self.has_found and self._is_left_for(key)) or self._recalled(key) or self._is_left_for(key)

    def _recalled(self, key: int) -> bool:
        """Show an earlier or later message if an arrow key leaves the text's first or last line. Return whether one
        was shown."""
        line = self.textCursor().blockNumber()
        if key == Qt.Key.Key_Up and line == 0:
            return self._recall_to(earlier=True)
        return key == Qt.Key.Key_Down and line == self.blockCount() - 1 and self._recall_to(earlier=False)

    def _is_left_for(self, key: int) -> bool:
        """Move from the field to the list of suggestions or search results, if the arrow key may. Return whether it
        did."""
        if key not in (Qt.Key.Key_Up, Qt.Key.Key_Down) or (self.toPlainText() and not self.has_found):
            return False
        self.choosing.emit()
        return True

    def _recall_to(self, *, earlier: bool) -> bool:
        text = self._recall.earlier(self.toPlainText()) if earlier else self._recall.later()
        if text is None:
            return False
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)
        return True

    def _align(self) -> None:
        """Align a text that is written from right to left at the right, because Qt leaves it at the left."""
        is_left = self.document().firstBlock().textDirection() is Qt.LayoutDirection.RightToLeft
        wanted = Qt.AlignmentFlag.AlignRight if is_left else Qt.AlignmentFlag.AlignLeft
        option = self.document().defaultTextOption()
        if option.alignment() != wanted:
            option.setAlignment(wanted)
            self.document().setDefaultTextOption(option)

    def _fitting(self) -> int:
        # The lines of some fonts are laid out higher than they say.
        line = max(self.fontMetrics().lineSpacing(), self.cursorRect().height())
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
