"""The presence from the first paint to the last: the agent comes when it is built, and again when another is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.agent import agent_events
from app.base import paths
from app.base.errors import Remedy, WispError
from app.base.values import dataclass
from app.settings import catalog, store
from app.settings.providers import providers
from app.settings.store import Settings
from app.ui import application, eventloop
from app.ui.approvals.devices import WITNESS, InputFilter
from app.ui.bridge import Agent
from app.ui.buttons import BarChoice
from app.ui.machine import Outside
from app.ui.orb.window import OrbWindow
from app.ui.presence import Presence
from app.ui.presenter import offers
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
_IN_THE_BAR = (catalog.PROVIDER, catalog.MODE)
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
        presence.mending_wanted.connect(self.mend)
        presence.stage.setting_chosen.connect(self._choose)
        presence.in_background(self._show_choices(self._reload()))

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

    def mend(self, remedy: Remedy) -> None:
        """What the person chose for a failure: the log's folder, or the settings, at the key where one is missing."""
        if remedy is Remedy.LOG:
            from app.ui.preferences.window import opened

            opened(paths.state_dir())
            return
        self.settings()
        if remedy is Remedy.KEY and self._settings is not None:
            self._settings.show_key(self._reload()[catalog.PROVIDER] or "anthropic")

    def welcome(self) -> None:
        """Wisp introduces itself, offers one thing to do, then asks who answers. Shown once, it does not come
        again by itself."""
        found, wish = autostart.welcome()
        self._propose(found.sentence, wish.text, wish.label)
        self._presence.inbox.events_shown.connect(self._watch_first)
        try:
            autostart.note_done()
        except OSError as error:
            _log.warning("The welcome will come again: %s", error)

    def _propose(self, sentence: str, wish: str, label: str) -> None:
        tr = QCoreApplication.translate
        said, does, name = tr("Welcome", sentence), wish and tr("Welcome", wish), label and tr("Welcome", label)
        self._presence.inbox.change(lambda view: offers.proposed(view, said, does, name))
        self._presence.unfold()

    def _watch_first(self, events: list[agent_events.AgentEvent]) -> None:
        """Once the first thing is done, offer to take it back, and ask who answers."""
        ends = [event.outcome for event in events if isinstance(event, agent_events.TurnEnded)]
        if not ends or ends[-1] is agent_events.Outcome.FAILED:
            return
        self._presence.inbox.events_shown.disconnect(self._watch_first)
        # Later, because the view must not change while it is shown.
        QTimer.singleShot(0, self, self._after_first)

    def _after_first(self) -> None:
        found, wish = autostart.welcome()
        self._propose(found.again, wish.undo, wish.undo_label)
        self.ask_who()

    def ask_who(self) -> None:
        """The window that asks who answers, in front."""
        from app.ui.welcome import WelcomeWindow

        if self._welcome is None:
            made = WelcomeWindow(self._presence.theme, self._machine)
            made.chosen.connect(self.agent_wanted)
            made.left.connect(self._welcomed)
            self._welcome = made
        self._welcome.begin()

    def _choose(self, key: str, value: str) -> None:
        self._presence.in_background(self._chosen(key, value))

    async def _chosen(self, key: str, value: str) -> None:
        """Something was switched in the bar. Who needs a key gets the settings first."""
        row = providers().get(value) if key == catalog.PROVIDER.key else None
        # On a thread, because the system's keyring may be slow.
        if row is not None and row.key and not await asyncio.to_thread(store.key_of, row.id):
            self.settings()
            return
        try:
            store.save(next(setting for setting in _IN_THE_BAR if setting.key == key), value)
        except OSError as error:
            self._presence.tell("error", str(error))
            return
        self._changed(key)

    async def _show_choices(self, settings: Settings) -> None:
        """Who answers and what runs without asking, in the bar."""
        tr = QCoreApplication.translate
        key = "" if settings[catalog.PROVIDER] else await asyncio.to_thread(store.key_of, "anthropic")
        provider = settings[catalog.PROVIDER] or ("anthropic" if key else "offline")
        rows = [row for row in providers().values() if row.id == provider or row.id != "scripted"]
        modes = {
            "ask": tr("Bubble", "Asks first"),
            "auto": tr("Bubble", "Asks if in doubt"),
            "plan": tr("Bubble", "Only looks"),
            "yolo": tr("Bubble", "Never asks"),
        }
        names = tuple((row.id, row.label) for row in rows)
        who = BarChoice(catalog.PROVIDER.key, tr("Bubble", "Who answers"), provider, names)
        about = tr("Bubble", "What runs without asking")
        mode = BarChoice(catalog.MODE.key, about, settings[catalog.MODE], tuple(modes.items()))
        self._presence.stage.show_choices((who, mode))

    def _welcomed(self) -> None:
        if self._welcome is not None:
            self._welcome.deleteLater()
            self._welcome = None

    def _changed(self, key: str) -> None:
        """Apply a setting that was just written, unless it needs a restart."""
        settings = self._reload()
        self._presence.in_background(self._show_choices(settings))
        tr = QCoreApplication.translate
        if key in _AT_THE_NEXT_START:
            self._say(tr("Settings", "Saved. It counts from the next start."))
            return
        if key == catalog.AUTOSTART.key:
            self._say(autostart.switched(on=settings[catalog.AUTOSTART]) or tr("Settings", "Saved."))
        elif key.startswith(f"{_OURS}."):
            self._system.apply(settings)
        if key in _NEED_AN_AGENT or not key.startswith(f"{_OURS}."):
            self._say(tr("Settings", "Saved. It counts from the next wish."))
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
    presence = Presence(parts.look, application.words, parts.orb, parts.outside.collections)
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
