"""The minimised presence: a small pill beside the orb that says what goes on; a press opens the bubble."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetricsF,
    QHideEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)

from app.ui.bubble.header import state_words
from app.ui.cards.head import elapsed_words
from app.ui.floating import Floating, Surroundings
from app.ui.mirror import placed
from app.ui.orb.state import Orb
from app.ui.presenter.view import View
from app.ui.style import font
from app.ui.theme import Theme


class ChipWindow(Floating):
    """`clicked` is the press. Once the turn has ended it says how, for a while, and goes."""

    ROLE = QAccessible.Role.Button
    clicked = Signal()

    def __init__(self, theme: Theme, around: Surroundings) -> None:
        super().__init__(theme, around)
        self._view = View()
        self._words = ""
        self._elapsed = ""
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._seconds = QTimer(self)
        self._seconds.setInterval(1000)
        self._seconds.timeout.connect(self._tell)
        self._end = QTimer(self)
        self._end.setSingleShot(True)
        self._end.setInterval(theme.ms("notice_hides"))
        self._end.timeout.connect(self.hide)

    def show_view(self, view: View) -> None:
        """Say how things stand now."""
        self._view = view
        if view.running:
            self._end.stop()
            self._seconds.start()
        else:
            self._seconds.stop()
            self._end.start()
        self._tell()

    def press(self) -> None:
        """What a click does."""
        self.clicked.emit()

    def body_size(self) -> QSize:
        return QSize(self.theme.size("minimised_width"), self.theme.size("minimised_height"))

    def hideEvent(self, event: QHideEvent) -> None:
        self._seconds.stop()
        self._end.stop()
        super().hideEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.press()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        body, gap, dot = self.body(), theme.size("gap"), theme.size("gap")
        _, color, _ = theme.orb(self._view.orb.value)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*color))
        left = body.left() + theme.size("card_padding")
        way = self.layoutDirection()
        painter.drawEllipse(placed(QRectF(left, body.center().y() - dot / 2, dot, dot), body, way))
        small = font(theme, "small")
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        right = body.right() - theme.size("card_padding")
        wide = QFontMetricsF(small).horizontalAdvance(self._elapsed)
        place = QRectF(right - wide, body.top(), wide + 1, body.height())
        painter.drawText(placed(place, body, way), Qt.AlignmentFlag.AlignVCenter, self._elapsed)
        painter.setPen(QColor(*theme.color("ink")))
        room = QRectF(left + dot + gap, body.top(), right - wide - gap - left - dot - gap, body.height())
        elided = QFontMetricsF(small).elidedText(self._words, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(placed(room, body, way), Qt.AlignmentFlag.AlignVCenter, elided)

    def _tell(self) -> None:
        view, tr = self._view, QCoreApplication.translate
        done = tr("State", "Done") if view.orb in (Orb.IDLE, Orb.SLEEP) else state_words(view.orb)
        self._words = (view.doing or state_words(view.orb)) if view.running else done
        self._elapsed = elapsed_words(time.monotonic() - view.since) if view.running else ""
        self.setAccessibleName(f"{self._words} {self._elapsed}".strip())
        self.update()
