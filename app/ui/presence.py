"""The presence: it passes the person's actions to the agent, and shows the agent's events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from app.agent import agent_events as agent
from app.base.errors import Remedy, WispError
from app.base.phrases import ENGLISH, Translations
from app.ui.approvals.devices import WITNESS
from app.ui.bridge import Agent, BackgroundTasks, Inbox, Tell
from app.ui.cards.kinds import CardActions, CardKind
from app.ui.composer.attachments import Attached, pictures, sent
from app.ui.machine import Collection, ListPage, NoPresences, Presences
from app.ui.orb.state import Orb
from app.ui.orb.window import OrbWindow
from app.ui.presenter import offers, presenter
from app.ui.presenter.cards import place_of, pressed_name, replaced, with_content
from app.ui.presenter.view import (
    Card,
    Choose,
    Decide,
    Intent,
    KeepTurn,
    Mend,
    OpenPicture,
    PressCard,
    SaveGuide,
    TakeBackTurn,
    View,
)
from app.ui.system.tray import Actions, menu_for
from app.ui.theme import drawing, roles
from app.ui.theme.appearance import Look
from app.ui.theme.theme import Theme
from app.ui.windows.floating import WindowDeps
from app.ui.windows.orb_placement import Monitors, logical
from app.ui.windows.stage import Stage


class Turns:
    """Keeps the person's messages until there is an agent to send them to. A running turn gets a new message."""

    def __init__(self, tell: Tell, background: BackgroundTasks) -> None:
        self._tell = tell
        self._background = background
        self._waiting: asyncio.Queue[Callable[[Agent], Coroutine[Any, Any, None]]] = asyncio.Queue()

    def send(self, text: str, attached: Sequence[Attached], own: str, using: tuple[str, ...]) -> None:
        self._waiting.put_nowait(partial(_turn, text=text, attached=tuple(attached), own=own, using=using))

    def take_back(self, agent: Agent, turn_id: str) -> None:
        """Undo what a turn changed in files, and show what the agent says about it. Needs a running event loop."""
        self._background.begin(self._taken_back(agent, turn_id))

    async def run(self, agent: Agent, before: Callable[[], Awaitable[None]]) -> None:
        """Send each message when it arrives, without end. `before` is awaited before each one."""
        while True:
            turn = await self._waiting.get()
            await before()
            self._background.begin(turn(agent))

    async def _taken_back(self, agent: Agent, turn_id: str) -> None:
        for sentence in await agent.take_back(turn_id):
            self._tell("info", sentence)


async def _turn(agent: Agent, *, text: str, attached: tuple[Attached, ...], own: str, using: tuple[str, ...]) -> None:
    await agent.send(text, pictures(attached), own, using=using, attached=sent(attached))


if TYPE_CHECKING:
    from app.ui.bubble.window import BubbleWindow
    from app.ui.cards.live import LiveCards
    from app.ui.composer.window import ComposerView
    from app.ui.pages.panels import Panels
    from app.ui.windows.x_connection import XConnection

_FINDER = "finder"
_FOCUS_LOOKS = 30
_MOST_RECENT = 50
_FOCUS_LOOK_S = 0.01


class Presence(QObject):
    """Shows the orb at once, and creates everything else when it is first needed."""

    settings_wanted = Signal()
    mending_wanted = Signal(object)
    """The remedy that the person chose for a failure."""

    def __init__(
        self,
        look: Look,
        words: Translations = ENGLISH,
        orb: OrbWindow | None = None,
        collections: Mapping[str, Collection] = MappingProxyType({}),
        presences: Presences = NoPresences(),  # noqa: B008 - it holds nothing
        kinds: Mapping[str, CardKind] = MappingProxyType({}),
        pages: Sequence[ListPage] = (),
    ) -> None:
        super().__init__()
        roles.install()
        self._look = look
        self._collections = collections
        self._kinds = kinds
        self._pages = pages
        self.inbox = Inbox(presenter.Presenter(words, kinds), look.theme.ms("frame"))
        self.inbox.view_changed.connect(self._show_view)
        self.inbox.events_shown.connect(self._note_moments)
        self.actions = Actions(self.toggle, self.stop, self.settings_wanted.emit, self.quit, presences)
        self._background = BackgroundTasks(self.tell, self._tell_bug)
        self.turns = Turns(self.tell, self._background)
        self._panels: Panels | None = None
        self._cards: LiveCards | None = None
        self._asked = ""
        self._lent_at: int | None = None
        """The number of presses when the person last sent a message from the bubble, which then lends its keyboard."""
        self._opened = 0
        """Counts when the bubble opened, closed or sent something: what was looked up before does not count after."""
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
        """Create the stage with the windows, and connect its signals to what the presence does."""
        stage = Stage(self._look, orb, self._pages)
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

            self._panels = Panels(self._look, self.stage, self.inbox, self._background, self._collections, self._pages)
            self._panels.agent = self._agent
        return self._panels

    @property
    def cards(self) -> LiveCards:
        if self._cards is None:
            from app.ui.cards.live import LiveCards

            self._cards = LiveCards(
                self._kinds,
                self.inbox,
                agent=lambda: self._agent,
                is_open=lambda: self.is_open,
                actions=self._actions_on,
                begin=self.in_background,
            )
        return self._cards

    def _actions_on(self, card: Card) -> CardActions:
        from app.ui.cards.live import copy_picture

        return CardActions(
            perform=self._perform,
            tell=partial(self.tell, "info"),
            attach=self._attach,
            save_copy=self.panels.save_copy,
            carry_out=self.panels.carry_out,
            copy_picture=partial(copy_picture, card=card),
            show=lambda content: self.inbox.change(lambda view: replaced(view, with_content(card, content))),
            offered=lambda kind: self._agent and self._agent.offered(kind),
        )

    async def _perform(self, tool: str, arguments: Mapping[str, Any], /, *, is_shown: bool = True) -> bool:
        """Run a tool as the person's own act."""
        if self._agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        return await self._agent.perform(tool, arguments, self.inbox.receive if is_shown else _unshown)

    def _attach(self, file: Path) -> None:
        self.open()
        self.composer.files_offered.emit([file])

    @property
    def is_open(self) -> bool:
        return self.stage.is_open

    # -- what the person does

    def show(self) -> None:
        """Show the orb at its last place on these monitors. This is the application's first paint."""
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
        """Apply another look, and keep the page that is open and the text that the person was writing."""
        words, caret = "", 0
        if self.is_open:
            words, caret = self.composer.field.toPlainText(), self.composer.field.textCursor().position()
        page = ""  # none, where opening it again would take the keyboard
        self._look = look
        look.around.shows_marks = look.rings
        if self._panels is not None:
            page = self._panels.shown if self.bubble.isActiveWindow() else ""
            self._panels.deleteLater()
            self._panels = None
        self.stage.restyle(look, self.inbox.view)
        if words:
            self.composer.field.setPlainText(words)
            cursor = self.composer.field.textCursor()
            cursor.setPosition(caret)
            self.composer.field.setTextCursor(cursor)
        if page:
            self.panels.toggle(page)

    def toggle(self) -> None:
        """Close the bubble if it is open, else open it."""
        if self.is_open:
            self.close()
        else:
            self.open()

    def open(self) -> None:
        """Open the bubble with the keyboard in the text field, because the person wants to write."""
        was_open = self.is_open
        self._look.around.look()
        self.inbox.change(presenter.awake)
        self.inbox.change(presenter.attended)
        if not was_open:
            self._look_at_front()
        self._show_bubble(writes=True)

    def _look_at_front(self) -> None:
        """Ask for the program in front, which the next message may let Wisp use."""
        self._opened += 1
        self.composer.chips.take_program()
        if self._agent is not None:
            self._background.begin(self._show_front(self._agent, self._opened), lambda _level, _sentence: None)

    async def _show_front(self, session: Agent, opened: int) -> None:
        """Show in the composer the program that was in front when the bubble opened."""
        found = await session.front_program()
        if found is not None and opened == self._opened and self.is_open:
            self.composer.chips.show_program(*found)

    def close(self) -> None:
        """Close everything but the orb. The turn goes on, and a line beside the orb shows its progress."""
        self._opened += 1
        self.inbox.change(presenter.unattended)  # first, because what has just arrived would open the bubble again
        self.stage.hide()
        self.stage.show_progress(self.inbox.view)

    def unfold(self) -> None:
        """Open the bubble without taking the keyboard."""
        self.inbox.change(presenter.attended)
        self._show_bubble()

    def send(self, text: str, attached: Sequence[Attached] = (), own: str = "", using: tuple[str, ...] = ()) -> None:
        """Send a message, of which the person typed `own`. First give the keyboard back to the person's program.

        `using` are the programs that Wisp may use for it.
        """
        self._opened += 1
        self._lent_at = WITNESS.presses() if self.stage.return_keyboard() else None
        self.inbox.change(lambda view: presenter.sent(view, text, tuple(one.name for one in attached)))
        self.turns.send(text, attached, own, using)
        self.stage.show_thread()
        self.inbox.change(presenter.attended)
        self._show_bubble()
        self.stage.follow()

    def open_page(self, name: str) -> None:
        """Open a page: `history`, `news`, `usage` or a collection. If it is open, go back to the thread."""
        self.inbox.change(presenter.awake)
        self.inbox.change(presenter.attended)
        self.panels.toggle(name)

    def stop(self) -> None:
        if self._agent is not None:
            self._agent.stop()

    def tell(self, level: str, sentence: str, *, beside: bool = False, remedy: Remedy = Remedy.AGAIN) -> None:
        """Show a sentence that comes from the presence and not from the agent. `level` is info, warning or error. With
        `beside` it shows beside the orb while the bubble is closed, as a reminder does. A `remedy` adds its button."""
        how = self.inbox.presenter
        self.inbox.change(lambda view: how.noticed(view, level, sentence, time.monotonic(), remedy))
        if beside:
            self.stage.show_planned(self.inbox.view, sentence)
        page = self.stage.bubble.page if self.stage.is_open else None
        if page is not None:  # because the thread is not in sight, and the person would miss it
            page.tell(sentence)
            self.inbox.change(lambda view: offers.kept(view, level, sentence, time.monotonic()))

    def _tell_bug(self) -> None:
        sorry = QCoreApplication.translate("Presence", "Something went wrong inside Wisp. The log says what.")
        how = self.inbox.presenter
        self.inbox.change(lambda view: how.noticed(view, "error", sorry, time.monotonic(), Remedy.LOG))

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the coroutine in the background. Needs a running event loop."""
        self._background.begin(work)

    def quit(self) -> None:
        self.quit_wanted.set()

    # -- the agent

    def attach(self, session: Agent) -> None:
        """Send messages to this agent from now on. Needs a running event loop."""
        self._agent = session
        if self._panels is not None:
            self._panels.agent = session
        self._unsubscribe = session.subscribe(self.inbox.receive)
        if (keyboard := self._look.around.keyboard) is not None:
            keyboard.take_again()  # because sway hands it to its own window when the agent's hands get a keyboard
        self._background.begin(self._look_up_recent(session), lambda _level, _sentence: None)
        self._turn_task = asyncio.get_running_loop().create_task(self.turns.run(session, self.focus_left))

    def detach(self) -> None:
        """Stop listening to the agent and sending messages to it, and cancel the background tasks."""
        self._unsubscribe()
        self._unsubscribe = _nothing
        if self._turn_task is not None:
            self._turn_task.cancel()
            self._turn_task = None
        self._background.abandon()

    async def _look_up_recent(self, session: Agent) -> None:
        """Fetch the person's last tasks, as suggestions, and the commands that complete a text with a slash."""
        found = await session.archive.conversations(limit=_MOST_RECENT)
        self.stage.recent = tuple(one.title for one in found)
        self.stage.commands = tuple(await session.commands())

    async def focus_left(self) -> None:
        """Wait a moment until the bubble has lost the keyboard. If it keeps it, hide and show the bubble."""
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
        """Give the bubble the keyboard back after a turn, if the person wrote in it and nothing was pressed since.

        A bubble that never had the keyboard takes none, nor does one whose person has turned to another program.
        """
        lent_at, self._lent_at = self._lent_at, None
        if lent_at is not None and lent_at == WITNESS.presses() and self.is_open and self.stage.is_lending():
            self.stage.take_keyboard()

    def _take_in(self, composer: ComposerView) -> None:
        """Let this composer read attachments and search for what the person types."""
        from app.ui.composer.intake import Intake, TypedSearch

        Intake(composer, self._background, lambda: self._agent, self._look.around)
        composer.rewrite_wanted.connect(self._rewrite)
        if _FINDER in self._collections:
            finder = TypedSearch(self.bubble.home, self._collections[_FINDER], self._background)
            composer.field.textChanged.connect(lambda: finder.look_for(composer.field.toPlainText()))
            finder.done.connect(composer.field.clear)
            finder.done.connect(self.close)

    def _rewrite(self) -> None:
        """Show the text that is selected in the person's program on a page, where other words can take its place."""
        from app.ui.pages.rewrite import Rewriting

        Rewriting(
            self.theme,
            self.stage,
            self.inbox,
            agent=lambda: self._agent,
            focus_left=self.focus_left,
            begin=self.in_background,
        ).begin()

    def _carry_out(self, intent: Intent) -> None:
        match intent:
            case Decide() if self._agent is not None:
                self._agent.answer(intent.approval_id, allow=intent.allow, words=intent.words, scope=intent.scope)
            case Choose():
                self.send(intent.words, (), "")
            case Mend(remedy=Remedy.EXTRA):
                self.panels.get_extra()
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
            case PressCard():
                self.cards.press(intent)

    # -- showing

    def _show_view(self, view: View) -> None:
        WITNESS.is_busy = view.running
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
            self.cards.follow(view)
        elif view.attended:
            self._show_bubble()

    def _show_bubble(self, *, writes: bool = False) -> None:
        """Show the bubble. An empty one is shown only to write in."""
        if not (self.inbox.view.items or writes or self.stage.bubble.page):
            return
        self.stage.show_bubble(self.inbox.view, writes=writes)
        if self.inbox.view.items:
            self.cards.follow(self.inbox.view)

    def _menu(self, place: QPoint) -> None:
        menu = drawing.Menu(self.theme, self.orb)
        menu_for(self.actions, is_open=self.is_open, running=self.inbox.view.running, menu=menu).exec(place)

    def _note_moments(self, events: list[agent.AgentEvent]) -> None:
        """Let screen readers speak the events, and take the keyboard back after a turn. On systems where Wisp cannot
        show a ring before it acts, show a ring where it has just acted."""
        roles.announce(self.orb, events)
        if any(isinstance(event, agent.TurnEnded) for event in events):
            self._take_keyboard_back()
            if self._agent is not None and self._turn_task is not None:
                self._background.begin(self._look_up_recent(self._agent), lambda _level, _sentence: None)
        if not self._look.rings or self._look.around.server is not None:
            return
        acts = [event for event in events if isinstance(event, agent.ToolFinished) and place_of(event)]
        if acts and (place := place_of(acts[-1])):
            self.stage.point_at(logical(*place), pressed_name(acts[-1]))


def _nothing() -> None:
    """Do nothing. It stands for the function that ends the subscription, while there is none."""


def _unshown(_event: agent.AgentEvent) -> None:
    """Ignore the events of a call that needs no card."""


def _share(view: View) -> float | None:
    last = view.items[-1] if view.items else None
    return last.share if isinstance(last, Card) else None
