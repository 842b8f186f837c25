"""Runs the presence: the orb first, then the agent, then whatever the person wants until they quit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSocketNotifier, Qt
from PySide6.QtWidgets import QApplication

from app.base import paths
from app.settings import catalog
from app.settings.store import Settings
from app.ui import eventloop, languages, style, theme
from app.ui.bridge import Agent
from app.ui.floating import surroundings
from app.ui.instance import Instance
from app.ui.look import Look
from app.ui.motion import Ticker
from app.ui.presence import Presence

if TYPE_CHECKING:
    from app.ui.curtain import QtCurtain, X11Curtain
    from app.ui.panels.settings import SettingsWindow
    from app.ui.tray import Tray

_log = logging.getLogger(__name__)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Connect = Callable[["X11Curtain | QtCurtain"], Agent | Awaitable[Agent]]
"""Builds the agent, given the curtain that its screen and hands need. Called once, after the first paint."""


def run(
    connect: Connect,
    settings: Settings,
    *,
    on_ready: Callable[[Presence], None] | None = None,
    quit_when: Awaitable[object] | None = None,
) -> int:
    """Show the presence until the person quits; the answer is the process's exit code. Where one is shown already on
    this display, that one opens instead.

    `on_ready` is called once the agent is there; `quit_when`, once it is done, quits.
    """
    application = make_application()
    instance = Instance()
    if not instance.claim():
        return 0
    languages.install(application)
    presence = Presence(look_of(application, settings), languages.words)
    instance.summoned.connect(presence.open)
    for problem in settings.problems:
        presence.tell("warning", problem)
    presence.settings_wanted.connect(_SettingsOpener(presence, settings).open)
    presence.show()
    application.processEvents()  # painted before anything else is imported
    try:
        return eventloop.run_until(application, _live(presence, connect, on_ready, quit_when))
    finally:
        instance.release()
        presence.around.close()


def make_application() -> QApplication:
    """The process's QApplication, made ready for windows that float."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    if os.environ.get("WAYLAND_DISPLAY") and os.environ.get("DISPLAY"):
        # A Wayland client can neither place itself nor stay on top; through XWayland it can.
        os.environ.setdefault("QT_QPA_PLATFORM", "xcb")
    application = QApplication(sys.argv[:1])
    application.setApplicationName("wisp")
    application.setApplicationDisplayName("Wisp")
    application.setQuitOnLastWindowClosed(False)
    return application


def look_of(application: QApplication, settings: Settings) -> Look:
    """Theme and surroundings as the person and the system want them."""
    chosen = theme.load(
        scheme_of(application, settings[catalog.THEME]),
        scale=style.system_scale(),
        reduced=settings[catalog.REDUCED_MOTION],
        own=_own_theme(),
    )
    for problem in chosen.problems:
        _log.warning("%s", problem)
    application.setPalette(style.palette(chosen))
    application.setStyleSheet(style.sheet(chosen))
    return Look(
        chosen,
        surroundings(),
        Ticker(chosen.ms("frame"), application),
        settings[catalog.NAME],
        settings[catalog.POINTER_RING],
    )


def scheme_of(application: QApplication, choice: str) -> str:
    """`light` or `dark`: as chosen, or as the system has it."""
    if choice in theme.SCHEMES:
        return choice
    dark = application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return "dark" if dark else "light"


def _own_theme() -> Path | None:
    own = paths.config_dir() / "theme.toml"
    return own if own.is_file() else None


async def _live(
    presence: Presence,
    connect: Connect,
    on_ready: Callable[[Presence], None] | None,
    quit_when: Awaitable[object] | None,
) -> int:
    with _Interrupts(presence.quit):
        await asyncio.sleep(0)  # the orb is painted before anything heavy is imported
        from app.ui.curtain import curtain_for

        with contextlib.closing(curtain_for(presence.around)) as curtain:
            connected = connect(curtain)
            agent = await connected if isinstance(connected, Awaitable) else connected
            presence.attach(agent)
            tray = _tray(presence)
            if on_ready is not None:
                on_ready(presence)
            if quit_when is not None:
                asyncio.ensure_future(quit_when).add_done_callback(lambda _: presence.quit())
            await presence.quit_wanted.wait()
            presence.detach()
            if tray is not None:
                tray.hide()
            await agent.close()
        return 0


def _tray(presence: Presence) -> Tray | None:
    """The tray's icon, where there is a tray."""
    from app.ui import tray

    if not tray.has_tray():
        return None
    made = tray.Tray(presence.theme, presence.actions, presence.name)
    presence.inbox.view_changed.connect(made.show_view)
    return made


class _SettingsOpener:
    """Makes the settings' window when it is first asked for."""

    def __init__(self, presence: Presence, settings: Settings) -> None:
        self._presence = presence
        self._settings = settings
        self._window: SettingsWindow | None = None

    def open(self) -> None:
        from app.ui.panels.settings import SettingsWindow

        if self._window is None:
            self._window = SettingsWindow(self._presence.theme, self._settings)
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()


class _Interrupts:
    """Ctrl+C and a polite kill quit. Python only sees signals between its own instructions, and an idle Qt loop runs
    none: the signal's number is written to a socket that Qt watches."""

    def __init__(self, quit_: Callable[[], None]) -> None:
        self._quit = quit_
        self._reading, self._writing = socket.socketpair()
        self._before: dict[int, object] = {}

    def __enter__(self) -> None:
        self._writing.setblocking(False)
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read)
        self._notifier.activated.connect(self._arrived)
        self._old_fd = signal.set_wakeup_fd(self._writing.fileno())
        self._before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._old_fd)
        self._notifier.setEnabled(False)
        self._reading.close()
        self._writing.close()

    def _arrived(self) -> None:
        self._reading.recv(64)
        self._quit()
