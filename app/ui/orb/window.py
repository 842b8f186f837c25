"""The orb: its window, and how its states are drawn."""

from __future__ import annotations

import math

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QBrush,
    QColor,
    QConicalGradient,
    QContextMenuEvent,
    QEnterEvent,
    QFont,
    QHideEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QRadialGradient,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication

from app.base.geometry import Rect
from app.base.values import dataclass
from app.ui.orb.state import Orb
from app.ui.theme import drawing
from app.ui.theme.motion import Glide, Ticker
from app.ui.theme.theme import Color, Theme
from app.ui.windows.floating import Floating, WindowDeps

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


_FALL_STEPS = 6
"""Stops of a light that falls off smoothly."""


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
    _rim(painter, center, radius, look, theme)


def _soft(spot: QPointF, reach: float, color: Color, strength: float) -> QBrush:
    """Light that falls off without an edge."""
    gradient = QRadialGradient(spot, reach)
    for step in range(_FALL_STEPS + 1):
        share = step / _FALL_STEPS
        gradient.setColorAt(share, QColor(*color.faded(strength * (1 - share * share * (3 - 2 * share)))))
    return QBrush(gradient)


def _light(painter: QPainter, center: QPointF, radius: float, phase: float, lit: Color) -> None:
    """The inner light that travels around while it thinks."""
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


def _rim(painter: QPainter, center: QPointF, radius: float, look: OrbFrame, theme: Theme) -> None:
    """A thin light along the upper edge; an error takes a notch out of it."""
    (rim,) = theme.orb("rim")
    sweep = QConicalGradient(center, 120)
    for place, opacity in ((0.0, 0.6), (0.25, 0.2), (0.5, 0.08), (0.75, 0.2), (1.0, 0.6)):
        sweep.setColorAt(place, QColor(*rim.faded(opacity)))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QBrush(sweep), radius / 28))
    inset = radius - radius / 56
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


class Handle(Floating):
    """`clicked`, `moved` (with the resting orb's rectangle, once let go) and `menu_wanted` are its facts."""

    ROLE = QAccessible.Role.Button
    clicked = Signal()
    dragged = Signal()
    moved = Signal(object)
    menu_wanted = Signal(QPoint)

    def __init__(self, theme: Theme, around: WindowDeps) -> None:
        super().__init__(theme, around)
        self._pressed: QPoint | None = None
        self._dragging = False

    def rest_rect(self) -> Rect:
        """The resting orb's square, in global device-independent pixels: what placement reckons with."""
        side = self.theme.size("orb")
        inset = (self.width() - side) // 2
        corner = self.pos()
        return Rect(corner.x() + inset, corner.y() + inset, side, side)

    def put(self, rect: Rect) -> None:
        """Move so that the resting orb's square is there."""
        inset = (self.width() - self.theme.size("orb")) // 2
        self.move(rect.x - inset, rect.y - inset)

    def press(self) -> None:
        """What a click does."""
        self.clicked.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.globalPosition().toPoint() - self.pos()
            self._dragging = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        target = event.globalPosition().toPoint() - self._pressed
        if not self._dragging and (target - self.pos()).manhattanLength() < QApplication.startDragDistance():
            return
        self._dragging = True
        self.move(target)
        self.dragged.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        self._pressed = None
        if self._dragging:
            self._dragging = False
            self.moved.emit(self.rest_rect())
        else:
            self.clicked.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())


_TURNS = {Orb.THINKING: "thinking_turn", Orb.BUSY: "busy_turn", Orb.LISTENING: "ripple"}


class OrbWindow(Handle):
    """The orb's window, always visible. `show_state` sets what it shows."""

    def __init__(self, theme: Theme, around: WindowDeps, ticker: Ticker) -> None:
        super().__init__(theme, around)
        self._ticker = ticker
        self._step = f"orb {id(self)}"
        self._state = Orb.IDLE
        self._phase = 0.0
        self._share: float | None = None
        self._unread = 0
        self._is_free = False
        self._level = 0.0
        self._size = Glide(theme.size("orb"))
        self._bounce = 0.0
        self._breathing_s = 0.0
        side = theme.size("orb_hover") + 2 * self._room
        self.setFixedSize(side, side)
        self.setAccessibleName("Wisp")

    @property
    def _room(self) -> int:
        """Around the largest orb: for the shadow and the badge."""
        return self.theme.size("orb_margin") if self.around.composited else self.theme.size("badge") // 2

    @property
    def state(self) -> Orb:
        return self._state

    def show_state(self, state: Orb, *, share: float | None = None, unread: int = 0, is_free: bool = False) -> None:
        """Show this state from now on. `is_free` marks a time in which Wisp asks for no approvals."""
        if (state, share, unread, is_free) == (self._state, self._share, self._unread, self._is_free):
            return
        if state is not self._state:
            self._phase = 0.0
            self._bounce = self.theme.ms("bounce") / 1000 if state is Orb.NEEDS_YOU and not self.theme.reduced else 0.0
            self._breathing_s = 0.0
        self._state, self._share, self._unread, self._is_free = state, share, unread, is_free
        self._settle_size()
        self.update()
        self.shape()
        free = QCoreApplication.translate("Orb", "It asks for nothing just now.") if is_free else ""
        self.setToolTip(free)
        self.setAccessibleDescription(f"{QCoreApplication.translate('Orb', READ_OUT[state])} {free}".strip())

    def dress(self, theme: Theme) -> None:
        """Other colours and sizes from now on, around the same middle."""
        middle = self.rest_rect().center
        self.theme = theme
        side = theme.size("orb_hover") + 2 * self._room
        self.setFixedSize(side, side)
        rest = theme.size("orb")
        self.put(Rect(middle.x - rest // 2, middle.y - rest // 2, rest, rest))
        self._size = Glide(theme.size("orb"))
        self._settle_size()
        self.shape()

    def hear(self, level: float) -> None:
        """How loud it is, 0 to 1, while it listens."""
        self._level = level

    def breathe(self) -> None:
        """A few slow breaths, then stillness."""
        if not self.theme.reduced:
            self._breathing_s = self.theme.ms("breath") * self.theme.count("breaths") / 1000
            self._move()

    def body_path(self) -> QPainterPath:
        path = QPainterPath()
        center = QPointF(self.rect().toRectF().center())
        radius = self._size.goal / 2
        path.addEllipse(center, radius, radius)
        if self._unread or self._state is Orb.NEEDS_YOU:
            reach = self.theme.size("badge") / 2 + 1
            path.addEllipse(QPointF(center.x() + radius * 0.72, center.y() - radius * 0.72), reach, reach)
        if self._is_free:
            reach = self.theme.size("badge") / 2 + 1
            path.addEllipse(QPointF(center.x() + radius * 0.72, center.y() + radius * 0.72), reach, reach)
        path.setFillRule(Qt.FillRule.WindingFill)
        return path.simplified()

    def body(self) -> QRectF:
        side = self._size.goal
        inset = (self.width() - side) / 2
        return QRectF(inset, inset, side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        self.confirm_shape()
        painter = QPainter(self)
        if not self.around.composited:
            # Fill the background, so that antialiased edges have a colour to blend with.
            painter.fillRect(self.rect(), QColor(*self.theme.orb(self._state.value)[1]))
        center = QPointF(self.rect().toRectF().center())
        if self._bounce > 0:
            spent = 1 - self._bounce * 1000 / self.theme.ms("bounce")
            center.setY(center.y() - math.sin(spent * math.pi) * self.theme.count("grid") * 2)
        breath = math.sin(self._breathing_s * 1000 / self.theme.ms("breath") * math.tau) if self._breathing_s > 0 else 0
        look = OrbFrame(self._state, self._phase, self._share, self._level, breath, self._unread, self._is_free)
        paint(painter, center, self._size.value, look, self.theme, shadow=self.around.composited)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._move()

    def hideEvent(self, event: QHideEvent) -> None:
        self._ticker.end(self._step)
        super().hideEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._settle_size()

    def leaveEvent(self, event: object) -> None:
        self._settle_size()

    def _settle_size(self) -> None:
        name = "orb_hover" if self.underMouse() else "orb_sleep" if self._state is Orb.SLEEP else "orb"
        side = self.theme.size(name)
        if side != self._size.goal:
            self._size.go(side, 0 if self.theme.reduced else self.theme.ms("hover"))
            self.shape()
        self._move()

    def _move(self) -> None:
        self.update()
        if self._moves() and self.isVisible():
            self._ticker.run(self._step, self._advance)
        else:
            self._ticker.end(self._step)

    def _moves(self) -> bool:
        turning = self._state in _TURNS and not (self.theme.reduced or (self._state is Orb.BUSY and self._share))
        return turning or not self._size.is_there or self._bounce > 0 or self._breathing_s > 0

    def _advance(self, elapsed_s: float) -> bool:
        if self._state in _TURNS and not self.theme.reduced:
            self._phase = (self._phase + elapsed_s * 1000 / self.theme.ms(_TURNS[self._state])) % 1.0
        self._size.advance(elapsed_s)
        self._bounce = max(self._bounce - elapsed_s, 0.0)
        self._breathing_s = max(self._breathing_s - elapsed_s, 0.0)
        self.update()
        return self._moves()


READ_OUT = {
    Orb.IDLE: "ready",
    Orb.THINKING: "thinking",
    Orb.BUSY: "working",
    Orb.LISTENING: "listening",
    Orb.NEEDS_YOU: "waiting for you",
    Orb.DRIVING: "paused while you work",
    Orb.SLEEP: "asleep",
    Orb.ERROR: "something went wrong",
}
