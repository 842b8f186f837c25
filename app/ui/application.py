"""The process of the presence: Qt's application, its language, and the first paint."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app.settings import catalog
from app.settings.store import Settings
from app.ui import garbage
from app.ui.machine import NoMachine, Outside
from app.ui.orb.window import OrbWindow
from app.ui.system.instance import OPEN, WELCOME, Instance
from app.ui.theme.appearance import Look, look_of
from app.ui.translation import install
from app.ui.windows.orb_placement import OrbPlacement
from app.ui.windows.x_connection import until_the_display_goes

if TYPE_CHECKING:
    from app.ui.lifecycle import Connect
    from app.ui.presence import Presence

_PAINT_LIMIT_MS = 500


def run(
    connect: Connect,
    settings: Settings,
    outside: Outside | None = None,
    *,
    on_ready: Callable[[Presence], None] | None = None,
    quit_when: Awaitable[object] | None = None,
) -> int:
    """Show the presence until the person quits, and return the process's exit code. If a presence already runs on this
    display, open that one instead and return.

    `on_ready` is called once there is an agent; the presence quits when `quit_when` is done.
    """
    application = make_application()
    instance = Instance()
    outside = outside or Outside(lambda: settings, NoMachine())
    if not instance.claim(WELCOME if outside.welcome else OPEN):
        return 0
    install(application, settings[catalog.LANGUAGE])
    with until_the_display_goes():
        look = look_of(application, settings)
        orb = first_paint(look)
        from app.ui import lifecycle

        parts = lifecycle.PaintedParts(application, instance, look, orb, settings, outside)
        try:
            return lifecycle.run(parts, connect, on_ready, quit_when)
        finally:
            instance.release()
            look.around.close()


def first_paint(look: Look) -> OrbWindow:
    """Show the orb in its place, and return it once it is painted."""
    orb = OrbWindow(look.theme, look.around, look.ticker)
    OrbPlacement(orb, look.theme).take()
    painted = _Painted(orb)
    orb.show()
    painted.wait(_PAINT_LIMIT_MS)
    return orb


class _Painted(QObject):
    """Waits until a window is painted. The display asks for the paint only after the window is shown, and the
    imports that follow would delay it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__()
        self._window = window
        self._waiting = QEventLoop()
        window.installEventFilter(self)

    def eventFilter(self, _window: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            QTimer.singleShot(0, self._waiting.quit)
        return False

    def wait(self, limit_ms: int) -> None:
        QTimer.singleShot(limit_ms, self._waiting.quit)
        self._waiting.exec()
        self._window.removeEventFilter(self)


def make_application() -> QApplication:
    """Return the process's QApplication, prepared for floating windows."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    if os.environ.get("WAYLAND_DISPLAY") and os.environ.get("DISPLAY"):
        # Use XWayland, because a Wayland client can neither place itself nor stay on top.
        os.environ.setdefault("QT_QPA_PLATFORM", "xcb")
    application = QApplication(sys.argv[:1])
    application.setApplicationName("wisp")
    application.setApplicationDisplayName("Wisp")
    application.setQuitOnLastWindowClosed(False)
    garbage.collect_between_events()
    return application
