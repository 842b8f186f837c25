"""Hide the presence's windows during a capture or click, from any thread, without waiting for the GUI thread.

On X11 the windows get empty shapes: they stay mapped, keep the focus and their place in the stack, and come back
exactly as they were. XWayland draws windows whatever their shape, so there they go far off the screen and come back.
Elsewhere they become transparent and let clicks through, which only the GUI thread can do.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager

from PySide6.QtCore import QAbstractNativeEventFilter, QByteArray, QCoreApplication, QObject, Qt, QThread, Signal
from PySide6.QtGui import QGuiApplication, QWindow

from app.base.geometry import Point, Rect
from app.ui.windows.floating import XCB_EVENT, Marked, PointRequest, WindowDeps
from app.ui.windows.x_connection import Shape, XConnection

_GONE_LIMIT_S = 0.15
_LOOK_EVERY_S = 0.008
_ANSWER_LIMIT_S = 0.45
_PROBE_PX = 160


class X11Curtain:
    """Hides windows through its own connection to the X server, so it also works while the GUI thread is busy."""

    def __init__(self, around: WindowDeps, server: XConnection) -> None:
        self._around = around
        self._server = server
        self._lock = threading.Lock()
        self._drawn = 0
        self._pause = threading.Event()
        self._hidden: list[tuple[int, Shape]] = []

    def close(self) -> None:
        """Close the connection and end all waits. The curtain must not be used after that."""
        self._pause.set()
        self._server.close()

    def covers(self, area: Rect) -> bool:
        """Return whether a window of Wisp is visible inside `area`, in screen pixels."""
        return bool(self._inside(area, self._around.covering()))

    def point_at(self, place: Rect, name: str, came_from: Point) -> Future[Marked] | None:
        """Mark a place in screen pixels. The future gets what the mark covers; None if no marks are wanted."""
        if not self._around.shows_marks:
            return None
        asked = PointRequest(place, name, came_from)
        self._around.came_back.pointed.emit(asked)
        return asked.shown

    def unmark(self) -> None:
        """Remove the mark from the screen at once, even while the GUI thread is busy."""
        self._server.unmap(self._around.marking())
        self._around.came_back.unmarked.emit()

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """Inside it, no window of Wisp is visible or takes clicks in `area` (pixels)."""
        return self._drawn_back(area)

    @contextmanager
    def _drawn_back(self, area: Rect) -> Iterator[None]:
        self._draw(area)
        try:
            yield
        finally:
            self._let_go()

    def _inside(self, area: Rect, window_ids: Iterable[int]) -> list[tuple[int, Rect]]:
        places = ((window_id, self._server.shown_at(window_id)) for window_id in window_ids)
        return [(window_id, place) for window_id, place in places if place is not None and place.overlap(area)]

    def _draw(self, area: Rect) -> None:
        with self._lock:
            self._drawn += 1
            hidden = {window_id for window_id, _ in self._hidden}
            found = [
                (window_id, place)
                for window_id, place in self._inside(area, self._around.ids())
                if window_id not in hidden
            ]
            probes = [_probe(place, area) for _, place in found]
            before = [self._server.pixels(probe) for probe in probes]
            for window_id, _ in found:
                self._around.vanish(window_id)
                self._hidden.extend(self._server.vanish(window_id))
        if found:
            self._wait_until_gone(probes, before)
            # Check again, because a shape that the GUI thread sent just before may have arrived just after.
            self._server.cut_away([window_id for window_id, _ in self._hidden])

    def _wait_until_gone(self, probes: list[Rect], before: list[bytes]) -> None:
        """Wait until the windows below are painted: the pixels have changed, and then stay equal in two captures.

        The wait has a limit, because the windows below may have the same pixels, or never paint.
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


_FAR_PX = -30_000
_CONFIGURED = 22
_CONFIGURATION = struct.Struct("=BxHIIIhh")
"""Kind, sequence, event, window, sibling, x, y: the beginning of an event about a window's place.
https://www.x.org/releases/X11R7.7/doc/xproto/x11protocol.html#events:ConfigureNotify"""
_SHOWN_S = 0.05
"""So long a compositor may take to show a move: XWayland tells it in a frame, and it draws the next one."""


class XwaylandCurtain(X11Curtain):
    """Moves windows far off the screen and back. They stay mapped and keep the keyboard, and Qt is told nothing of it.

    XWayland draws windows whatever their shape, and sway before 1.10 lets no click through what a window leaves open.
    """

    def __init__(self, around: WindowDeps, server: XConnection) -> None:
        super().__init__(around, server)
        self._away: dict[int, Rect] = {}
        self._unheard = _Unheard()

    def close(self) -> None:
        self._unheard.close()
        super().close()

    def unmark(self) -> None:
        super().unmark()
        self._pause.wait(_SHOWN_S)

    def _draw(self, area: Rect) -> None:
        with self._lock:
            self._drawn += 1
            found = dict(self._inside(area, self._around.ids()))
            self._away.update(found)
            self._server.move((window_id, _FAR_PX, _FAR_PX) for window_id in found)
        if found:
            self._pause.wait(_SHOWN_S)

    def _let_go(self) -> None:
        with self._lock:
            self._drawn -= 1
            if self._drawn == 0:
                away, self._away = self._away, {}
                # One that has moved meanwhile stays where it went.
                still = [each for each in away if (now := self._server.shown_at(each)) and now.x == _FAR_PX]
                self._server.move((each, away[each].x, away[each].y) for each in still)


class _Unheard(QAbstractNativeEventFilter):
    """Keeps it from Qt that windows are far off the screen: it would place others beside them."""

    def __init__(self) -> None:
        super().__init__()
        import ctypes  # only now, because the first paint needs none of it

        self._read = ctypes.string_at
        if (application := QCoreApplication.instance()) is not None:
            application.installNativeEventFilter(self)

    def close(self) -> None:
        if (application := QCoreApplication.instance()) is not None:
            application.removeNativeEventFilter(self)

    def nativeEventFilter(self, kind: QByteArray | bytes | bytearray | memoryview, message: int) -> tuple[bool, int]:
        if kind != XCB_EVENT:
            return False, 0
        what, _, _, _, _, x, _ = _CONFIGURATION.unpack(self._read(int(message), _CONFIGURATION.size))
        return what == _CONFIGURED and x == _FAR_PX, 0


class QtCurtain(QObject):
    """Hides windows through the GUI thread, where no other thread may. Each wait for that thread has a limit."""

    _asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._drawn = 0
        self._asked.connect(lambda job: job())

    def close(self) -> None:
        """Stop passing work to the GUI thread."""
        self._asked.disconnect()

    def covers(self, area: Rect) -> bool:
        """Return whether a window of Wisp is visible inside `area`, in screen pixels."""
        found: list[bool] = []
        self._on_gui_thread(lambda: found.append(any(_place(window).overlap(area) for window in _windows())))
        return bool(found and found[0])

    def point_at(self, place: Rect, name: str) -> None:
        """Show no mark before the act, because captures would contain it. The presence shows a mark after the act."""
        return

    def unmark(self) -> None:
        """Do nothing, because this curtain shows no marks."""
        return

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """Inside it, no window of Wisp is visible or takes clicks in `area` (pixels)."""
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


def curtain_for(around: WindowDeps) -> X11Curtain | QtCurtain:
    """On X11 the curtain gets its own connection, because the GUI's may be busy."""
    if around.server is None:
        return QtCurtain()
    return (X11Curtain if around.keyboard is None else XwaylandCurtain)(around, XConnection())


def _probe(place: Rect, area: Rect) -> Rect:
    """A part of `place` in the middle of what lies in `area`, to see whether it changes."""
    shared = place.overlap(area) or place
    width, height = min(shared.width, _PROBE_PX), min(shared.height, _PROBE_PX)
    return Rect(shared.center.x - width // 2, shared.center.y - height // 2, width, height)


def _windows() -> list[QWindow]:
    return [window for window in QGuiApplication.topLevelWindows() if window.isVisible()]


def _place(window: QWindow) -> Rect:
    """In screen pixels. Distances within a screen are scaled, its corner is not."""
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
