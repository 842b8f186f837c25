"""A picture in a card, with a ring where it clicked; a tap opens it in its full size."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
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
from app.ui.theme.theme import Theme


class PictureView(QWidget):
    """Shows a picture as large as its width allows. A broken one says so instead."""

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
        """The other way round."""
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


class FilmStrip(QWidget):
    """What was done, picture after picture; they scroll sideways. `save_wanted`: the person keeps them as a guide."""

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
        """Arrange for a width and say how high that is, in pixels."""
        gap, high = self._theme.size("gap"), self._theme.size("film_height")
        self._view.setGeometry(0, gap, width, high)
        self._arrange()
        put(self.save, QRect(QPoint(0, high + 2 * gap), self.save.size()), width)
        return high + 3 * gap + self.save.height()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A picture that gets the keyboard comes into sight."""
        if event.type() is QEvent.Type.FocusIn and isinstance(watched, PictureView):
            over = watched.x() + watched.width() - self._view.width()
            self._scroll(watched.x() if watched.x() < 0 else max(over, 0))
        return False

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Sideways, and with Shift; else the thread scrolls."""
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
    """At most `code_lines` lines high; the end is in sight while it grows. `as_diff` colours added and removed."""

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
        """Show this text; what only grew is added at the end."""
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
        """Scrolls itself while there is something to scroll, then the thread."""
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
        """Ground and letters of added and removed lines."""
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
    """Below the words it belongs to, with nothing hidden in it."""

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
