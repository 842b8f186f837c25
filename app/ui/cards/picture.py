"""A picture in a card, with a ring where it clicked; a tap opens it in its full size."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QWidget

from app.ui.presenter.view import Picture
from app.ui.style import font
from app.ui.theme import Theme


class PictureView(QWidget):
    """Shows a picture as large as its width allows. A broken one says so instead."""

    ROLE = QAccessible.Role.Graphic
    opened = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture: Picture | None = None
        self._pixmap = QPixmap()
        self._scaled = QPixmap()
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_picture(self, picture: Picture) -> None:
        if picture is self._picture:
            return
        self._picture = picture
        self._pixmap = QPixmap()
        self._pixmap.loadFromData(picture.data)
        self._scaled = QPixmap()
        self.setAccessibleName(picture.label or QCoreApplication.translate("Cards", "Picture of the screen"))
        self.update()

    def height_for(self, width: int) -> int:
        theme = self._theme
        if self._pixmap.isNull():
            return theme.size("card_height")
        natural = self._pixmap.size()
        fitted = natural.scaled(QSize(width, theme.size("picture_height")), Qt.AspectRatioMode.KeepAspectRatio)
        return min(fitted.height(), natural.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._pixmap.isNull():
            self._paint_broken(painter)
            return
        box = self._box()
        ratio = self.devicePixelRatioF()
        wanted = QSize(round(box.width() * ratio), round(box.height() * ratio))
        if self._scaled.size() != wanted:
            self._scaled = self._pixmap.scaled(
                wanted, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        outline = QPainterPath()
        radius = self._theme.size("button_radius")
        outline.addRoundedRect(box, radius, radius)
        painter.setClipPath(outline)
        painter.drawPixmap(box.toRect(), self._scaled)
        self._paint_ring(painter, box)
        painter.setClipping(False)
        focused = self.hasFocus()
        painter.setPen(QPen(QColor(*self._theme.color("accent" if focused else "edge")), 2 if focused else 1))
        painter.drawPath(outline)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.press()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Space):
            self.press()
        else:
            super().keyPressEvent(event)

    def press(self) -> None:
        """Open it in its full size."""
        if not self._pixmap.isNull():
            self.opened.emit(self._picture)

    def _box(self) -> QRectF:
        size = self._pixmap.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        size = size.boundedTo(self._pixmap.size())
        return QRectF(0.5, 0.5, size.width() - 1, size.height() - 1)

    def _paint_ring(self, painter: QPainter, box: QRectF) -> None:
        if self._picture is None or self._picture.ring is None:
            return
        x, y = self._picture.ring
        scale_x, scale_y = box.width() / self._picture.width, box.height() / self._picture.height
        paint_click_ring(painter, QPointF(box.left() + x * scale_x, box.top() + y * scale_y), self._theme)

    def _paint_broken(self, painter: QPainter) -> None:
        painter.setFont(font(self._theme, "small"))
        painter.setPen(QColor(*self._theme.color("muted")))
        words = QCoreApplication.translate("Cards", "This picture cannot be shown.")
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, words)


def paint_click_ring(painter: QPainter, center: QPointF, theme: Theme) -> None:
    """A ring that shows on any ground: the accent between two thin light lines."""
    radius = theme.size("click_ring") / 2
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for width, name in ((5.0, "paper"), (2.5, "accent")):
        painter.setPen(QPen(QColor(*theme.color(name)), width))
        painter.drawEllipse(center, radius, radius)
