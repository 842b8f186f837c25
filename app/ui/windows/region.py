"""Let the person mark a part of the screen with a drag, on a picture taken before, which shows no window of Wisp."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QShowEvent,
)

from app.ui.theme.drawing import font
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps

_LEAST_PX = 8
"""A shorter drag is a slip of the hand."""
_DIMMED = 0.42


class RegionWindow(Floating):
    """Shows a dimmed picture of the screen over all monitors. A drag marks a part; Esc or the right button cancels.

    `marked` carries the marked part of the picture, and its place in the picture's pixels. `left` is emitted when the
    person cancels.
    """

    marked = Signal(object, object)
    left = Signal()

    def __init__(self, theme: Theme, around: WindowDeps, picture: QImage) -> None:
        super().__init__(theme, around, takes_focus=True)
        # Past the window manager, because it would keep the window off its panels.
        self.setWindowFlag(Qt.WindowType.X11BypassWindowManagerHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, on=False)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self._picture = picture
        self._start: QPoint | None = None
        self._end = QPoint()
        self._hint = QCoreApplication.translate("Composer", "Drag over the part that you mean. Esc cancels.")
        self.setAccessibleName(self._hint)
        self.setGeometry(QGuiApplication.primaryScreen().virtualGeometry())

    @property
    def margin(self) -> int:
        """0, because the window has no shadow."""
        return 0

    def body_path(self) -> QPainterPath:
        """The whole window, with sharp corners."""
        path = QPainterPath()
        path.addRect(QRectF(self.rect()))
        return path

    def begin(self) -> None:
        """Show the window above everything, and take the keyboard."""
        self.show()
        self.take_keyboard()
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.grabKeyboard()  # because no window manager gives it the keyboard

    def hideEvent(self, event: QHideEvent) -> None:
        self.releaseKeyboard()
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._leave()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._start = self._end = event.position().toPoint()
            self.update()
        else:
            self._leave()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._start is not None:
            self._end = event.position().toPoint()
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._start is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        self._end = event.position().toPoint()
        box = self._box()
        self._start = None
        if box.width() < _LEAST_PX or box.height() < _LEAST_PX:
            self.update()
            return
        place = self._in_picture(box)
        self.close()
        self.marked.emit(self._picture.copy(place), place)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, whole = QPainter(self), self.theme, QRectF(self.rect())
        painter.drawImage(whole, self._picture)
        painter.fillRect(whole, QColor(*theme.color("shadow").faded(_DIMMED)))
        if self._start is not None:
            box = self._box()
            painter.drawImage(QRectF(box), self._picture, QRectF(self._in_picture(box)))
            painter.setPen(QPen(QColor(*theme.color("accent")), 2))
            painter.drawRect(QRectF(box).adjusted(-1, -1, 1, 1))
            return
        self._paint_hint(painter)

    def _paint_hint(self, painter: QPainter) -> None:
        """Paint the hint on what to do, at the upper edge of the primary monitor. It shows until the drag begins."""
        theme, words = self.theme, font(self.theme, "text")
        wide = QFontMetricsF(words).horizontalAdvance(self._hint) + 2 * theme.size("padding")
        high = theme.type("text").line + 2 * theme.size("gap")
        screen = QRectF(QGuiApplication.primaryScreen().geometry().translated(-self.pos()))
        pill = QRectF(screen.center().x() - wide / 2, screen.top() + 2 * theme.size("padding"), wide, high)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(*theme.color("hairline")))
        painter.setBrush(QColor(*theme.color("paper")))
        painter.drawRoundedRect(pill, high / 2, high / 2)
        painter.setPen(QColor(*theme.color("ink")))
        painter.setFont(words)
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, self._hint)

    def _box(self) -> QRect:
        start = self._start or self._end
        return QRect(start, self._end).normalized().intersected(self.rect())

    def _in_picture(self, box: QRect) -> QRect:
        """Convert a rectangle from the window's pixels to the picture's, of which there may be more."""
        across = self._picture.width() / max(self.width(), 1)
        down = self._picture.height() / max(self.height(), 1)
        corner = QPointF(box.left() * across, box.top() * down)
        return QRectF(corner.x(), corner.y(), box.width() * across, box.height() * down).toRect()

    def _leave(self) -> None:
        self.close()
        self.left.emit()
