"""How the orb is drawn, in its window and as the icon of the tray."""

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
    """One frame of the orb, in values from 0 to 1. `phase`: place in the cycle; `share`: a step's progress, None if
    unknown; `level`: loudness; `breath`: how large it has grown. `is_free`: Wisp asks for no approvals.

    `tone`: the tone in which something is said; `voice`: how strongly it colours the rim; `pulse`: 1 when a word
    begins, then less and less.
    """

    state: Orb
    phase: float = 0.0
    share: float | None = None
    level: float = 0.0
    breath: float = 0.0
    unread: int = 0
    is_free: bool = False
    tone: str = ""
    voice: float = 0.0
    pulse: float = 0.0


_FALL_STEPS = 6
"""Stops of a light that falls off smoothly."""


def paint(painter: QPainter, center: QPointF, diameter: float, look: OrbFrame, theme: Theme, *, shadow: bool) -> None:
    """Paint the orb around `center`, in device-independent pixels."""
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
    if look.voice > 0:
        _voice(painter, center, radius, look, theme)
    if look.state is Orb.ERROR:
        _notch(painter, center, radius, theme)
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
    inside = QPainterPath()
    inside.addEllipse(center, radius, radius)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.fillPath(inside, QColor(*body))
    painter.save()
    painter.setClipPath(inside)
    # Three soft lights that overlap: no edge and no reflection, so that it glows by itself.
    for color, x, y, reach, strength in (
        (far, 0.55, 0.75, 1.5, 0.85),
        (lit, -0.55, -0.65, 1.35, 0.52),
        (lit, 0.75, -0.1, 0.9, 0.3),
    ):
        spot = QPointF(center.x() + x * radius, center.y() + y * radius)
        painter.fillPath(inside, _soft(spot, radius * reach, color, strength))
    painter.restore()
    if look.state is Orb.THINKING:
        _light(painter, center, radius, look.phase, lit)
    _rim(painter, center, radius, theme)


def _soft(spot: QPointF, reach: float, color: Color, strength: float) -> QBrush:
    """Return a brush for a round light around `spot` that fades out towards `reach`."""
    gradient = QRadialGradient(spot, reach)
    for step in range(_FALL_STEPS + 1):
        share = step / _FALL_STEPS
        gradient.setColorAt(share, QColor(*color.faded(strength * (1 - share * share * (3 - 2 * share)))))
    return QBrush(gradient)


def _light(painter: QPainter, center: QPointF, radius: float, phase: float, lit: Color) -> None:
    """Paint the light inside the orb that travels around while Wisp thinks."""
    angle = phase * math.tau
    spot = QPointF(center.x() + math.cos(angle) * radius * 0.5, center.y() + math.sin(angle) * radius * 0.5)
    gradient = QRadialGradient(spot, radius * 0.72)
    gradient.setColorAt(0.0, QColor(255, 255, 255, 190))
    gradient.setColorAt(0.35, QColor(*lit.faded(0.6)))
    gradient.setColorAt(1.0, QColor(*lit.faded(0.0)))
    painter.setBrush(QBrush(gradient))
    inside = QPainterPath()
    inside.addEllipse(center, radius, radius)
    painter.save()
    painter.setClipPath(inside)
    painter.drawEllipse(spot, radius * 0.72, radius * 0.72)
    painter.restore()


def _rim(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint a thin light along the upper edge."""
    (rim,) = theme.orb("rim")
    sweep = QConicalGradient(center, 120)
    for place, opacity in ((0.0, 0.6), (0.25, 0.2), (0.5, 0.08), (0.75, 0.2), (1.0, 0.6)):
        sweep.setColorAt(place, QColor(*rim.faded(opacity)))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QBrush(sweep), radius / 28))
    inset = radius - radius / 56
    painter.drawEllipse(center, inset, inset)


def _voice(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """Paint the rim in the hue of the tone. It is wider for a moment at each word, and a light line parts it from the
    body, which keeps the hue of the state."""
    width = radius * (0.1 + 0.08 * look.pulse)
    (light,) = theme.orb("glyph")
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for color, wide, reach in (
        (light.faded(0.55), radius / 28, radius - width - radius / 56),
        (theme.tone(look.tone), width, radius - width / 2),
    ):
        painter.setPen(QPen(QColor(*color.faded(look.voice)), wide))
        painter.drawEllipse(center, reach, reach)


def _notch(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    (mark,) = theme.orb("glyph")
    inset = radius - radius / 56
    painter.setPen(QPen(QColor(*mark), radius / 8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
    box = QRectF(center.x() - inset, center.y() - inset, inset * 2, inset * 2)
    painter.drawArc(box, 34 * 16, 22 * 16)


def _hollow(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint the orb as an empty ring, which says that the person drives mouse and keyboard."""
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
    """Paint an open lock, the sign that Wisp asks for no approvals for a time."""
    side = theme.size("badge")
    middle = QPointF(center.x() + radius * 0.72, center.y() + radius * 0.72)
    painter.setPen(QPen(QColor(*theme.color("paper")), 2))
    painter.setBrush(QColor(*theme.tone("urgent")))
    painter.drawEllipse(middle, side / 2, side / 2)
    inner = side * 0.66
    place = QRectF(middle.x() - inner / 2, middle.y() - inner / 2, inner, inner)
    drawing.draw(painter, "unlock", place, theme.color("accent_ink"))


def _badge(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """Paint the count of unread news, or an exclamation mark if Wisp waits for the person."""
    side = theme.size("badge")
    middle = QPointF(center.x() + radius * 0.72, center.y() - radius * 0.72)
    fill = theme.color("warn") if look.state is Orb.NEEDS_YOU else theme.color("accent_fill")
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
