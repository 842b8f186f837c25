"""Gets the presence out of the way of a capture or a click, from any thread and without asking the GUI thread.

On X11 the windows' shapes are emptied: they stay mapped, keep the focus and their place in the stack, and come back
exactly as they were. Elsewhere they become fully transparent and let input through, which only the GUI thread can do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from PySide6.QtCore import QObject, Qt, QThread, Signal
from PySide6.QtGui import QGuiApplication, QWindow

from app.base.geometry import Rect
from app.ui.floating import Surroundings
from app.ui.x11 import Server, Shape

_GONE_LIMIT_S = 0.15
_LOOK_EVERY_S = 0.008
_ANSWER_LIMIT_S = 0.45
_PROBE_PX = 160


class X11Curtain:
    """Talks to the X server itself; the GUI thread may be busy, blocked or gone."""

    def __init__(self, around: Surroundings, server: Server) -> None:
        self._around = around
        self._server = server
        self._lock = threading.Lock()
        self._drawn = 0
        self._pause = threading.Event()
        self._hidden: list[tuple[int, Shape]] = []

    def close(self) -> None:
        """Hang up; the curtain is not used any more, and who waits goes on."""
        self._pause.set()
        self._server.close()

    def covers(self, area: Rect) -> bool:
        """Whether a window of ours is showing inside `area`, in screen pixels."""
        return bool(self._inside(area))

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """While inside, no window of ours shows within `area` or takes input there."""
        return self._drawn_back(area)

    @contextmanager
    def _drawn_back(self, area: Rect) -> Iterator[None]:
        self._draw(area)
        try:
            yield
        finally:
            self._let_go()

    def _inside(self, area: Rect) -> list[tuple[int, Rect]]:
        places = ((window_id, self._server.shown_at(window_id)) for window_id in self._around.ids())
        return [(window_id, place) for window_id, place in places if place is not None and place.overlap(area)]

    def _draw(self, area: Rect) -> None:
        with self._lock:
            self._drawn += 1
            hidden = {window_id for window_id, _ in self._hidden}
            found = [(window_id, place) for window_id, place in self._inside(area) if window_id not in hidden]
            probes = [_probe(place, area) for _, place in found]
            before = [self._server.pixels(probe) for probe in probes]
            for window_id, _ in found:
                self._around.vanish(window_id)
                self._hidden.extend(self._server.vanish(window_id))
        if found:
            self._wait_until_gone(probes, before)
            # A shape that the GUI thread had sent just before may have arrived just after.
            self._server.cut_away([window_id for window_id, _ in self._hidden])

    def _wait_until_gone(self, probes: list[Rect], before: list[bytes]) -> None:
        """Until what was below has been painted: the pixels differ from before and stand still for two looks.

        Whoever is below may look just like us, or never paint: the wait is bounded.
        """
        limit = time.monotonic() + _GONE_LIMIT_S
        last = before
        while time.monotonic() < limit:
            self._pause.wait(_LOOK_EVERY_S)
            now = [self._server.pixels(probe) for probe in probes]
            if now == last and all(new != old for new, old in zip(now, before, strict=True)):
                return
            last = now

    def _let_go(self) -> None:
        with self._lock:
            self._drawn -= 1
            if self._drawn == 0:
                hidden, self._hidden = self._hidden, []
                self._server.appear(hidden)
                self._around.appear()


class QtCurtain(QObject):
    """For systems where only the GUI thread may touch windows. It is asked, and waited for no longer than allowed."""

    _asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._drawn = 0
        self._asked.connect(lambda job: job())

    def close(self) -> None:
        """Nobody is asked any more."""
        self._asked.disconnect()

    def covers(self, area: Rect) -> bool:
        """Whether a window of ours is showing inside `area`, in screen pixels."""
        found: list[bool] = []
        self._on_gui_thread(lambda: found.append(any(_place(window).overlap(area) for window in _windows())))
        return bool(found and found[0])

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """While inside, no window of ours shows within `area` or takes input there."""
        return self._drawn_back(area)

    @contextmanager
    def _drawn_back(self, area: Rect) -> Iterator[None]:
        hidden: list[tuple[QWindow, float, bool]] = []
        self._on_gui_thread(
            lambda: hidden.extend(_hide(window) for window in _windows() if _place(window).overlap(area))
        )
        try:
            yield
        finally:
            self._on_gui_thread(lambda: _bring_back(hidden), wait=False)

    def _on_gui_thread(self, job: Callable[[], None], *, wait: bool = True) -> None:
        if QThread.currentThread() == self.thread():
            job()
            return
        done = threading.Event()

        def run() -> None:
            job()
            done.set()

        self._asked.emit(run)
        if wait:
            done.wait(_ANSWER_LIMIT_S)


def curtain_for(around: Surroundings) -> X11Curtain | QtCurtain:
    """The curtain of this system. X11's has a connection of its own: the GUI's may be busy."""
    return QtCurtain() if around.server is None else X11Curtain(around, Server())


def _probe(place: Rect, area: Rect) -> Rect:
    """The middle of what the window shows in the area, small enough to be read often."""
    shared = place.overlap(area) or place
    width, height = min(shared.width, _PROBE_PX), min(shared.height, _PROBE_PX)
    return Rect(shared.center.x - width // 2, shared.center.y - height // 2, width, height)


def _windows() -> list[QWindow]:
    return [window for window in QGuiApplication.topLevelWindows() if window.isVisible()]


def _place(window: QWindow) -> Rect:
    """A window's place in physical pixels: distances within a screen grow, the screen's own corner does not."""
    ratio, screen, box = window.devicePixelRatio(), window.screen().geometry(), window.geometry()
    x = screen.x() + round((box.x() - screen.x()) * ratio)
    y = screen.y() + round((box.y() - screen.y()) * ratio)
    return Rect(x, y, round(box.width() * ratio), round(box.height() * ratio))


def _hide(window: QWindow) -> tuple[QWindow, float, bool]:
    before = window.opacity(), bool(window.flags() & Qt.WindowType.WindowTransparentForInput)
    window.setOpacity(0.0)
    window.setFlag(Qt.WindowType.WindowTransparentForInput, on=True)
    return window, *before


def _bring_back(hidden: list[tuple[QWindow, float, bool]]) -> None:
    for window, opacity, let_through in hidden:
        window.setOpacity(opacity)
        window.setFlag(Qt.WindowType.WindowTransparentForInput, on=let_through)
