"""The orb's window: click opens, drag moves, and nothing moves while there is nothing to tell."""

from __future__ import annotations

import math

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QHideEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication

from app.base.geometry import Rect
from app.ui.orb.painting import OrbFrame, paint
from app.ui.orb.state import Orb
from app.ui.theme.motion import Glide, Ticker
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps


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
