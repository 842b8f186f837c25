"""The orb's window: it takes the mouse, and moves what `painting` draws."""

from __future__ import annotations

import math
from collections import deque

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRectF, Qt, QTimer, Signal
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
from app.ui.orb.painting import OrbFrame, outline, paint
from app.ui.orb.state import Orb
from app.ui.theme.motion import Glide, Ticker
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps


class Handle(Floating):
    """The part of the orb that takes the mouse. `moved` carries the normal-size orb's square after a drag."""

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
        """The orb at its normal size, in global device-independent pixels. Placement uses it."""
        side = self.theme.size("orb")
        inset = (self.width() - side) // 2
        corner = self.pos()
        return Rect(corner.x() + inset, corner.y() + inset, side, side)

    def put(self, rect: Rect) -> None:
        """Move the window so that the orb at its normal size fills this square."""
        inset = (self.width() - self.theme.size("orb")) // 2
        self.move(rect.x - inset, rect.y - inset)

    def press(self) -> None:
        """Do what a click on the orb does."""
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
        self._tone, self._voice, self._pulse = "", Glide(0.0), 0.0
        self._beats: deque[float] = deque()
        """Seconds from word to word, for the words whose pulses are to come."""
        self._hush = QTimer(self, singleShot=True)
        self._hush.timeout.connect(lambda: self._fade_voice(0.0))
        side = theme.size("orb_hover") + 2 * self._room
        self.setFixedSize(side, side)

    @property
    def _room(self) -> int:
        """The space in pixels around the largest orb, which shadow and badge need."""
        return self.theme.size("orb_margin") if self.around.composited else self.theme.size("badge") // 2

    @property
    def state(self) -> Orb:
        return self._state

    def show_state(self, state: Orb, *, share: float | None = None, unread: int = 0, is_free: bool = False) -> None:
        """Show this state from now on. `is_free`: Wisp asks for no approvals at present."""
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
        free = QCoreApplication.translate("Orb", "Wisp does not ask before it acts just now.") if is_free else ""
        self.setToolTip(free)
        self.setAccessibleDescription(f"{QCoreApplication.translate('Orb', READ_OUT[state])} {free}".strip())

    def take_name(self) -> None:
        """Let the window's title be the name of the presence, and let screen readers tell it."""
        super().take_name()
        self.setAccessibleName(self.windowTitle())

    def dress(self, theme: Theme) -> None:
        """Use the colours and sizes of this theme, and keep the orb's centre."""
        middle = self.rest_rect().center
        self.theme = theme
        self.take_name()
        side = theme.size("orb_hover") + 2 * self._room
        self.setFixedSize(side, side)
        rest = theme.size("orb")
        self.put(Rect(middle.x - rest // 2, middle.y - rest // 2, rest, rest))
        self._size = Glide(theme.size("orb"))
        self._settle_size()
        self.shape()

    def hear(self, level: float) -> None:
        """Set the loudness, 0 to 1, while the orb listens."""
        self._level = level

    def utter(self, tone: str, words: str) -> None:
        """Show on the rim that Wisp says these words now: in the tone's hue, with a pulse at each word.

        The hue goes a moment after the last word. Nothing pulses with reduced motion.
        """
        per_char = 1 / self.theme.pace("chars_per_s")
        if tone != self._tone or self._voice.goal == 0:
            self._tone = tone
            self._fade_voice(1.0)
        if not self.theme.reduced:
            self._beats.extend(len(word) * per_char for word in words.split())
            self._move()
        self._hush.start(round(len(words) * per_char * 1000) + self.theme.ms("voice_after"))

    def _fade_voice(self, strength: float) -> None:
        self._voice.go(strength, 0 if self.theme.reduced else self.theme.ms("hover"))
        self._beats.clear()
        self._move()

    def breathe(self) -> None:
        """Let the orb grow and shrink slowly a few times, then stop."""
        if not self.theme.reduced:
            self._breathing_s = self.theme.ms("breath") * self.theme.count("breaths") / 1000
            self._move()

    def body_path(self) -> QPainterPath:
        center = QPointF(self.rect().toRectF().center())
        radius = self._size.goal / 2
        path = outline(center, radius, self.theme)
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
        self.confirm()
        painter = QPainter(self)
        if not self.around.composited:
            # Fill the background, so that antialiased edges have a colour to blend with.
            painter.fillRect(self.rect(), QColor(*self.theme.orb(self._state.value)[1]))
        center = QPointF(self.rect().toRectF().center())
        if self._bounce > 0:
            spent = 1 - self._bounce * 1000 / self.theme.ms("bounce")
            center.setY(center.y() - math.sin(spent * math.pi) * self.theme.count("grid") * 2)
        breath = math.sin(self._breathing_s * 1000 / self.theme.ms("breath") * math.tau) if self._breathing_s > 0 else 0
        parts = (self._share, self._level, breath, self._unread, self._is_free)
        look = OrbFrame(self._state, self._phase, *parts, self._tone, self._voice.value, self._pulse)
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
        speaking = not self._voice.is_there or self._pulse > 0 or bool(self._beats)
        return turning or speaking or not self._size.is_there or self._bounce > 0 or self._breathing_s > 0

    def _advance(self, elapsed_s: float) -> bool:
        if self._state in _TURNS and not self.theme.reduced:
            self._phase = (self._phase + elapsed_s * 1000 / self.theme.ms(_TURNS[self._state])) % 1.0
        self._size.advance(elapsed_s)
        self._voice.advance(elapsed_s)
        self._pulse = max(self._pulse - elapsed_s * 1000 / self.theme.ms("word_pulse"), 0.0)
        if self._beats:
            self._beats[0] -= elapsed_s
            if self._beats[0] <= 0:
                self._beats.popleft()
                self._pulse = 1.0
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
