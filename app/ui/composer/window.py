"""The composer: the text field and the bar below it. Both keep their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QHideEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget

from app.base.geometry import Rect
from app.ui.buttons import GlyphButton, Header
from app.ui.composer.attachments import Chips
from app.ui.composer.field import ComposerField
from app.ui.theme.drawing import font, put
from app.ui.theme.theme import Theme


class ComposerView(QWidget):
    """The composer: the field, its attachments and its bar. `sent` carries the message, the attachments, the typed
    part, and the refs of the programs that Wisp may use.

    The typed part is the whole message if the person typed all of it, else "". Message and attachments are never both
    empty. `left` is emitted for Esc; `keyboard_wanted` for a press into the field.
    """

    ROLE = QAccessible.Role.Grouping
    sent = Signal(str, object, str, object)
    left = Signal()
    keyboard_wanted = Signal()
    choosing = Signal()
    height_wanted = Signal()
    thread_wanted = Signal()
    history_wanted = Signal()
    files_offered = Signal(object)
    picture_offered = Signal(object)
    screenshot_wanted = Signal()
    region_wanted = Signal()
    rewrite_wanted = Signal()

    def __init__(self, theme: Theme, placeholder: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        tr = QCoreApplication.translate
        self.theme = theme
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
        self.header = Header(theme, self, name)
        self.header.region_wanted.connect(self.region_wanted)
        self.header.rewrite_wanted.connect(self.rewrite_wanted)
        self.send_button = GlyphButton(theme, "send", tr("Composer", "Send"), self)
        self.send_button.filled = True
        self.send_button.clicked.connect(self._send)
        keys_of = {
            "Ctrl+O": self.attach_files,
            "Ctrl+M": self.region_wanted,
            "Ctrl+R": self.rewrite_wanted,
            "F6": self.thread_wanted,
            "Ctrl+H": self.history_wanted,
        }
        for keys, act in keys_of.items():
            QShortcut(
                QKeySequence(keys), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut
            ).activated.connect(act)
        self.setFocusProxy(self.field)
        self._enable()

    @property
    def wanted_height(self) -> int:
        """For the current text and attachments, in pixels."""
        theme = self.theme
        field = self.field.wanted_height() + theme.size("card_padding") + theme.size("grid")
        return self._above() + field + self.header.wanted_height

    def body_rect(self) -> Rect:
        """In global device-independent pixels."""
        corner = self.mapToGlobal(QPoint(0, 0))
        return Rect(corner.x(), corner.y(), self.width(), self.height())

    def tell(self, sentence: str) -> None:
        """Show a sentence about an attachment, such as why it failed. "" removes the sentence."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))
        self._resized()

    def attach_files(self) -> None:
        """Open a dialog in which the person chooses files to attach."""
        chosen = self.ask_files()
        if chosen:
            self.files_offered.emit([Path(name) for name in chosen])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

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
        if self._dragged_over:
            painter, theme = QPainter(self), self.theme
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(*theme.color("accent")), 2.5))
            inset, radius = theme.count("grid"), theme.size("card_radius")
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), radius, radius)

    def _field(self, placeholder: str) -> ComposerField:
        field = ComposerField(self.theme, self)
        field.setPlaceholderText(placeholder)
        field.setAccessibleName(QCoreApplication.translate("Composer", "Message"))
        field.sent.connect(self._send)
        field.left.connect(self.left)
        field.pressed.connect(self.keyboard_wanted)
        field.choosing.connect(self.choosing)
        field.height_changed.connect(self.height_wanted)
        field.textChanged.connect(self._enable)
        field.offered.connect(self._offer)
        return field

    def _inner_width(self) -> int:
        return self.theme.size("bubble_width") - 2 * self.theme.size("padding")

    def _above(self) -> int:
        """The height in pixels of the attachments and the note, which are above the field."""
        gap = self.theme.size("gap")
        chips = self.chips.height_for(self._inner_width())
        note = self.note.heightForWidth(self._inner_width()) if not self.note.isHidden() else 0
        return (chips + gap if chips else 0) + (note + gap if note else 0)

    def _arrange(self) -> None:
        """Place the parts. The bar is at the lower edge and stays there while the field grows upwards."""
        theme, width = self.theme, self.width()
        inset, gap, side = theme.size("padding"), theme.size("gap"), self.send_button.width()
        y, inner = theme.size("card_padding"), width - 2 * inset
        for part, high in ((self.chips, self.chips.height_for(inner)), (self.note, self.note.heightForWidth(inner))):
            if high and not part.isHidden():
                part.setGeometry(inset, y, inner, high)
                y += high + gap
        bar = self.header.wanted_height
        row, top = self.height() - bar + (bar - gap - side) // 2, self.height() - bar
        left, right = inset - theme.size("grid"), width - inset - side + theme.size("grid")
        for button, x in ((self.attach_button, left), (self.screen_button, left + side), (self.send_button, right)):
            put(button, QRect(x, row, side, side), width)
        put(self.header, QRect(left + 2 * side, top, right - left - 2 * side - theme.size("grid"), bar - gap), width)
        height = self.field.wanted_height()
        put(self.field, QRect(inset, top - theme.size("grid") - height, inner, height), width)

    def _chips_changed(self) -> None:
        self._enable()
        self._resized()

    def _resized(self) -> None:
        self._arrange()
        self.height_wanted.emit()

    def _enable(self) -> None:
        self.send_button.setEnabled(bool(self.field.toPlainText().strip() or self.chips.attached))

    def _offer(self, data: QMimeData) -> None:
        """Pass on what was pasted or dropped: emit `files_offered` for local files, otherwise `picture_offered`."""
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
        self.sent.emit(text, self.chips.take(), text if is_typed else "", self.chips.take_program())
