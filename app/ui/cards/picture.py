"""Show a picture in a card, with a ring at the place of the click. Pressing it opens it in full size."""

from __future__ import annotations

import math

from PySide6.QtCore import QCoreApplication, QEvent, QLineF, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QTextEdit, QWidget

from app.ui.bubble.rows import ProseText, RowWidget
from app.ui.buttons import GlyphButton, WordButton
from app.ui.presenter.view import Command, ShownPicture
from app.ui.presenter.wording import visible
from app.ui.theme.drawing import font, put
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Color, Theme

_TRAIL_PX, _SHORTEST_TRAIL_PX = 160.0, 24.0


class PictureView(QWidget):
    """Shows a picture as large as its width allows, or a sentence if the picture is broken."""

    ROLE = QAccessible.Role.Graphic
    opened = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture: ShownPicture | None = None
        self._pixmap = QPixmap()
        self._scaled = QPixmap()
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_picture(self, picture: ShownPicture) -> None:
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

    def width_for(self, height: int) -> int:
        """In pixels."""
        size = self._pixmap.size()
        return height if size.isEmpty() else max(round(size.width() * height / size.height()), 1)

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
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.press()
        else:
            super().keyPressEvent(event)

    def press(self) -> None:
        """Open the picture in its full size."""
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
    """Paint a ring that is visible on any background: the accent between two thin light lines."""
    radius = theme.size("click_ring") / 2
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for width, name in ((5.0, "paper"), (2.5, "accent")):
        painter.setPen(QPen(QColor(*theme.color(name)), width))
        painter.drawEllipse(center, radius, radius)


class FilmStrip(QWidget):
    """Pictures of the steps, which scroll sideways. `save_wanted`: the person wants to save them as a guide."""

    ROLE = QAccessible.Role.List
    opened = Signal(object)
    save_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frames: tuple[tuple[str, ShownPicture], ...] = ()
        self._view, self._offset = QWidget(self), 0
        self.pictures: list[PictureView] = []
        self.save = WordButton(theme, QCoreApplication.translate("Cards", "Save as a guide…"), parent=self)
        self.save.clicked.connect(self.save_wanted)
        self.setAccessibleName(QCoreApplication.translate("Cards", "Pictures of what was done"))

    def show_frames(self, frames: tuple[tuple[str, ShownPicture], ...]) -> None:
        if frames == self._frames:
            return
        for old in self.pictures:
            old.deleteLater()
        self._frames, self._offset, self.pictures = frames, 0, []
        for number, (words, picture) in enumerate(frames, 1):
            made = PictureView(self._theme, self._view)
            made.show_picture(picture)
            made.setAccessibleName(f"{number}. {words}")
            made.setToolTip(visible(made.accessibleName()))
            made.opened.connect(self.opened)
            made.installEventFilter(self)
            made.show()
            self.pictures.append(made)

    def height_for(self, width: int) -> int:
        """Lay out for a width and return the height in pixels."""
        gap, high = self._theme.size("gap"), self._theme.size("film_height")
        self._view.setGeometry(0, gap, width, high)
        self._arrange()
        put(self.save, QRect(QPoint(0, high + 2 * gap), self.save.size()), width)
        return high + 3 * gap + self.save.height()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Scroll until the picture that got the focus is visible."""
        if event.type() is QEvent.Type.FocusIn and isinstance(watched, PictureView):
            over = watched.x() + watched.width() - self._view.width()
            self._scroll(watched.x() if watched.x() < 0 else max(over, 0))
        return False

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll sideways for a sideways wheel, or with Shift. Otherwise the thread scrolls."""
        by = event.angleDelta().x()
        if by:
            self._scroll(-by)
        else:
            event.ignore()

    def _scroll(self, by: int) -> None:
        widths = sum(picture.width() + self._theme.size("gap") for picture in self.pictures)
        most = max(widths - self._theme.size("gap") - self._view.width(), 0)
        self._offset = min(max(self._offset + by, 0), most)
        self._arrange()

    def _arrange(self) -> None:
        high, x = self._view.height(), -self._offset
        for picture in self.pictures:
            wide = picture.width_for(high)
            put(picture, QRect(x, 0, wide, high), self._view.width())
            x += wide + self._theme.size("gap")


class CodeView(ProseText):
    """Shows at most `code_lines` lines of code: the last ones while the code grows. `as_diff` colours changed lines."""

    def __init__(self, theme: Theme, parent: QWidget, *, as_diff: bool = False) -> None:
        super().__init__(theme, "code", theme.color("code_ink"), parent, theme.size("gap"))
        self._theme = theme
        self._as_diff = as_diff
        self.setObjectName("code")
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._copy = GlyphButton(theme, "copy", QCoreApplication.translate("Cards", "Copy"), self)
        self._copy.clicked.connect(self._copy_all)
        self.setAccessibleName(QCoreApplication.translate("Cards", "Code"))

    def show_text(self, text: str) -> None:
        """Show this text. If it begins with the old text, only the new end is added."""
        text = text.rstrip("\n")
        if text == self.shown:
            return
        super().show_text(text)
        if self._as_diff:
            self._color_lines()
        self._go_to_end()

    def height_for(self, width: int) -> int:
        theme = self._theme
        most = theme.count("code_lines") * theme.type("code").line + 2 * theme.size("gap")
        return min(super().height_for(width - self._copy.width()), most)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._go_to_end()
        inset = self._theme.size("grid") // 2
        bar = self._theme.size("scrollbar")
        self._copy.move(self.width() - self._copy.width() - inset - bar // 2, inset)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the code while it can scroll, then the thread."""
        bar = self.verticalScrollBar()
        at_end = bar.value() == (bar.minimum() if event.angleDelta().y() > 0 else bar.maximum())
        if at_end:
            event.ignore()
        else:
            QTextEdit.wheelEvent(self, event)

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self.shown)

    def _color_lines(self) -> None:
        """Give added and removed lines their background and text colours."""
        theme, marks = self._theme, []
        block = self.document().begin()
        while block.isValid():
            name = {"+": "added", "-": "removed"}.get(block.text()[:1])
            if name is not None:
                style = QTextCharFormat()
                style.setForeground(QColor(*theme.color(name)))
                style.setBackground(QColor(*theme.color(f"{name}_soft")))
                style.setProperty(QTextFormat.Property.FullWidthSelection.value, True)
                mark = QTextEdit.ExtraSelection()
                mark.format = style
                mark.cursor = QTextCursor(block)
                marks.append(mark)
            block = block.next()
        self.setExtraSelections(marks)


class CommandRow(RowWidget):
    """Shows a suggested command below the message that it belongs to. No part of the command is hidden."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._code = CodeView(theme, self)
        self.setAccessibleName(QCoreApplication.translate("Cards", "A command to copy"))

    def show_row(self, row: Command) -> None:
        self._code.show_text(visible(row.text))
        self.setAccessibleDescription(self._code.shown)

    def height_for(self, width: int) -> int:
        left = self.theme.count("stripe") + self.theme.size("card_padding")
        height = self._code.height_for(width - left)
        self._code.setGeometry(left, 0, width - left, height)
        return height


def trail_to(ring: QRectF, start: QPointF, width: float) -> QPolygonF:
    """Return the last part of the way from `start` to a ring, pointed where it begins; empty if the way is short."""
    way = QLineF(ring.center(), start)
    halves = ((ring.width() / 2, way.dx()), (ring.height() / 2, way.dy()))
    inside = min(half / abs(part) if part else math.inf for half, part in halves)  # this share of the way
    length = min(way.length() * (1 - inside), _TRAIL_PX) if not way.isNull() else 0
    if length < _SHORTEST_TRAIL_PX:
        return QPolygonF()
    end = way.pointAt(inside)
    way.setLength(way.length() * inside + length)
    across = way.normalVector().unitVector()
    aside = QPointF(across.dx(), across.dy()) * (width / 2)
    return QPolygonF([way.p2(), end + aside, end - aside])


def paint_trail(painter: QPainter, trail: QPolygonF, color: Color, opacity: float) -> None:
    """Paint a trail of `trail_to` in a colour that grows towards the ring."""
    if trail.isEmpty():
        return
    growing = QLinearGradient(trail.at(0), trail.at(1))
    growing.setColorAt(0, QColor(*color.faded(0)))
    growing.setColorAt(1, QColor(*color.faded(opacity)))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(growing)
    painter.drawPolygon(trail)
