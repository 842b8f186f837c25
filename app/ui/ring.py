"""Where it points: a small ring for less than half a second, that takes no input and is never in a picture."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen

from app.base.geometry import Point
from app.ui.floating import Floating, Surroundings
from app.ui.motion import Ticker, eased
from app.ui.theme import Theme

_WIDTH = 4.0


class RingWindow(Floating):
    """Shows itself at a point of the screen and goes by itself."""

    def __init__(self, theme: Theme, around: Surroundings, ticker: Ticker) -> None:
        super().__init__(theme, around)
        self._ticker = ticker
        self._spent_s = 0.0
        self.setWindowFlag(Qt.WindowType.WindowTransparentForInput)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        side = theme.size("ring") + 2
        self.resize(side, side)

    def point_at(self, place: Point) -> None:
        """Show it around a point, in device-independent pixels."""
        self.move(place.x - self.width() // 2, place.y - self.height() // 2)
        self._spent_s = 0.0
        self.show()
        self.raise_()
        self._ticker.run("ring", self._advance)

    def body_path(self) -> QPainterPath:
        """A ring with a hole; without a compositor the window is cut to it."""
        path = QPainterPath()
        center, radius = QPointF(self.rect().toRectF().center()), self.theme.size("ring") / 2
        path.addEllipse(center, radius, radius)
        path.addEllipse(center, radius - _WIDTH - 1, radius - _WIDTH - 1)
        return path

    def shape(self) -> None:
        """Its input shape is empty whatever happens; only the picture is cut, and only where it must be."""
        if not self.around.composited:
            super().shape()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        share = min(self._spent_s * 1000 / theme.ms("ring"), 1.0)
        if not self.around.composited:
            painter.fillRect(self.rect(), QColor(*theme.color("accent")))
            return
        radius = theme.size("ring") / 2 - _WIDTH
        if not theme.reduced:
            radius *= 0.55 + 0.45 * eased(share)
        opacity = 1.0 - max(share - 0.6, 0.0) / 0.4
        center = QPointF(QRectF(self.rect()).center())
        for width, name in ((_WIDTH + 2, "paper"), (_WIDTH, "accent")):
            painter.setPen(QPen(QColor(*theme.color(name).faded(opacity)), width))
            painter.drawEllipse(center, radius, radius)

    def _advance(self, elapsed_s: float) -> bool:
        self._spent_s += elapsed_s
        self.update()
        if self._spent_s * 1000 < self.theme.ms("ring"):
            return True
        self.hide()
        return False
