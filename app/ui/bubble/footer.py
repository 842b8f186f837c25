"""The bubble's foot: looks like the field one writes into; pressing it opens the real one."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.style import font
from app.ui.theme import Theme


class ReplyField(QAbstractButton):
    """A button to everybody who cannot see it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setText(QCoreApplication.translate("Bubble", "Say something…"))
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Write to Wisp"))
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(*theme.color("accent" if self.hasFocus() else "hairline")))
        painter.setBrush(QColor(*theme.color("raised")))
        painter.drawRoundedRect(box, theme.size("card_radius"), theme.size("card_radius"))
        painter.setFont(font(theme, "text"))
        painter.setPen(QColor(*theme.color("muted")))
        inset = theme.size("card_padding")
        painter.drawText(box.adjusted(inset, 0, -inset, 0), Qt.AlignmentFlag.AlignVCenter, self.text())
