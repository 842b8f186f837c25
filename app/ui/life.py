"""The presence from the first paint to the last: the agent comes when it is built, the rest stands ready around it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from app.settings.store import Settings
from app.ui import eventloop, languages
from app.ui.bridge import Agent
from app.ui.curtain import QtCurtain, X11Curtain, curtain_for
from app.ui.instance import Instance
from app.ui.interrupts import Interrupts
from app.ui.look import Look
from app.ui.orb.window import OrbWindow
from app.ui.presence import Presence
from app.ui.system import System

if TYPE_CHECKING:
    from app.ui.panels.settings import SettingsWindow

Connect = Callable[["X11Curtain | QtCurtain"], Agent | Awaitable[Agent]]
"""Builds the agent, given the curtain that its screen and hands need."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What was needed for the first paint, and goes on."""

    application: QApplication
    instance: Instance
    look: Look
    orb: OrbWindow
    settings: Settings


def run(
    parts: Parts,
    connect: Connect,
    on_ready: Callable[[Presence], None] | None,
    quit_when: Awaitable[object] | None,
) -> int:
    """Live until the person quits; the answer is the process's exit code."""
    presence = Presence(parts.look, languages.words, parts.orb)
    parts.instance.summoned.connect(presence.open)
    for problem in parts.settings.problems:
        presence.tell("warning", problem)
    presence.settings_wanted.connect(_SettingsOpener(presence, parts.settings).open)
    presence.show()
    with Interrupts(parts.application, presence.quit):
        return eventloop.run_until(parts.application, _live(parts, presence, connect, on_ready, quit_when))


async def _live(
    parts: Parts,
    presence: Presence,
    connect: Connect,
    on_ready: Callable[[Presence], None] | None,
    quit_when: Awaitable[object] | None,
) -> int:
    around, system = presence.around, System(presence, parts.look, parts.settings)
    with contextlib.closing(system), contextlib.closing(curtain_for(around)) as curtain:
        connected = connect(curtain)
        agent = await connected if isinstance(connected, Awaitable) else connected
        presence.attach(agent)
        if on_ready is not None:
            on_ready(presence)
        if quit_when is not None:
            asyncio.ensure_future(quit_when).add_done_callback(lambda _: presence.quit())
        await presence.quit_wanted.wait()
        presence.detach()
        await agent.close()
    return 0


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
