"""The tiles from which a theme is chosen: each is a small picture of its theme, with the title below."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen

from app.settings import tokens
from app.ui.orb import painting
from app.ui.orb.state import Orb
from app.ui.preferences.editors import Radio, paint_focus
from app.ui.theme import drawing, theme
from app.ui.theme.drawing import font, placed
from app.ui.theme.theme import Theme

_KINDS = 2 * (len(tokens.THEMES) + 1)
_CHOSEN_PX = 3
_LEAST_LETTERS_PX = 8
_TIGHTER = 0.95
"""Because small letters are a little wider than large ones made small."""


class ThemeTile(Radio):
    """A theme to choose. The one in use has a check mark, a frame and a strong title."""

    def sizeHint(self) -> QSize:
        title = QFontMetrics(font(self._theme, "small")).height()
        width, height = self._theme.size("tile_width"), self._theme.size("tile_height")
        return QSize(width, height + title + 2 * self._theme.count("grid"))

    def paintEvent(self, event: QPaintEvent) -> None:
        look, painter, way = self._theme, QPainter(self), self.layoutDirection()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        whole, inset = QRectF(self.rect()), look.count("grid")
        place = QRectF(0, 0, whole.width(), look.size("tile_height")).adjusted(inset, inset, -inset, -inset)
        ratio = self.devicePixelRatioF()
        size = place.size().toSize()
        picture = _picture(self.value, self.text(), look.scheme, size.width(), size.height(), look.scale, ratio, way)
        painter.drawImage(place.topLeft(), picture)
        chosen = self.isChecked()
        self._frame(painter, place, chosen=chosen)
        if chosen:
            self._check(painter, placed(_corner(place, look.size("badge")), whole, way))
        letters = font(look, "small", strong=chosen)
        painter.setFont(letters)
        painter.setPen(QColor(*look.color("ink")))
        below = whole.adjusted(0, place.bottom(), 0, 0)
        title = QFontMetrics(letters).elidedText(self.text(), Qt.TextElideMode.ElideRight, round(below.width()))
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, title)
        if self.hasFocus():
            paint_focus(painter, whole.adjusted(0.75, 0.75, -0.75, -0.75), look, look.size("button_radius"))

    def _frame(self, painter: QPainter, place: QRectF, *, chosen: bool) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        width = _CHOSEN_PX if chosen else 1
        painter.setPen(QPen(QColor(*self._theme.color("accent_fill" if chosen else "hairline")), width))
        painter.drawRect(place.adjusted(width / 2, width / 2, -width / 2, -width / 2))

    def _check(self, painter: QPainter, place: QRectF) -> None:
        look = self._theme
        painter.setPen(QPen(QColor(*look.color("paper")), 2))
        painter.setBrush(QColor(*look.color("accent_fill")))
        painter.drawEllipse(place)
        room = place.width() / 5
        drawing.draw(painter, "check", place.adjusted(room, room, -room, -room), look.color("accent_ink"))


def _corner(place: QRectF, side: int) -> QRectF:
    return QRectF(place.right() - side - side / 4, place.top() + side / 4, side, side)


@lru_cache(maxsize=2 * _KINDS)
def _picture(
    kind: str, title: str, scheme: str, width: int, height: int, scale: float, ratio: float, way: Qt.LayoutDirection
) -> QImage:
    look = theme.load(scheme, kind=kind, scale=scale)
    made = QImage(QSize(width, height) * ratio, QImage.Format.Format_ARGB32_Premultiplied)
    made.setDevicePixelRatio(ratio)
    made.fill(QColor(*look.color("sunken")))
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setLayoutDirection(way)
    whole, gap = QRectF(0, 0, width, height), look.size("gap")
    sheet = whole.adjusted(gap, gap, -gap - look.count("grid"), -gap - look.count("grid"))
    _sheet(painter, sheet, look)
    inner = sheet.adjusted(gap, gap, -gap, -gap)
    side = inner.height() * 0.42
    orb = placed(QRectF(inner.right() - side, inner.bottom() - side, side, side), whole, way)
    painting.paint(painter, orb.center(), side, painting.OrbFrame(Orb.IDLE), look, shadow=False)
    above = QRectF(inner.left(), inner.top(), inner.width(), inner.height() * 0.45)
    _words(painter, placed(above, whole, way), title, look)
    tall = inner.height() * 0.34
    below = QRectF(inner.left(), inner.bottom() - tall, inner.width() * 0.45, tall)
    _button(painter, placed(below, whole, way), look)
    painter.end()
    return made


def _sheet(painter: QPainter, place: QRectF, look: Theme) -> None:
    """Paint a card of the theme: shadow, paper and border, half as large as they are on the screen."""
    radius, line = look.count("radius") / 2, look.count("hairline")
    apart = look.count("hard_shadow") / 2
    color = look.color("shadow")
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(*(color if apart else color.faded(look.ratio("shadow_opacity")))))
    painter.drawRoundedRect(place.translated(apart, apart or 2), radius, radius)
    painter.setBrush(QColor(*look.color("paper")))
    painter.setPen(QPen(QColor(*look.color("edge")), line))
    painter.drawRoundedRect(place, radius, radius)


def _words(painter: QPainter, place: QRectF, title: str, look: Theme) -> None:
    """Write the theme's title in its own letters, as large as fits into one line."""
    letters = font(look, "heading", strong=True)
    share = place.width() / max(QFontMetricsF(letters).horizontalAdvance(title), 1)
    letters.setPixelSize(max(int(letters.pixelSize() * min(share * _TIGHTER, 1)), _LEAST_LETTERS_PX))
    painter.setFont(letters)
    painter.setPen(QColor(*look.color("ink")))
    painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, title)


def _button(painter: QPainter, place: QRectF, look: Theme) -> None:
    radius = min(look.count("button_radius"), place.height()) / 2
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(*look.color("accent_fill")))
    painter.drawRoundedRect(place, radius, radius)
    mark = place.adjusted(place.width() / 4, place.height() * 0.42, -place.width() / 4, -place.height() * 0.42)
    painter.setBrush(QColor(*look.color("accent_ink")))
    painter.drawRoundedRect(mark, mark.height() / 2, mark.height() / 2)
