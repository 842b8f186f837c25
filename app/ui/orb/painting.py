"""How the orb is drawn, in its window and as the icon of the tray."""

from __future__ import annotations

import math
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QConicalGradient, QImage, QPainter, QPainterPath, QPen, QRadialGradient

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
_SHADOW_STEPS = 16


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


def outline(center: QPointF, radius: float, theme: Theme) -> QPainterPath:
    """A circle, or a square whose corners are as round as the theme wants."""
    return _square(center, radius, radius * theme.ratio("orb_corner"))


def _square(center: QPointF, radius: float, corner: float) -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(QRectF(center.x() - radius, center.y() - radius, 2 * radius, 2 * radius), corner, corner)
    return path


def _shadow(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint a soft shadow; in a theme with hard shadows, one flat shape."""
    painter.setPen(Qt.PenStyle.NoPen)
    if apart := theme.count("hard_shadow") / 2:
        shape = outline(center + QPointF(apart, apart), radius, theme)
        painter.fillPath(shape, QColor(*theme.color("shadow")))
        return
    color, corner = theme.color("shadow").faded(theme.ratio("shadow_opacity")), radius * theme.ratio("orb_corner")
    soft = _soft_shadow(radius, corner, theme.size("orb_margin") * 0.62, color, painter.device().devicePixelRatioF())
    middle, half = center + QPointF(0, theme.count("grid") * 1.5), soft.deviceIndependentSize() / 2
    painter.drawImage(middle - QPointF(half.width(), half.height()), soft)


@lru_cache(maxsize=8)
def _soft_shadow(radius: float, corner: float, blur: float, color: Color, ratio: float) -> QImage:
    """Many faint outlines, drawn once, since most frames of a moving orb have the same shadow."""
    side = math.ceil((radius + blur) * 2)
    made = QImage(round(side * ratio), round(side * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for step in range(_SHADOW_STEPS):
        grown = blur * (1 - 2 * step / _SHADOW_STEPS)
        faint = color.faded(1.5 * (2 * step + 1) / _SHADOW_STEPS**2)
        shape = _square(QPointF(side / 2, side / 2), max(radius + grown, 0), max(corner + grown, 0))
        painter.fillPath(shape, QColor(*faint))
    painter.end()
    return made


def _sphere(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    lit, body, far = theme.orb(look.state.value)
    inside, depth = outline(center, radius, theme), theme.ratio("orb_depth")
    painter.fillPath(inside, QColor(*body))
    # Three soft lights that overlap: no edge and no reflection, so that it glows by itself.
    for color, x, y, reach, strength in (
        (far, 0.55, 0.75, 1.5, 0.85),
        (lit, -0.55, -0.65, 1.35, 0.52),
        (lit, 0.75, -0.1, 0.9, 0.3),
    ):
        spot = QPointF(center.x() + x * radius, center.y() + y * radius)
        painter.fillPath(inside, _soft(spot, radius * reach, color, strength * depth))
    if look.state is Orb.THINKING:
        _light(painter, inside, center, radius, look.phase, lit)
    _rim(painter, center, radius, theme)


def _soft(spot: QPointF, reach: float, color: Color, strength: float) -> QBrush:
    gradient = QRadialGradient(spot, reach)
    for step in range(_FALL_STEPS + 1):
        share = step / _FALL_STEPS
        gradient.setColorAt(share, QColor(*color.faded(strength * (1 - share * share * (3 - 2 * share)))))
    return QBrush(gradient)


def _light(painter: QPainter, inside: QPainterPath, center: QPointF, radius: float, phase: float, lit: Color) -> None:
    """Paint the light inside the orb that travels around while Wisp thinks."""
    angle = phase * math.tau
    spot = QPointF(center.x() + math.cos(angle) * radius * 0.5, center.y() + math.sin(angle) * radius * 0.5)
    gradient = QRadialGradient(spot, radius * 0.72)
    gradient.setColorAt(0.0, QColor(255, 255, 255, 190))
    gradient.setColorAt(0.35, QColor(*lit.faded(0.6)))
    gradient.setColorAt(1.0, QColor(*lit.faded(0.0)))
    painter.fillPath(inside, QBrush(gradient))


def _rim(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint a thin light along the upper edge. Around a flat body it becomes a line as wide as the theme's others."""
    (rim,), depth = theme.orb("rim"), min(theme.ratio("orb_depth"), 1.0)
    sweep = QConicalGradient(center, 120)
    for place, opacity in ((0.0, 0.6), (0.25, 0.2), (0.5, 0.08), (0.75, 0.2), (1.0, 0.6)):
        sweep.setColorAt(place, QColor(*rim.faded(1 - depth * (1 - opacity))))
    width = radius / 28 * (depth + theme.count("hairline") * (1 - depth))
    _line(painter, center, radius, QBrush(sweep), width, theme)


def _line(painter: QPainter, center: QPointF, radius: float, brush: QBrush, width: float, theme: Theme) -> None:
    """Paint a line of this width along the inside of the orb's outline at `radius`."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(brush, width))
    painter.drawPath(outline(center, radius - width / 2, theme))


def _voice(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """Paint the rim in the hue of the tone. It is wider for a moment at each word, and a light line parts it from the
    body, which keeps the hue of the state."""
    width = radius * (0.1 + 0.08 * look.pulse)
    (light,) = theme.orb("glyph")
    for color, wide, reach in (
        (light.faded(0.55), radius / 28, radius - width),
        (theme.tone(look.tone), width, radius),
    ):
        _line(painter, center, reach, QBrush(QColor(*color.faded(look.voice))), wide, theme)


def _notch(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint a gap in the rim, at the upper right."""
    (mark,) = theme.orb("glyph")
    rim = outline(center, radius, theme).subtracted(outline(center, radius * 0.9, theme))
    wedge = QPainterPath(center)
    wedge.arcTo(QRectF(center.x() - 2 * radius, center.y() - 2 * radius, 4 * radius, 4 * radius), 34, 22)
    painter.fillPath(rim.intersected(wedge), QColor(*mark))


def _hollow(painter: QPainter, center: QPointF, radius: float, theme: Theme) -> None:
    """Paint the orb as an empty ring, which says that the person drives mouse and keyboard."""
    lit, body, far = theme.orb(Orb.DRIVING.value)
    painter.fillPath(outline(center, radius, theme), QColor(*theme.color("paper")))
    ring = QRadialGradient(QPointF(center.x() - radius * 0.4, center.y() - radius * 0.5), radius * 2)
    for place, color in ((0.0, lit), (0.5, body), (1.0, far)):
        ring.setColorAt(place, QColor(*body.mixed(color, min(theme.ratio("orb_depth"), 1.0))))
    _line(painter, center, radius, QBrush(ring), radius / 5, theme)


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
        painter.drawPath(outline(center, radius + reach * share, theme))


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
    letters = drawing.font(theme, "small", strong=True)
    letters.setPixelSize(letters.pixelSize() - (0 if len(text) == 1 else 2))
    painter.setFont(letters)
    painter.setPen(QColor(*theme.color("accent_ink")))
    box = QRectF(middle.x() - side, middle.y() - side / 2, side * 2, side)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
