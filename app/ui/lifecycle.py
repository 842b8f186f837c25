"""The presence from the first paint to the last: the agent comes when it is built, and again when another is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QApplication

from app.base.errors import WispError
from app.base.values import dataclass
from app.settings import catalog
from app.settings.store import Settings
from app.ui import application, eventloop
from app.ui.approvals.devices import WITNESS, InputFilter
from app.ui.bridge import Agent
from app.ui.machine import Outside
from app.ui.orb.window import OrbWindow
from app.ui.presence import Presence
from app.ui.presenter.view import View
from app.ui.system import autostart
from app.ui.system.instance import WELCOME, Instance, Interrupts
from app.ui.system.system import System
from app.ui.theme.appearance import Look
from app.ui.windows.curtain import QtCurtain, X11Curtain, curtain_for

if TYPE_CHECKING:
    from app.ui.preferences.window import SettingsWindow
    from app.ui.welcome import WelcomeWindow

_log = logging.getLogger(__name__)
_OURS = "presence"
"""The group whose settings need no other agent."""
_NEED_AN_AGENT = {catalog.NAME.key, catalog.PERSONALITY.key}
_AT_THE_NEXT_START = {catalog.LANGUAGE.key}


class Dialogs(QObject):
    """`agent_wanted`: what was chosen needs another agent than the one that is there."""

    agent_wanted = Signal()

    def __init__(self, presence: Presence, system: System, outside: Outside) -> None:
        super().__init__()
        self._presence = presence
        self._system = system
        self._reload = outside.reload
        self._machine = outside.machine
        self._settings: SettingsWindow | None = None
        self._welcome: WelcomeWindow | None = None
        presence.settings_wanted.connect(self.settings)

    def settings(self) -> None:
        """The settings' window, in front."""
        from app.ui.preferences.window import SettingsWindow

        if self._settings is None:
            made = SettingsWindow(self._presence.theme, self._reload(), self._machine)
            made.changed.connect(self._changed)
            made.key_kept.connect(lambda _: self.agent_wanted.emit())
            made.welcome_wanted.connect(self.welcome)
            self._settings = made
        self._settings.show()
        self._settings.raise_()
        self._settings.activateWindow()

    def welcome(self) -> None:
        """The welcome, in front. Shown once, it does not come again by itself."""
        from app.ui.welcome import WelcomeWindow

        if self._welcome is None:
            made = WelcomeWindow(self._presence.theme, self._machine, self._reload()[catalog.SUMMON_KEY])
            made.wished.connect(self._presence.send)
            made.chosen.connect(self.agent_wanted)
            made.left.connect(self._welcomed)
            self._presence.inbox.view_changed.connect(made.show_view)
            self._welcome = made
        self._welcome.begin()
        try:
            autostart.note_done()
        except OSError as error:
            _log.warning("The welcome will come again: %s", error)

    def _welcomed(self) -> None:
        if self._welcome is not None:
            self._presence.inbox.view_changed.disconnect(self._welcome.show_view)
            self._welcome.deleteLater()
            self._welcome = None

    def _changed(self, key: str) -> None:
        """Apply a setting that was just written, unless it needs a restart."""
        settings = self._reload()
        tr = QCoreApplication.translate
        if key in _AT_THE_NEXT_START:
            self._say(tr("Settings", "Kept. It counts from the next start."))
            return
        if key == catalog.AUTOSTART.key:
            self._say(autostart.switched(on=settings[catalog.AUTOSTART]) or tr("Settings", "Kept."))
        elif key.startswith(f"{_OURS}."):
            self._system.apply(settings)
        if key in _NEED_AN_AGENT or not key.startswith(f"{_OURS}."):
            self._say(tr("Settings", "Kept. It counts from the next wish."))
            self.agent_wanted.emit()

    def _say(self, words: str) -> None:
        if self._settings is not None:
            self._settings.say(words)


Connect = Callable[["X11Curtain | QtCurtain"], Agent | Awaitable[Agent]]
"""Builds the agent, given the curtain that its capture and input need; called again when the settings want another."""


@dataclass(frozen=True, slots=True)
class PaintedParts:
    """What was needed for the first paint, and goes on."""

    application: QApplication
    instance: Instance
    look: Look
    orb: OrbWindow
    settings: Settings
    outside: Outside


def run(
    parts: PaintedParts,
    connect: Connect,
    on_ready: Callable[[Presence], None] | None,
    quit_when: Awaitable[object] | None,
) -> int:
    """Live until the person quits; the answer is the process's exit code."""
    presence = Presence(parts.look, application.words, parts.orb)
    for problem in parts.settings.problems:
        presence.tell("warning", problem)
    presence.show()
    life = _Life(parts, presence, connect)
    made_up = InputFilter(WITNESS)
    made_up.ignored.connect(lambda: presence.tell("warning", _made_up_is_ignored()))
    WITNESS.prepare()
    parts.application.installNativeEventFilter(made_up)
    try:
        with Interrupts(parts.application, presence.quit) as interrupts:
            return interrupts.exit_code(eventloop.run_until(parts.application, life.live(on_ready, quit_when)))
    finally:
        parts.application.removeNativeEventFilter(made_up)


def _made_up_is_ignored() -> str:
    return QCoreApplication.translate(
        "Presence",
        "Another program sent keys or presses to Wisp. They were ignored. If they come from an on-screen keyboard or a "
        "remote desktop of yours, write assistive_presses = true below [trust] in Wisp's settings.toml.",
    )


class _Life:
    """One agent after the other, until the person quits."""

    def __init__(self, parts: PaintedParts, presence: Presence, connect: Connect) -> None:
        self._parts = parts
        self._presence = presence
        self._connect = connect
        self._renew = asyncio.Event()
        self._conversation = ""

    async def live(self, on_ready: Callable[[Presence], None] | None, quit_when: Awaitable[object] | None) -> int:
        presence, parts = self._presence, self._parts
        system = System(parts.application, presence, parts.look, parts.settings)
        dialogs = Dialogs(presence, system, parts.outside)
        dialogs.agent_wanted.connect(self._renew.set)
        parts.instance.summoned.connect(lambda word: dialogs.welcome() if word == WELCOME else presence.open())
        if quit_when is not None:
            asyncio.ensure_future(quit_when).add_done_callback(lambda _: presence.quit())
        if parts.outside.welcome:
            dialogs.welcome()
        with contextlib.closing(system), contextlib.closing(curtain_for(presence.around)) as curtain:
            while not presence.quit_wanted.is_set():
                async with self._connected(curtain):
                    if on_ready is not None:
                        on_ready(presence)
                        on_ready = None
                    await self._until_over()
        return 0

    @contextlib.asynccontextmanager
    async def _connected(self, curtain: X11Curtain | QtCurtain) -> AsyncIterator[None]:
        """Connect an agent and attach it. If that fails, show why; the person may choose another in the settings."""
        self._renew.clear()
        agent: Agent | None = None
        try:
            connected = self._connect(curtain)
            agent = await connected if isinstance(connected, Awaitable) else connected
            await self._go_on(agent)
            self._presence.attach(agent)
        except WispError as error:
            self._presence.tell("error", str(error))
        try:
            yield
        finally:
            if agent is not None:
                self._presence.detach()
                self._conversation = agent.conversation
                await agent.close()

    async def _go_on(self, agent: Agent) -> None:
        """Another agent knows what was said to the one before."""
        if not self._conversation:
            return
        try:
            await agent.reopen(self._conversation)
        except WispError as error:
            self._presence.tell("warning", str(error))

    async def _until_over(self) -> None:
        """Until the person quits, or another agent is wanted and none is at work."""
        await _first(self._presence.quit_wanted, self._renew)
        idle, inbox = asyncio.Event(), self._presence.inbox

        def look(view: View) -> None:
            if not view.running:
                idle.set()

        look(inbox.view)
        inbox.view_changed.connect(look)
        await _first(self._presence.quit_wanted, idle)
        inbox.view_changed.disconnect(look)


async def _first(*events: asyncio.Event) -> None:
    """Until one of them is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
