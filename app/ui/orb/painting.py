"""How the orb is drawn: a soft sphere of two gradients, a rim light, and what its state adds. No state of its own."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QConicalGradient, QFont, QPainter, QPainterPath, QPen, QRadialGradient

from app.base.values import dataclass
from app.ui.orb.state import Orb
from app.ui.theme import drawing
from app.ui.theme.theme import Color, Theme

_GLYPHS = {Orb.NEEDS_YOU: "hand", Orb.DRIVING: "pause", Orb.SLEEP: "moon", Orb.ERROR: "alert"}
_RIPPLES = 2


@dataclass(frozen=True, slots=True)
class OrbFrame:
    """One frame of the orb, with values from 0 to 1. `phase` goes round; `share` is a step's progress, None if
    unknown; `level` is the loudness; `breath` is the size of the breath. `is_free`: no approvals are asked for now."""

    state: Orb
    phase: float = 0.0
    share: float | None = None
    level: float = 0.0
    breath: float = 0.0
    unread: int = 0
    is_free: bool = False


def paint(painter: QPainter, center: QPointF, diameter: float, look: OrbFrame, theme: Theme, *, shadow: bool) -> None:
    """Draw the orb around `center`, in device-independent pixels."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    radius = diameter / 2 * (1 + 0.03 * look.breath)
    if shadow:
        _shadow(painter, center, radius, theme)
    if look.state is Orb.LISTENING:
        _ripples(painter, center, radius, look, theme)
    if look.state is Orb.DRIVING:
        _hollow(painter, center, radius, theme)
    else:
        _sphere(painter, center, radius, look, theme)
    if look.state is Orb.BUSY:
        _progress(painter, center, radius, look, theme)
    _glyph(painter, center, radius, look, theme)
    if look.unread or look.state is Orb.NEEDS_YOU:
        _badge(painter, center, radius, look, theme)
    if look.is_free:
        _freedom(painter, center, radius, theme)


def _shadow(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    drop, blur = theme.count("grid") * 1.5, theme.size("orb_margin") * 0.62
    middle = QPointF(center.x(), center.y() + drop)
    gradient = QRadialGradient(middle, radius + blur)
    opacity = theme.ratio("shadow_opacity")
    inner = max((radius - blur) / (radius + blur), 0.0)
    for step in range(9):
        share = step / 8
        strength = opacity * 1.5 * (1 - share) ** 2
        gradient.setColorAt(inner + (1 - inner) * share, QColor(*theme.color("shadow").faded(strength)))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(gradient))
    painter.drawEllipse(middle, radius + blur, radius + blur)


def _sphere(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    lit, body, far = theme.orb(look.state.value)
    ball = QRadialGradient(QPointF(center.x() - radius * 0.32, center.y() - radius * 0.42), radius * 1.75)
    for place, color in ((0.0, lit), (0.38, body), (1.0, far)):
        ball.setColorAt(place, QColor(*color))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(ball))
    painter.drawEllipse(center, radius, radius)
    if look.state is Orb.THINKING:
        _light(painter, center, radius, look.phase, lit)
    glow = QRadialGradient(QPointF(center.x() + radius * 0.25, center.y() + radius * 0.75), radius * 0.9)
    glow.setColorAt(0.0, QColor(*lit.faded(0.34)))
    glow.setColorAt(1.0, QColor(*lit.faded(0.0)))
    painter.setBrush(QBrush(glow))
    painter.drawEllipse(center, radius, radius)
    _rim(painter, center, radius, look, theme)


def _light(painter: QPainter, center: QPointF, radius: float, phase: float, lit: Color) -> None:
    """The inner light that travels around while it thinks."""
    angle = phase * math.tau
    spot = QPointF(center.x() + math.cos(angle) * radius * 0.5, center.y() + math.sin(angle) * radius * 0.5)
    gradient = QRadialGradient(spot, radius * 0.72)
    gradient.setColorAt(0.0, QColor(255, 255, 255, 225))
    gradient.setColorAt(0.35, QColor(*lit.faded(0.6)))
    gradient.setColorAt(1.0, QColor(*lit.faded(0.0)))
    painter.setBrush(QBrush(gradient))
    inside = QPainterPath()
    inside.addEllipse(center, radius, radius)
    painter.save()
    painter.setClipPath(inside)
    painter.drawEllipse(spot, radius * 0.72, radius * 0.72)
    painter.restore()


def _rim(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """A thin light along the upper edge; an error takes a notch out of it."""
    (rim,) = theme.orb("rim")
    sweep = QConicalGradient(center, 120)
    for place, opacity in ((0.0, 1.0), (0.2, 0.25), (0.5, 0.05), (0.8, 0.25), (1.0, 1.0)):
        sweep.setColorAt(place, QColor(*rim.faded(opacity)))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QBrush(sweep), radius / 20))
    inset = radius - radius / 32
    painter.drawEllipse(center, inset, inset)
    if look.state is Orb.ERROR:
        (mark,) = theme.orb("glyph")
        painter.setPen(QPen(QColor(*mark), radius / 8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        box = QRectF(center.x() - inset, center.y() - inset, inset * 2, inset * 2)
        painter.drawArc(box, 34 * 16, 22 * 16)


def _hollow(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Only a ring: the person drives."""
    lit, body, far = theme.orb(Orb.DRIVING.value)
    painter.setBrush(QColor(*theme.color("paper")))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawEllipse(center, radius, radius)
    width = radius / 5
    ring = QRadialGradient(QPointF(center.x() - radius * 0.4, center.y() - radius * 0.5), radius * 2)
    for place, color in ((0.0, lit), (0.5, body), (1.0, far)):
        ring.setColorAt(place, QColor(*color))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QBrush(ring), width))
    painter.drawEllipse(center, radius - width / 2, radius - width / 2)


def _progress(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """Paint the ring of an acting orb: filled to the step's share, or a rotating arc if the share is unknown."""
    (mark,) = theme.orb("glyph")
    reach = radius * 0.62
    box = QRectF(center.x() - reach, center.y() - reach, reach * 2, reach * 2)
    cap = Qt.PenCapStyle.RoundCap
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*mark.faded(0.28)), radius / 9))
    painter.drawEllipse(center, reach, reach)
    painter.setPen(QPen(QColor(*mark), radius / 9, Qt.PenStyle.SolidLine, cap))
    if look.share is None:
        painter.drawArc(box, round((90 - look.phase * 360) * 16), -80 * 16)
    else:
        painter.drawArc(box, 90 * 16, round(-360 * 16 * max(look.share, 0.02)))


def _ripples(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    _, body, _ = theme.orb(Orb.LISTENING.value)
    reach = theme.size("orb_margin") * 0.8 * (0.35 + 0.65 * look.level)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for number in range(_RIPPLES):
        share = (look.phase + number / _RIPPLES) % 1.0
        painter.setPen(QPen(QColor(*body.faded(0.55 * (1 - share))), 2))
        painter.drawEllipse(center, radius + reach * share, radius + reach * share)


def _glyph(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    name = _GLYPHS.get(look.state)
    if name is None:
        return
    (mark,) = theme.orb("glyph")
    color = theme.color("ink") if look.state is Orb.DRIVING else mark
    side = radius * (0.84 if look.state is not Orb.SLEEP else 1.0)
    drawing.draw(painter, name, QRectF(center.x() - side / 2, center.y() - side / 2, side, side), color)


def _freedom(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint an open lock: for a time, Wisp asks for no approvals."""
    side = theme.size("badge")
    middle = QPointF(center.x() + radius * 0.72, center.y() + radius * 0.72)
    painter.setPen(QPen(QColor(*theme.color("paper")), 2))
    painter.setBrush(QColor(*theme.tone("urgent")))
    painter.drawEllipse(middle, side / 2, side / 2)
    inner = side * 0.66
    place = QRectF(middle.x() - inner / 2, middle.y() - inner / 2, inner, inner)
    drawing.draw(painter, "unlock", place, theme.color("accent_ink"))


def _badge(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """How much is unread; an exclamation mark where the person is waited for."""
    side = theme.size("badge")
    middle = QPointF(center.x() + radius * 0.72, center.y() - radius * 0.72)
    fill = theme.color("bad") if look.state is Orb.NEEDS_YOU else theme.color("accent_fill")
    painter.setPen(QPen(QColor(*theme.color("paper")), 2))
    painter.setBrush(QColor(*fill))
    painter.drawEllipse(middle, side / 2, side / 2)
    text = "!" if look.state is Orb.NEEDS_YOU else (str(look.unread) if look.unread < 10 else "9+")
    font = QFont(painter.font())
    font.setPixelSize(theme.type("small").size - (0 if len(text) == 1 else 2))
    font.setWeight(QFont.Weight.DemiBold)
    painter.setFont(font)
    painter.setPen(QColor(*theme.color("accent_ink")))
    box = QRectF(middle.x() - side, middle.y() - side / 2, side * 2, side)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
