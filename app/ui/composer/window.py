"""The composer: the field that the person writes in, and its window."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QHideEvent,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShortcut,
    QTextCursor,
)
from PySide6.QtWidgets import QFileDialog, QFrame, QLabel, QPlainTextEdit, QWidget

from app.base import resources
from app.ui.buttons import GlyphButton
from app.ui.composer.attachments import Chips
from app.ui.theme.drawing import font, put
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps

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


class ComposerWindow(Floating):
    """`sent` carries the message, what is attached, and the message again where the person typed all of it, else "".

    Message and attachments are never both empty. `left` is Esc.
    """

    sent = Signal(str, object, str)
    left = Signal()
    height_wanted = Signal()
    thread_wanted = Signal()
    history_wanted = Signal()
    files_offered = Signal(object)
    picture_offered = Signal(object)
    screenshot_wanted = Signal()

    def __init__(self, theme: Theme, around: WindowDeps, placeholder: str) -> None:
        super().__init__(theme, around, takes_focus=True)
        tr = QCoreApplication.translate
        self.ask_files: Callable[[], list[str]] = self._asked_in_a_dialog
        self._dragged_over = False
        self.setAcceptDrops(True)
        self.setAccessibleName(tr("Composer", "Write to Wisp"))
        self.chips = Chips(theme, self)
        self.chips.changed.connect(self._chips_changed)
        self.note = QLabel(self)
        self.note.setFont(font(theme, "small"))
        self.note.setWordWrap(True)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.hide()
        self.field = self._field(placeholder)
        self.attach_button = GlyphButton(theme, "attach", tr("Composer", "Attach files (Ctrl+O)"), self)
        self.attach_button.clicked.connect(self.attach_files)
        self.screen_button = GlyphButton(theme, "camera", tr("Composer", "Attach a picture of the screen"), self)
        self.screen_button.clicked.connect(self.screenshot_wanted)
        self.send_button = GlyphButton(theme, "send", tr("Composer", "Send"), self)
        self.send_button.filled = True
        self.send_button.clicked.connect(self._send)
        for keys, act in (("Ctrl+O", self.attach_files), ("F6", self.thread_wanted), ("Ctrl+H", self.history_wanted)):
            QShortcut(QKeySequence(keys), self).activated.connect(act)
        self.setFocusProxy(self.field)
        self._enable()

    def wanted_size(self) -> QSize:
        """The body's size for what is written and attached now."""
        theme = self.theme
        height = self.field.wanted_height() + 2 * theme.size("card_padding")
        return QSize(theme.size("bubble_width"), max(height, theme.size("footer_height")) + self._above())

    def take_focus(self) -> None:
        """The person asked for it: show, come to the front, take the keyboard."""
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_quietly(self) -> None:
        """Show without taking the keyboard from the program in use."""
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.show()
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, on=False)

    def tell(self, sentence: str) -> None:
        """A sentence about what could not be attached; an empty one takes it away."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))
        self._resized()

    def attach_files(self) -> None:
        """Let the person choose files."""
        chosen = self.ask_files()
        if chosen:
            self.files_offered.emit([Path(name) for name in chosen])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange:
            self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        self.tell("")
        super().hideEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self.field.canInsertFromMimeData(event.mimeData()):
            self._dragged_over = True
            self.update()
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._dragged_over = False
        self.update()

    def dropEvent(self, event: QDropEvent) -> None:
        self._dragged_over = False
        self.update()
        self.field.insertFromMimeData(event.mimeData())
        event.acceptProposedAction()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        if self.isActiveWindow() or self._dragged_over:
            width = 2.5 if self._dragged_over else 1.5
            painter.setPen(QPen(QColor(*theme.color("accent")), width))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            box = QRectF(self.body()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
            painter.drawRoundedRect(box, theme.size("radius"), theme.size("radius"))

    def _field(self, placeholder: str) -> ComposerField:
        field = ComposerField(self.theme, self)
        field.setPlaceholderText(placeholder)
        field.setAccessibleName(QCoreApplication.translate("Composer", "Message"))
        field.sent.connect(self._send)
        field.left.connect(self.left)
        field.height_changed.connect(self.height_wanted)
        field.textChanged.connect(self._enable)
        field.offered.connect(self._offer)
        return field

    def _inner_width(self) -> int:
        return self.theme.size("bubble_width") - 2 * self.theme.size("card_padding")

    def _above(self) -> int:
        """What chips and the note take above the field."""
        gap = self.theme.size("gap")
        chips = self.chips.height_for(self._inner_width())
        note = self.note.heightForWidth(self._inner_width()) if not self.note.isHidden() else 0
        return (chips + gap if chips else 0) + (note + gap if note else 0)

    def _arrange(self) -> None:
        theme, body = self.theme, self.body().toRect()
        inset, gap, side = theme.size("card_padding"), theme.size("gap"), self.send_button.width()
        y, inner = body.y() + inset, self._inner_width()
        for part, high in ((self.chips, self.chips.height_for(inner)), (self.note, self.note.heightForWidth(inner))):
            if high and not part.isHidden():
                part.setGeometry(body.x() + inset, y, inner, high)
                y += high + gap
        below = (theme.size("footer_height") - side) // 2
        row = body.bottom() + 1 - below - side
        left, right = body.x() + below, body.right() + 1 - below - side
        for button, x in ((self.attach_button, left), (self.screen_button, left + side), (self.send_button, right)):
            put(button, QRect(x, row, side, side), self.width())
        left, above = left + 2 * side + gap, self._above()
        height = self.field.wanted_height()
        top = body.y() + above + (body.height() - above - height) // 2
        put(self.field, QRect(left, top, right - gap - left, height), self.width())

    def _chips_changed(self) -> None:
        self._enable()
        self._resized()

    def _resized(self) -> None:
        self._arrange()
        self.height_wanted.emit()

    def _enable(self) -> None:
        self.send_button.setEnabled(bool(self.field.toPlainText().strip() or self.chips.attached))

    def _offer(self, data: QMimeData) -> None:
        """Files or a picture, pasted or dropped."""
        local = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
        if local:
            self.files_offered.emit(local)
        else:
            self.picture_offered.emit(data.imageData())

    def _asked_in_a_dialog(self) -> list[str]:
        chosen, _ = QFileDialog.getOpenFileNames(self, QCoreApplication.translate("Composer", "Attach files"))
        return chosen

    def _send(self) -> None:
        if not self.send_button.isEnabled():
            return
        text, is_typed = self.field.take()
        self.sent.emit(text, self.chips.take(), text if is_typed else "")
