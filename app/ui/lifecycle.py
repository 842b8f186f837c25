"""Run the presence from the first paint to the end. It gets an agent once that is built, and a new one on request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QFileSystemWatcher, QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.agent import agent_events
from app.base import paths
from app.base.errors import Remedy, WispError
from app.base.values import dataclass
from app.settings import catalog, store
from app.settings.providers import providers
from app.settings.store import Settings
from app.ui import eventloop, garbage, translation
from app.ui.approvals.devices import WITNESS, InputFilter
from app.ui.bridge import Agent
from app.ui.buttons import BarChoice
from app.ui.machine import ModelServer, Outside
from app.ui.orb.window import OrbWindow
from app.ui.presence import Presence
from app.ui.presenter import offers
from app.ui.presenter.view import View
from app.ui.system import autostart
from app.ui.system.instance import OPEN, TOGGLE, WELCOME, Instance, Interrupts
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
_SETTLED_MS = 50
"""A change of several settings writes the file as often."""
_TOLD_AGAIN_S = 120.0
"""A remote desktop sends many keys, and all of them deserve one sentence."""
_AT_THE_NEXT_START = {catalog.LANGUAGE.key}


class Dialogs(QObject):
    """Opens the windows for settings and for the choice of a provider. `agent_wanted`: a change needs a new agent."""

    agent_wanted = Signal()

    def __init__(self, presence: Presence, system: System, outside: Outside) -> None:
        super().__init__()
        self._presence = presence
        self._system = system
        self._reload = outside.reload
        self._machine = outside.machine
        self._settings: SettingsWindow | None = None
        self._welcome: WelcomeWindow | None = None
        self._first_words = ""
        self._servers: list[ModelServer] = []
        self._advice = ""
        self._provider = "offline"
        # Tools, other programs of Wisp and the person's editor change the settings' file as well.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_SETTLED_MS)
        self._soon.timeout.connect(self._follow)
        self._watcher = QFileSystemWatcher(self)
        self._watch()
        for changed in (self._watcher.directoryChanged, self._watcher.fileChanged):
            changed.connect(self._soon.start)
        # Later, because the key or press that chose a theme is still being handled by the field that is made again.
        system.restyled.connect(lambda: QTimer.singleShot(0, self, self._restyle))
        presence.settings_wanted.connect(self.settings)
        presence.mending_wanted.connect(self.mend)
        presence.stage.setting_chosen.connect(self._choose)
        presence.in_background(self._show_choices(self._reload()))

    def close(self) -> None:
        """Stop following the settings' file, so that no later change reaches a system that is closed."""
        self._watcher.removePaths([*self._watcher.directories(), *self._watcher.files()])
        self._soon.stop()
        self.deleteLater()

    def _watch(self) -> None:
        """Watch the folder, for a file that replaces the old one, and the file, for a program that writes into it."""
        file = paths.config_dir() / "settings.toml"
        watched = (*self._watcher.directories(), *self._watcher.files())
        for path in map(str, (file.parent, file)):
            if path not in watched and os.path.exists(path):
                self._watcher.addPath(path)

    def _follow(self) -> None:
        self._watch()
        settings = self._reload()
        self._system.follow(settings)
        self._presence.in_background(self._show_choices(settings))
        if self._settings is not None:
            self._settings.show_settings(settings)

    def _restyle(self) -> None:
        if self._settings is not None:
            self._settings.restyle(self._presence.theme, self._reload())

    def settings(self) -> None:
        """Open the settings' window, or bring it to the front."""
        from app.ui.preferences.window import SettingsWindow

        if self._settings is None:
            made = SettingsWindow(self._presence.theme, self._reload(), self._machine)
            made.changed.connect(self._changed)
            made.key_kept.connect(lambda _: self.agent_wanted.emit())
            made.welcome_wanted.connect(self.welcome)
            made.answerer_wanted.connect(self.ask_who)
            self._settings = made
        self._presence.stage.show_beside(self._settings)

    def mend(self, remedy: Remedy) -> None:
        """Do what the person chose about a failure, or about what Wisp told them. Most of it opens a window."""
        if remedy is Remedy.LOG:
            from app.ui.preferences.sections import opened

            self._presence.close()  # because the folder's window may open below the bubble
            opened(paths.state_dir())
            return
        if remedy is Remedy.PROVIDER:
            self.ask_who()
            return
        if remedy is Remedy.PRESSES:
            self._presence.in_background(self._allow_presses())
            return
        self.settings()
        if remedy is Remedy.KEY and self._settings is not None:
            self._settings.show_editor(f"key.{self._reload()[catalog.PROVIDER] or 'anthropic'}")

    async def _allow_presses(self) -> None:
        """Let presses of programs count from now on, because the person wants it."""
        try:
            store.save(catalog.ASSISTIVE_PRESSES, value=True)
        except OSError as error:
            self._presence.tell("error", str(error))
            return
        WITNESS.prepare()
        self._presence.inbox.change(offers.withdrawn)
        words = "Saved. From now on, keys and presses of remote desktops, on-screen keyboards and other programs count."
        self._presence.tell("info", QCoreApplication.translate("Presence", words))

    def welcome(self) -> None:
        """Let Wisp introduce itself and offer a first task, and after that task the choice of a provider. Note that the
        welcome was shown, so that it does not come again by itself."""
        found, wish = autostart.welcome()
        self._propose(found.sentence, {wish.label: wish.text})
        self._presence.unfold()
        self._presence.in_background(self._look_around())
        self._presence.inbox.events_shown.connect(self._watch_first)
        try:
            autostart.note_done()
        except OSError as error:
            _log.warning("The welcome will come again: %s", error)

    async def _look_around(self) -> None:
        """Find out what is to be told after the first task."""
        self._advice = await self._machine.advice()
        self._servers = [server for server in await self._machine.servers() if server.models]

    def _propose(self, sentence: str, buttons: Mapping[str, str], remedy: Remedy = Remedy.AGAIN) -> None:
        """Say a sentence, with buttons: each label with the wish that it sends."""
        tr = QCoreApplication.translate
        said = tr("Welcome", sentence).replace("{name}", self._reload()[catalog.NAME])
        shown = {tr("Welcome", label): wish and tr("Welcome", wish) for label, wish in buttons.items()}
        self._presence.inbox.change(lambda view: offers.proposed(view, said, shown, remedy))

    def _watch_first(self, events: list[agent_events.AgentEvent]) -> None:
        """After the first turn that does not fail, offer to undo it if it was the suggested task, and to choose a
        provider. `events` are those that the inbox has just shown.
        """
        for event in events:
            if isinstance(event, agent_events.TurnStarted):
                self._first_words = event.text
        ends = [event.outcome for event in events if isinstance(event, agent_events.TurnEnded)]
        if not ends or ends[-1] is agent_events.Outcome.FAILED:
            return
        self._presence.inbox.events_shown.disconnect(self._watch_first)
        # Later, because the view must not change while it is shown.
        QTimer.singleShot(0, self, self._after_first)

    def _after_first(self) -> None:
        found, wish = autostart.welcome()
        is_suggested = self._first_words == QCoreApplication.translate("Welcome", wish.text)
        undo = {wish.undo_label: wish.undo} if is_suggested and wish.undo else {}
        self._propose(found.again, undo | {text: text for text in autostart.proposals(self._first_words)})
        if self._advice:
            self._presence.tell("info", self._advice)
        self._propose(self._who_could_answer(found), {found.who_label: ""}, Remedy.PROVIDER)

    def _tell_who_answers(self) -> None:
        """After the choice, say who answers now."""
        self._presence.inbox.change(offers.chosen)
        settings = self._reload()
        name = settings[catalog.MODEL] or providers()[settings[catalog.PROVIDER]].label
        if settings[catalog.PROVIDER] != "offline":
            answering = QCoreApplication.translate("Welcome", autostart.welcome()[0].answering)
            self._propose(answering.format(program=name), {})

    def _who_could_answer(self, welcome: autostart.Welcome) -> str:
        tr = QCoreApplication.translate
        if self._provider != "offline":
            return tr("Welcome", welcome.answering).format(program=providers()[self._provider].label)
        if not self._servers:
            return welcome.who
        server = self._servers[0]
        return tr("Welcome", welcome.found).format(model=server.models[0], program=server.name)

    def ask_who(self) -> None:
        """Open the window to choose a provider, or bring it to the front."""
        from app.ui.welcome import WelcomeWindow

        if self._welcome is None:
            made = WelcomeWindow(self._presence.theme, self._machine)
            made.chosen.connect(self.agent_wanted)
            made.chosen.connect(self._tell_who_answers)
            made.left.connect(self._welcomed)
            self._welcome = made
        self._presence.stage.show_beside(self._welcome)
        self._welcome.begin()

    def _choose(self, key: str, value: str) -> None:
        self._presence.in_background(self._chosen(key, value))

    async def _chosen(self, key: str, value: str) -> None:
        """Save a value that the person chose in the bar. A provider whose key is missing opens the settings instead."""
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
        """Show two settings in the bar: the provider, and which calls run without an approval."""
        tr = QCoreApplication.translate
        key = "" if settings[catalog.PROVIDER] else await asyncio.to_thread(store.key_of, "anthropic")
        self._provider = provider = settings[catalog.PROVIDER] or ("anthropic" if key else "offline")
        rows = [row for row in providers().values() if row.id == provider or row.id != "scripted"]
        labels = {row.id: tr("Settings", row.label) for row in rows}
        if settings[catalog.MODEL] and provider != "offline":
            labels[provider] = settings[catalog.MODEL]
        modes = {
            "ask": tr("Bubble", "Asks first"),
            "auto": tr("Bubble", "Asks if in doubt"),
            "plan": tr("Bubble", "Only looks"),
            "yolo": tr("Bubble", "Hardly asks for {count} min").format(count=round(settings[catalog.YOLO_MINUTES])),
        }
        who = BarChoice(catalog.PROVIDER.key, tr("Bubble", "Who answers"), provider, tuple(labels.items()))
        about = tr("Bubble", "When Wisp asks you")
        mode = BarChoice(catalog.MODE.key, about, settings[catalog.MODE], tuple(modes.items()))
        self._presence.stage.show_choices((who, mode))

    def _welcomed(self) -> None:
        if self._welcome is not None:
            self._welcome.deleteLater()
            self._welcome = None

    def _changed(self, key: str) -> None:
        """Apply a setting that was just saved. If it needs a restart, only say so."""
        settings = self._reload()
        self._presence.in_background(self._show_choices(settings))
        tr = QCoreApplication.translate
        if key in _AT_THE_NEXT_START:
            self._say(tr("Settings", "Saved. It takes effect when you start Wisp again."))
            return
        if key == catalog.AUTOSTART.key:
            self._say(autostart.switched(on=settings[catalog.AUTOSTART]) or tr("Settings", "Saved."))
        elif key.startswith(f"{_OURS}."):
            self._system.apply(settings)
            self._presence.in_background(self._say_what_is_unshown(key))
        if key in _NEED_AN_AGENT or not key.startswith(f"{_OURS}."):
            self._say(tr("Settings", "Saved. It takes effect with your next message."))
            self.agent_wanted.emit()

    async def _say_what_is_unshown(self, key: str) -> None:
        if why := await self._machine.unshown(key):
            self._say(why)

    def _say(self, words: str) -> None:
        if self._settings is not None:
            self._settings.say(words)


Connect = Callable[["X11Curtain | QtCurtain"], Agent | Awaitable[Agent]]
"""Builds the agent, given the curtain that its capture and input need; called again when the settings want another."""


@dataclass(frozen=True, slots=True)
class PaintedParts:
    """What was created for the first paint and is used for the rest of the run."""

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
    """Run the presence until the person quits or `quit_when` is done. Returns the exit code."""
    outside = parts.outside
    presence = Presence(
        parts.look,
        translation.words,
        parts.orb,
        collections=outside.collections,
        presences=outside.presences,
        kinds=outside.kinds,
        pages=outside.pages,
    )
    for problem in parts.settings.problems:
        presence.tell("warning", problem)
    presence.show()
    life = _Life(parts, presence, connect)
    made_up = InputFilter(WITNESS)
    made_up.ignored.connect(life.tell_ignored)
    WITNESS.prepare()
    parts.application.installNativeEventFilter(made_up)
    try:
        with Interrupts(parts.application, presence.quit) as interrupts:
            return interrupts.exit_code(eventloop.run_until(parts.application, life.live(on_ready, quit_when)))
    finally:
        parts.application.removeNativeEventFilter(made_up)


class _Life:
    """Runs the presence with one agent after the other until the person quits."""

    def __init__(self, parts: PaintedParts, presence: Presence, connect: Connect) -> None:
        self._parts = parts
        self._presence = presence
        self._connect = connect
        self._renew = asyncio.Event()
        self._conversation = ""
        self._ignored_at = -_TOLD_AGAIN_S

    def tell_ignored(self) -> None:
        """Say that presses of a program do not count here, how the person can allow them, and after a while again."""
        now = time.monotonic()
        if now - self._ignored_at < _TOLD_AGAIN_S:
            return
        self._ignored_at = now
        sentence = QCoreApplication.translate(
            "Presence",
            "Wisp ignored a key or a press that came from a program, such as a remote desktop or an on-screen "
            "keyboard. While a task runs, and for answers and settings, only the mouse and keyboard of this computer "
            "count. To allow such programs, press the button with that mouse or keyboard, or write "
            "assistive_presses = true below [trust] in {file}.",
        ).format(file=paths.config_dir() / "settings.toml")
        self._presence.tell("warning", sentence, beside=True, remedy=Remedy.PRESSES)

    async def live(self, on_ready: Callable[[Presence], None] | None, quit_when: Awaitable[object] | None) -> int:
        presence, parts = self._presence, self._parts
        system = System(parts.application, presence, parts.look, parts.settings, parts.outside.hear_key)
        dialogs = Dialogs(presence, system, parts.outside)
        dialogs.agent_wanted.connect(self._renew.set)
        system.hotkey.ignored.connect(self.tell_ignored)
        answers = {WELCOME: dialogs.welcome, TOGGLE: system.summon, OPEN: presence.open}
        parts.instance.summoned.connect(lambda word: answers[word]())
        if quit_when is not None:
            asyncio.ensure_future(quit_when).add_done_callback(lambda _: presence.quit())
        if parts.outside.welcome:
            dialogs.welcome()
        with (
            contextlib.closing(system),
            contextlib.closing(dialogs),
            contextlib.closing(curtain_for(presence.around)) as curtain,
        ):
            while not presence.quit_wanted.is_set():
                async with self._connected(curtain):
                    if on_ready is not None:
                        garbage.spare_what_is_loaded()
                        on_ready(presence)
                        on_ready = None
                    await self._until_over()
        return 0

    @contextlib.asynccontextmanager
    async def _connected(self, curtain: X11Curtain | QtCurtain) -> AsyncIterator[None]:
        """Build an agent and attach it to the presence; close it at the end. If it cannot be built, show why and go
        on without."""
        self._renew.clear()
        agent: Agent | None = None
        try:
            connected = self._connect(curtain)
            agent = await connected if isinstance(connected, Awaitable) else connected
            await self._go_on(agent)
            self._presence.attach(agent)
        except WispError as error:
            self._presence.tell("error", error.for_people())
        try:
            yield
        finally:
            if agent is not None:
                self._presence.detach()
                self._conversation = agent.conversation
                await agent.close()

    async def _go_on(self, agent: Agent) -> None:
        """Let a new agent continue the conversation that the person had with the agent before."""
        if not self._conversation:
            return
        try:
            await agent.reopen(self._conversation)
        except WispError as error:
            self._presence.tell("warning", error.for_people())

    async def _until_over(self) -> None:
        """Wait until the person quits, or until a new agent is wanted, no turn runs and no question waits."""
        await _first(self._presence.quit_wanted, self._renew)
        idle, inbox = asyncio.Event(), self._presence.inbox

        def look(view: View) -> None:
            if not view.running and view.open_approval is None:
                idle.set()

        look(inbox.view)
        inbox.view_changed.connect(look)
        await _first(self._presence.quit_wanted, idle)
        inbox.view_changed.disconnect(look)


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
