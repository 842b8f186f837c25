"""A picture in its full size, in a window of its own; Esc or a click closes it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap

from app.base.geometry import Rect
from app.ui.cards.picture import paint_click_ring
from app.ui.floating import Floating, Surroundings
from app.ui.presenter.view import Picture
from app.ui.theme import Theme


class PictureWindow(Floating):
    """At most as large as the screen allows; the click's ring is drawn on it."""

    def __init__(self, theme: Theme, around: Surroundings) -> None:
        super().__init__(theme, around, takes_focus=True)
        self._pixmap = QPixmap()
        self._picture: Picture | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_picture(self, picture: Picture, screen: Rect) -> None:
        """Show it in the middle of a screen and take the keyboard: the person asked for it."""
        self._picture = picture
        self._pixmap.loadFromData(picture.data)
        self.setAccessibleName(picture.label)
        gap = self.theme.size("padding")
        ratio = self.devicePixelRatioF()
        natural = self._pixmap.width() / ratio, self._pixmap.height() / ratio
        room = screen.width - 4 * gap, screen.height - 4 * gap
        shrink = min(1.0, room[0] / max(natural[0], 1), room[1] / max(natural[1], 1))
        width, height = round(natural[0] * shrink) + 2 * gap, round(natural[1] * shrink) + 2 * gap
        self.place_body(Rect(screen.center.x - width // 2, screen.center.y - height // 2, width, height))
        self.show()
        self.raise_()
        self.activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Space):
            self.hide()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint_base(painter)
        gap = self.theme.size("padding")
        box = self.body().adjusted(gap, gap, -gap, -gap)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(box, self._pixmap, QRectF(self._pixmap.rect()))
        painter.setPen(QColor(*self.theme.color("edge")))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box)
        if self._picture is not None and self._picture.ring is not None:
            x, y = self._picture.ring
            scale_x, scale_y = box.width() / self._picture.width, box.height() / self._picture.height
            paint_click_ring(painter, QPointF(box.left() + x * scale_x, box.top() + y * scale_y), self.theme)
