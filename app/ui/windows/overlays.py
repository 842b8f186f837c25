"""A picture in its full size, in a window of its own; Esc or a click closes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout

from app.base.geometry import Point, Rect, Size
from app.ui.buttons import WordButton
from app.ui.cards.picture import paint_click_ring
from app.ui.presenter.view import ShownPicture
from app.ui.theme import drawing
from app.ui.theme.appearance import Look
from app.ui.theme.drawing import font
from app.ui.theme.motion import Ticker, eased
from app.ui.theme.theme import Theme
from app.ui.windows import orb_placement
from app.ui.windows.floating import Floating, WindowDeps


class PictureWindow(Floating):
    """At most as large as the screen allows; the click's ring is drawn on it."""

    def __init__(self, theme: Theme, around: WindowDeps) -> None:
        super().__init__(theme, around, takes_focus=True)
        self._pixmap = QPixmap()
        self._picture: ShownPicture | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_picture(self, picture: ShownPicture, screen: Rect) -> None:
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


_WIDTH = 4.0


class RingWindow(Floating):
    """Shows itself at a point of the screen and goes by itself."""

    def __init__(self, theme: Theme, around: WindowDeps, ticker: Ticker) -> None:
        super().__init__(theme, around)
        self._ticker = ticker
        self._spent_s = 0.0
        self.setWindowFlag(Qt.WindowType.WindowTransparentForInput)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # so that clicks reach the program below
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


Answers = Mapping[str, Callable[[], None]]
"""The words of each button and what a press does; every press closes the note as well."""


class NoteWindow(Floating):
    """Does not take the keyboard by itself; a click on it does nothing but what its buttons say."""

    def __init__(self, look: Look, glyph: str, sentence: str, answers: Answers) -> None:
        super().__init__(look.theme, look.around)
        self._glyph = glyph
        theme = self.theme
        self.setAccessibleName(sentence)
        words = QLabel(sentence)
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setWordWrap(True)
        words.setFont(font(theme, "text"))
        row = QHBoxLayout()
        row.setSpacing(theme.size("gap"))
        row.addStretch()
        self.buttons: list[WordButton] = []
        for text, act in answers.items():
            button = WordButton(theme, text)
            button.clicked.connect(self.close)
            button.clicked.connect(act)
            row.addWidget(button)
            self.buttons.append(button)
        self._box = box = QVBoxLayout(self)
        padding = theme.size("padding") + self.margin
        glyph_room = theme.size("glyph") + theme.size("gap")
        left, right = (0, glyph_room) if self.isRightToLeft() else (glyph_room, 0)
        box.setContentsMargins(padding + left, padding, padding + right, padding)
        box.setSpacing(theme.size("gap") + theme.count("grid"))
        box.addWidget(words)
        box.addLayout(row)

    def show_beside(self, orb: Rect, screen: Rect) -> None:
        """On the side of the orb with more room."""
        theme, margin = self.theme, self.margin
        width = theme.size("bubble_width")
        height = self._box.heightForWidth(width + 2 * margin) - 2 * margin
        found = orb_placement.arranged(screen, orb, Size(width, height), Size(width, 0), theme.size("gap"))
        self.place_body(found.bubble)
        self.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        side, inset = theme.size("glyph"), theme.size("padding")
        body = self.body()
        x = body.right() - inset - side if self.isRightToLeft() else body.left() + inset
        drawing.draw(painter, self._glyph, QRectF(x, body.top() + inset, side, side), theme.color("warn"))
