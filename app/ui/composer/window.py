"""The composer's window: the only one of the presence that takes the keyboard, and only when the person opens it."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent

from app.ui.buttons import GlyphButton
from app.ui.composer.field import Field
from app.ui.floating import Floating, Surroundings
from app.ui.theme import Theme


class ComposerWindow(Floating):
    """`sent` carries what the person wrote, never empty; `left` is Esc."""

    sent = Signal(str)
    left = Signal()
    height_wanted = Signal()

    def __init__(self, theme: Theme, around: Surroundings, placeholder: str) -> None:
        super().__init__(theme, around, takes_focus=True)
        tr = QCoreApplication.translate
        self.setAccessibleName(tr("Composer", "Write to Wisp"))
        self.field = Field(theme, self)
        self.field.setPlaceholderText(placeholder)
        self.field.setAccessibleName(tr("Composer", "Message"))
        self.field.sent.connect(self._send)
        self.field.left.connect(self.left)
        self.field.height_changed.connect(self.height_wanted)
        self.field.textChanged.connect(self._enable)
        self.send_button = GlyphButton(theme, "send", tr("Composer", "Send"), self)
        self.send_button.filled = True
        self.send_button.clicked.connect(self._send)
        self.setFocusProxy(self.field)
        self._enable()

    def wanted_size(self) -> QSize:
        """The body's size for what is written now."""
        theme = self.theme
        height = self.field.wanted_height() + 2 * theme.size("card_padding")
        return QSize(theme.size("bubble_width"), max(height, theme.size("footer_height")))

    def take_focus(self) -> None:
        """The person asked for it: show, come to the front, take the keyboard."""
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        theme, body = self.theme, self.body().toRect()
        inset = theme.size("padding")
        side = self.send_button.width()
        below = (theme.size("footer_height") - side) // 2
        self.send_button.move(body.right() + 1 - below - side, body.bottom() + 1 - below - side)
        height = self.field.wanted_height()
        top = body.y() + (body.height() - height) // 2
        self.field.setGeometry(
            body.x() + inset, top, self.send_button.x() - body.x() - inset - theme.size("gap"), height
        )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        if self.isActiveWindow():
            width = 1.5
            painter.setPen(QPen(QColor(*theme.color("accent")), width))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            box = QRectF(self.body()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
            painter.drawRoundedRect(box, theme.size("radius"), theme.size("radius"))

    def _enable(self) -> None:
        self.send_button.setEnabled(bool(self.field.toPlainText().strip()))

    def _send(self) -> None:
        text = self.field.take()
        if text:
            self.sent.emit(text)
