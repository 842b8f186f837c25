"""The presence: pass the person's actions to the agent, and show the agent's events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QGuiApplication

from app.agent import agent_events as agent
from app.agent.agent_events import Media
from app.base.errors import Remedy
from app.ui.bridge import Agent, BackgroundTasks, Inbox, Tell
from app.ui.composer.attachments import Attached, in_words, pictures
from app.ui.machine import Collection
from app.ui.orb.state import Orb
from app.ui.orb.window import OrbWindow
from app.ui.presenter import offers, presenter
from app.ui.presenter.cards import place_of, pressed_name
from app.ui.presenter.view import (
    Card,
    Choose,
    Decide,
    Intent,
    KeepTurn,
    Mend,
    OpenPicture,
    SaveGuide,
    TakeBackTurn,
    View,
)
from app.ui.presenter.wording import Words, unmarked
from app.ui.system.tray import Actions, menu_for
from app.ui.theme import roles
from app.ui.theme.appearance import Look
from app.ui.theme.theme import Theme
from app.ui.windows.floating import WindowDeps
from app.ui.windows.orb_placement import Monitors, logical
from app.ui.windows.stage import Stage


class Turns:
    """What is sent before there is an agent waits for it. A wish that comes while a turn runs goes to that turn."""

    def __init__(self, tell: Tell, background: BackgroundTasks) -> None:
        self._tell = tell
        self._background = background
        self._waiting: asyncio.Queue[tuple[str, tuple[Media, ...], str]] = asyncio.Queue()

    def send(self, text: str, media: tuple[Media, ...], own: str) -> None:
        self._waiting.put_nowait((text, media, own))

    def take_back(self, agent: Agent, turn_id: str) -> None:
        """Undo what a turn changed in files, and show what the agent says about it; needs a running event loop."""
        self._background.begin(self._taken_back(agent, turn_id))

    async def run(self, agent: Agent, before: Callable[[], Awaitable[None]]) -> None:
        """Pass on what waits, for ever; `before` is awaited first."""
        while True:
            text, media, own = await self._waiting.get()
            await before()
            self._background.begin(_turn(agent, text, media, own))

    async def _taken_back(self, agent: Agent, turn_id: str) -> None:
        for sentence in await agent.take_back(turn_id):
            self._tell("info", sentence)


async def _turn(agent: Agent, text: str, media: tuple[Media, ...], own: str) -> None:
    await agent.send(text, media, own)


if TYPE_CHECKING:
    from app.ui.bubble.window import BubbleWindow
    from app.ui.composer.window import ComposerView
    from app.ui.pages.panels import Panels
    from app.ui.windows.curtain import XConnection

_FOCUS_LOOKS = 30
_MOST_RECENT = 50
_FOCUS_LOOK_S = 0.01
# The key that sent a wish is still down then, and its release counts as input.
_RELEASED_S = 1.0


class Presence(QObject):
    """Shows the orb at once; everything else exists when it is first needed."""

    settings_wanted = Signal()
    mending_wanted = Signal(object)
    """The remedy that the person chose for a failure."""

    def __init__(
        self,
        look: Look,
        words: Words = presenter.same,
        orb: OrbWindow | None = None,
        collections: Mapping[str, Collection] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        roles.install()
        self._look = look
        self._collections = collections
        self.inbox = Inbox(presenter.Presenter(words), look.theme.ms("frame"))
        self.inbox.view_changed.connect(self._show_view)
        self.inbox.events_shown.connect(self._note_moments)
        self.actions = Actions(self.toggle, self.stop, self.settings_wanted.emit, self.quit)
        self._background = BackgroundTasks(self.tell, self._tell_bug)
        self.turns = Turns(self.tell, self._background)
        self._panels: Panels | None = None
        self._asked = ""
        self._sent_at = 0.0
        self._agent: Agent | None = None
        self._unsubscribe = _nothing
        self._turn_task: asyncio.Task[None] | None = None
        self.stage = self._staged(orb)
        look.around.shows_marks = look.rings
        look.around.came_back.pointed.connect(self.stage.point_out)
        self.orb.clicked.connect(self.toggle)
        self.orb.menu_wanted.connect(self._menu)
        self._sleep = QTimer(self)
        self._sleep.setSingleShot(True)
        self._sleep.setInterval(look.theme.ms("sleep_after"))
        self._sleep.timeout.connect(lambda: self.inbox.change(presenter.asleep))
        self.quit_wanted = asyncio.Event()

    def _staged(self, orb: OrbWindow | None) -> Stage:
        """The windows, and what the person does in them."""
        stage = Stage(self._look, orb)
        stage.said.connect(self.send)
        stage.left.connect(self.close)
        stage.unfolded.connect(self.unfold)
        stage.open_wanted.connect(self.open)
        stage.stop_wanted.connect(self.stop)
        stage.settings_wanted.connect(self.settings_wanted)
        stage.intended.connect(self._carry_out)
        stage.page_wanted.connect(self.open_page)
        stage.composer_made.connect(self._take_in)
        stage.rows_changed.connect(lambda: self._show_rows(self.inbox.view))
        return stage

    @property
    def around(self) -> WindowDeps:
        return self._look.around

    @property
    def theme(self) -> Theme:
        return self._look.theme

    @property
    def name(self) -> str:
        return self._look.name

    @property
    def orb(self) -> OrbWindow:
        return self.stage.orb

    @property
    def bubble(self) -> BubbleWindow:
        return self.stage.bubble

    @property
    def composer(self) -> ComposerView:
        return self.stage.composer

    @property
    def panels(self) -> Panels:
        if self._panels is None:
            from app.ui.pages.panels import Panels

            self._panels = Panels(self._look, self.stage, self.inbox, self._background, self._collections)
            self._panels.agent = self._agent
        return self._panels

    @property
    def is_open(self) -> bool:
        return self.stage.is_open

    # -- what the person does

    def show(self) -> None:
        """The orb, where it was last put on these monitors; the first paint of the application."""
        self._look.around.look()
        self.stage.placement.take()
        self.orb.show()
        self.orb.breathe()
        self._sleep.start()
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        self._monitors = Monitors(app)
        self._monitors.changed.connect(self.stage.screens_changed)

    def restyle(self, look: Look) -> None:
        """Apply another look: rebuild the windows, and keep the text that the person was writing."""
        was_open, was_writing = self.is_open, self.is_open and self.bubble.isActiveWindow()
        words = self.composer.field.toPlainText() if was_open else ""
        self._look = look
        look.around.shows_marks = look.rings
        if self._panels is not None:
            self._panels.deleteLater()
            self._panels = None
        self.stage.restyle(look)
        if was_open:
            self.stage.show_bubble(self.inbox.view, writes=was_writing)
            self.composer.field.setPlainText(words)

    def toggle(self) -> None:
        """Open what is closed, close what is open."""
        if self.is_open:
            self.close()
        else:
            self.open()

    def open(self) -> None:
        """The person wants to write: the composer with the keyboard in it, and the thread where there is one."""
        self._look.around.look()
        self.inbox.change(presenter.awake)
        self.inbox.change(presenter.attended)
        self.stage.show_bubble(self.inbox.view, writes=True)

    def close(self) -> None:
        """Only the orb is left; the work goes on, and a line beside the orb says how."""
        self.inbox.change(presenter.unattended)  # first, because what has just arrived would open the bubble again
        self.stage.hide()
        self.stage.show_progress(self.inbox.view)

    def unfold(self) -> None:
        """The thread again, without taking the keyboard."""
        self.inbox.change(presenter.attended)
        self._show_bubble()

    def send(self, text: str, attached: Sequence[Attached] = (), own: str = "") -> None:
        """One wish; `own` is what the person typed of it. The composer gives the keyboard back first, and stays."""
        self.stage.return_keyboard()
        self._sent_at = time.monotonic()
        words = in_words(text, attached)
        self.inbox.change(lambda view: presenter.sent(view, words))
        self.turns.send(words, pictures(attached), own)
        self.stage.show_thread()
        self.inbox.change(presenter.attended)
        self._show_bubble()
        self.stage.follow()

    def open_page(self, name: str) -> None:
        """One of the bubble's pages: `history`, `news`, `usage` or a collection; a second time goes back."""
        self.inbox.change(presenter.awake)
        self.inbox.change(presenter.attended)
        self.panels.toggle(name)

    def stop(self) -> None:
        if self._agent is not None:
            self._agent.stop()

    def tell(self, level: str, sentence: str) -> None:
        """A sentence of the presence itself."""
        how = self.inbox.presenter
        self.inbox.change(lambda view: how.noticed(view, level, sentence, time.monotonic()))

    def _tell_bug(self) -> None:
        sorry = QCoreApplication.translate("Presence", "Something went wrong inside Wisp. The log says what.")
        how = self.inbox.presenter
        self.inbox.change(lambda view: how.noticed(view, "error", sorry, time.monotonic(), Remedy.LOG))

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it beside everything else; needs a running event loop."""
        self._background.begin(work)

    def quit(self) -> None:
        self.quit_wanted.set()

    # -- the agent

    def attach(self, session: Agent) -> None:
        """From now on wishes go to this agent; needs a running event loop."""
        self._agent = session
        if self._panels is not None:
            self._panels.agent = session
        self._unsubscribe = session.subscribe(self.inbox.receive)
        self._background.begin(self._look_up_recent(session), lambda _level, _sentence: None)
        self._turn_task = asyncio.get_running_loop().create_task(self.turns.run(session, self._focus_left))

    def detach(self) -> None:
        """Nothing of the agent reaches the presence any more."""
        self._unsubscribe()
        self._unsubscribe = _nothing
        if self._turn_task is not None:
            self._turn_task.cancel()
            self._turn_task = None
        self._background.abandon()

    async def _look_up_recent(self, session: Agent) -> None:
        """The last tasks, for the empty field."""
        found = await session.archive.conversations(limit=_MOST_RECENT)
        self.stage.recent = tuple(one.title for one in found)

    async def _focus_left(self) -> None:
        """Wait, shortly, until the window manager has given the keyboard back to the person's program."""
        server = self._look.around.server
        if server is not None and not await self._is_given_up(server):
            self.stage.hide_shortly()  # because the program that had the keyboard may be gone
            await self._is_given_up(server)

    async def _is_given_up(self, server: XConnection) -> bool:
        own = self.stage.surface_id()
        for _ in range(_FOCUS_LOOKS):
            if server.active_window() != own:
                return True
            self.stage.give_up_keyboard()
            await asyncio.sleep(_FOCUS_LOOK_S)
        return False

    def _take_keyboard_back(self) -> None:
        """After a turn in which the person did nothing else, they can go on writing at once."""
        server = self._look.around.server
        if server is None or not (self.is_open and self.stage.has_returned()):
            return
        if server.idle_s() + _RELEASED_S >= time.monotonic() - self._sent_at:
            self.stage.take_keyboard()

    def _take_in(self, composer: ComposerView) -> None:
        """What is attached in it is read as soon as it is offered."""
        from app.ui.composer.intake import Intake

        Intake(composer, self._background, lambda: self._agent)

    def _carry_out(self, intent: Intent) -> None:
        match intent:
            case Decide() if self._agent is not None:
                self._agent.answer(intent.approval_id, allow=intent.allow, words=intent.words, scope=intent.scope)
            case Choose():
                self.send(intent.words, (), "")
            case Mend():
                self.mending_wanted.emit(intent.remedy)
            case TakeBackTurn() if self._agent is not None:
                self.inbox.change(lambda view: offers.accepted(view, intent.turn_id))
                self.turns.take_back(self._agent, intent.turn_id)
            case KeepTurn():
                self.inbox.change(lambda view: offers.declined(view, intent.turn_id))
            case OpenPicture():
                self.stage.open_picture(intent.picture)
            case SaveGuide():
                self.panels.save_guide(intent.steps)

    # -- showing

    def _show_view(self, view: View) -> None:
        self._sleep.start() if view.orb is Orb.IDLE else self._sleep.stop()
        share = _share(view)
        unread = 0 if view.attended else view.unread
        self.orb.show_state(view.orb, share=share, unread=unread, is_free=view.mode == "yolo")
        asked = view.open_approval
        if asked is not None and asked.approval_id != self._asked:
            # It opens only once, because a person who closes it has seen it, and the orb still asks.
            self._asked = asked.approval_id
            self.stage.show_thread()
            if not view.attended:
                self.inbox.change(presenter.attended)
                self._show_bubble()
                return
        self.stage.show_progress(view)
        self._show_rows(view)

    def _show_rows(self, view: View) -> None:
        if not view.items:
            return
        if self.stage.is_open:
            self.stage.fill(view)
        elif view.attended:
            self._show_bubble()

    def _show_bubble(self) -> None:
        self.stage.show_bubble(self.inbox.view)

    def _menu(self, place: QPoint) -> None:
        menu_for(self.actions, is_open=self.is_open, running=self.inbox.view.running).exec(place)

    def _note_moments(self, events: list[agent.AgentEvent]) -> None:
        """What screen readers say; after a turn the keyboard is taken back. Where nothing could be marked before an
        act, a ring where it has just acted."""
        _announce(self.orb, events)
        if any(isinstance(event, agent.TurnEnded) for event in events):
            self._take_keyboard_back()
            if self._agent is not None and self._turn_task is not None:
                self._background.begin(self._look_up_recent(self._agent), lambda _level, _sentence: None)
        if not self._look.rings or self._look.around.server is not None:
            return
        acts = [event for event in events if isinstance(event, agent.ToolFinished) and place_of(event)]
        if acts and (place := place_of(acts[-1])):
            self.stage.point_at(logical(*place), pressed_name(acts[-1]))


def _announce(orb: OrbWindow, events: list[agent.AgentEvent]) -> None:
    """Ends and questions are read out to who listens to the screen."""
    if not QAccessible.isActive():
        return
    for event in events:
        words = {agent.TurnEnded: "text", agent.ApprovalWanted: "sentence", agent.Notice: "sentence"}.get(type(event))
        if words and (text := getattr(event, words)):
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(orb, unmarked(text)))


def _nothing() -> None:
    """Unsubscribe from nothing."""


def _share(view: View) -> float | None:
    last = view.items[-1] if view.items else None
    return last.share if isinstance(last, Card) else None
