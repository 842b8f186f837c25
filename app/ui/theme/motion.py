"""Animations: one clock for all, which runs only while something moves."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QRectF, QTimer
from PySide6.QtWidgets import QWidget

Step = Callable[[float], bool]
"""Called with the seconds since its last call; False ends it."""


class Ticker(QObject):
    """Calls each of its steps once a frame. Its timer only runs while there are steps."""

    def __init__(self, frame_ms: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: dict[str, Step] = {}
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(frame_ms)
        self._timer.timeout.connect(self._tick)

    @property
    def is_running(self) -> bool:
        return self._timer.isActive()

    def run(self, name: str, step: Step) -> None:
        """Call `step` at each frame with the seconds since the last one, until it returns False. Replaces a step of
        this name."""
        self._steps[name] = step
        if not self._timer.isActive():
            self._last = time.monotonic()
            self._timer.start()

    def end(self, name: str) -> None:
        self._steps.pop(name, None)
        if not self._steps:
            self._timer.stop()

    def _tick(self) -> None:
        now = time.monotonic()
        elapsed, self._last = now - self._last, now
        for name, step in list(self._steps.items()):
            if not step(elapsed) and self._steps.get(name) is step:
                self.end(name)


class Glide:
    """A number that moves to a goal: `go` sets the goal, `advance` lets time pass. The movement slows down (ease-out
    cubic)."""

    def __init__(self, value: float) -> None:
        self._from = self._to = value
        self._seconds = 0.0
        self._spent = 0.0

    @property
    def value(self) -> float:
        if self._spent >= self._seconds:
            return self._to
        return self._from + (self._to - self._from) * eased(self._spent / self._seconds)

    @property
    def is_there(self) -> bool:
        return self._spent >= self._seconds

    @property
    def goal(self) -> float:
        return self._to

    def go(self, value: float, duration_ms: int) -> None:
        self._from, self._to = self.value, value
        self._seconds, self._spent = duration_ms / 1000, 0.0

    def advance(self, elapsed_s: float) -> float:
        self._spent += elapsed_s
        return self.value


class Growth:
    """A rectangle that moves to another one as `advance` lets time pass. The movement slows down (ease-out cubic)."""

    def __init__(self, start: QRectF, end: QRectF, duration_ms: int) -> None:
        self._start, self.goal = start, end
        self._way = Glide(0.0)
        self._way.go(1.0, duration_ms)

    @property
    def is_there(self) -> bool:
        return self._way.is_there

    @property
    def value(self) -> QRectF:
        share = self._way.value
        sides = zip(_coords(self._start), _coords(self.goal), strict=True)
        left, top, right, bottom = (one + (other - one) * share for one, other in sides)
        return QRectF(left, top, right - left, bottom - top)

    def advance(self, elapsed_s: float) -> QRectF:
        self._way.advance(elapsed_s)
        return self.value


def fade_in(window: QWidget, ticker: Ticker, duration_ms: int) -> None:
    """Show the window transparent, and make it opaque step by step. Without a compositor it is opaque at once."""
    glide = Glide(0.0)
    glide.go(1.0, duration_ms)
    window.setWindowOpacity(0.0)
    window.show()

    def step(elapsed_s: float) -> bool:
        window.setWindowOpacity(glide.advance(elapsed_s))
        return not glide.is_there

    ticker.run(f"fade {id(window)}", step)


def fade_out(window: QWidget, ticker: Ticker, duration_ms: int) -> None:
    """Make the window transparent step by step, then hide it and set it opaque again. Without a compositor it stays
    opaque until it is hidden."""
    glide = Glide(window.windowOpacity())
    glide.go(0.0, duration_ms)

    def step(elapsed_s: float) -> bool:
        window.setWindowOpacity(glide.advance(elapsed_s))
        if glide.is_there:
            window.hide()
            window.setWindowOpacity(1.0)
        return not glide.is_there

    ticker.run(f"fade {id(window)}", step)


def end_fade(window: QWidget, ticker: Ticker) -> None:
    """End a fade of the window that still runs."""
    ticker.end(f"fade {id(window)}")


def _coords(rect: QRectF) -> tuple[float, float, float, float]:
    return rect.left(), rect.top(), rect.right(), rect.bottom()


def eased(share: float) -> float:
    """How much of a way, 0 to 1, is covered after a `share` of the time (ease-out cubic)."""
    return float(1 - (1 - max(0.0, min(share, 1.0))) ** 3)
