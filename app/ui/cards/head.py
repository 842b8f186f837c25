"""The line every card has: glyph, verb, object, elapsed time, how it stands, and a chevron. Only painting."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPixmap

from app.ui import icons
from app.ui.presenter.view import Status
from app.ui.style import font
from app.ui.theme import Color, Theme

_MARKS = {
    Status.WAITING: ("pause", "accent"),
    Status.OK: ("check", "ok"),
    Status.UNVERIFIED: ("circle", "muted"),
    Status.FAILED: ("notch", "bad"),
    Status.STOPPED: ("stop", "muted"),
}


@dataclass(frozen=True, slots=True)
class Head:
    """What the line shows. `opens` is None where there is nothing to open, else whether it is open."""

    glyph: str
    verb: str
    object: str
    status: Status
    elapsed: str = ""
    opens: bool | None = None
    glyph_color: str = "muted"
    thumbnail: QPixmap | None = None


def paint_head(painter: QPainter, box: QRectF, head: Head, theme: Theme) -> None:
    """Draw the line into `box`; what does not fit is elided, the object's end first."""
    inset = theme.size("card_padding")
    side = theme.size("glyph")
    middle = box.center().y()
    left = box.left() + inset
    icons.draw(painter, head.glyph, QRectF(left, middle - side / 2, side, side), theme.color(head.glyph_color))
    left += side + theme.size("gap") + theme.size("grid") / 2
    right = _paint_right(painter, QRectF(left, box.top(), box.right() - inset - left, box.height()), head, theme)
    _paint_words(painter, QRectF(left, box.top(), right - left, box.height()), head, theme)


def _paint_right(painter: QPainter, box: QRectF, head: Head, theme: Theme) -> float:
    """Chevron, mark and time, from the right; the answer is where the words must end."""
    side, gap = theme.size("small_glyph"), theme.size("gap")
    x, middle = box.right(), box.center().y()
    if head.opens is not None:
        painter.save()
        painter.translate(x - side / 2, middle)
        painter.rotate(90 if head.opens else 0)
        icons.draw(painter, "chevron", QRectF(-side / 2, -side / 2, side, side), theme.color("muted"))
        painter.restore()
        x -= side + gap / 2
    if head.status in _MARKS:
        glyph, color = _MARKS[head.status]
        icons.draw(painter, glyph, QRectF(x - side, middle - side / 2, side, side), theme.color(color))
        x -= side + gap / 2
    if head.thumbnail is not None:
        x = _paint_thumbnail(
            painter, QRectF(box.left(), box.top(), x - box.left(), box.height()), head.thumbnail, theme
        )
    if head.elapsed:
        painter.setFont(font(theme, "small"))
        width = QFontMetricsF(painter.font()).horizontalAdvance(head.elapsed) + 2
        _words(painter, QRectF(x - width, box.top(), width, box.height()), head.elapsed, theme.color("muted"))
        x -= width + gap / 2
    return x - gap / 2


def _paint_thumbnail(painter: QPainter, box: QRectF, picture: QPixmap, theme: Theme) -> float:
    size = picture.deviceIndependentSize()
    place = QRectF(box.right() - size.width(), box.center().y() - size.height() / 2, size.width(), size.height())
    outline = QPainterPath()
    radius = theme.size("grid")
    outline.addRoundedRect(place, radius, radius)
    painter.save()
    painter.setClipPath(outline)
    painter.drawPixmap(place.topLeft(), picture)
    painter.restore()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QColor(*theme.color("edge")))
    painter.drawPath(outline)
    return place.left() - theme.size("gap")


def _paint_words(painter: QPainter, box: QRectF, head: Head, theme: Theme) -> None:
    plain, strong = font(theme, "text"), font(theme, "text", strong=True)
    verb_width = min(QFontMetricsF(plain).horizontalAdvance(head.verb), box.width())
    painter.setFont(plain)
    elided = QFontMetricsF(plain).elidedText(head.verb, Qt.TextElideMode.ElideRight, box.width())
    _words(painter, box, elided, theme.color("ink"))
    space = QFontMetricsF(plain).horizontalAdvance(" ") + 1
    rest = box.adjusted(verb_width + space, 0, 0, 0)
    if head.object and rest.width() > theme.size("glyph"):
        painter.setFont(strong)
        elided = QFontMetricsF(strong).elidedText(head.object, Qt.TextElideMode.ElideRight, rest.width())
        _words(painter, rest, elided, theme.color("ink"))


def _words(painter: QPainter, box: QRectF, text: str, color: Color) -> None:
    painter.setPen(QColor(*color))
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, text)


def elapsed_words(seconds: float) -> str:
    """`4 s`, `1:05`; nothing below a second."""
    whole = int(seconds)
    if whole < 1:
        return ""
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02d}"
