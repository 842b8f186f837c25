"""The presence as a whole: which windows show, where they stand, and what the person's presses do."""

from __future__ import annotations

import asyncio
import datetime
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QSize, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QScreen

from app.agent import events as agent
from app.base import paths
from app.base.geometry import Rect, Size
from app.ui import places
from app.ui.bridge import Agent, Inbox
from app.ui.floating import Surroundings
from app.ui.menu import Actions, menu_for
from app.ui.motion import Ticker, fade_in
from app.ui.orb.window import OrbWindow
from app.ui.presenter import presenter, takeback
from app.ui.presenter.cardsteps import place_of
from app.ui.presenter.cardwords import Words
from app.ui.presenter.folding import folded
from app.ui.presenter.view import Card, Orb, Picture, View
from app.ui.seat import Seat, logical
from app.ui.theme import Theme
from app.ui.turns import Turns

if TYPE_CHECKING:
    from app.ui.bubble.window import BubbleWindow
    from app.ui.composer.window import ComposerWindow
    from app.ui.ring import RingWindow
    from app.ui.rows import RowMaker
    from app.ui.viewer import PictureWindow

_FOCUS_LOOKS = 30
_FOCUS_LOOK_S = 0.01


@dataclass(frozen=True, slots=True)
class Look:
    """What all windows share: the theme, what they stand on, and the clock of their movements."""

    theme: Theme
    around: Surroundings
    ticker: Ticker
    name: str = "Wisp"
    rings: bool = True


class Presence(QObject):
    """Shows the orb at once; everything else exists when it is first needed."""

    settings_wanted = Signal()

    def __init__(self, look: Look, words: Words = presenter.same) -> None:
        super().__init__()
        self._look = look
        self.inbox = Inbox(presenter.Presenter(words), look.theme.ms("frame"))
        self.inbox.view_changed.connect(self._show_view)
        self.inbox.events_shown.connect(self._point)
        self.actions = Actions(self.toggle, self.stop, self.settings_wanted.emit, self.quit)
        sorry = QCoreApplication.translate("Presence", "Something went wrong inside Wisp. The log says what.")
        self.turns = Turns(self.tell, sorry)
        self._agent: Agent | None = None
        self._unsubscribe = _nothing
        self._turn_task: asyncio.Task[None] | None = None
        self.orb = OrbWindow(look.theme, look.around, look.ticker)
        self._seat = Seat(self.orb, look.theme)
        self.orb.clicked.connect(self.toggle)
        self.orb.dragged.connect(self._place_beside)
        self.orb.moved.connect(self._settle)
        self.orb.menu_wanted.connect(self._menu)
        self._bubble: BubbleWindow | None = None
        self._composer: ComposerWindow | None = None
        self._viewer: PictureWindow | None = None
        self._ring: RingWindow | None = None
        self._rows: RowMaker | None = None
        self._shown_items: object = None
        self._sleep = QTimer(self)
        self._sleep.setSingleShot(True)
        self._sleep.setInterval(look.theme.ms("sleep_after"))
        self._sleep.timeout.connect(lambda: self.inbox.change(presenter.asleep))
        self.quit_wanted = asyncio.Event()

    @property
    def around(self) -> Surroundings:
        return self._look.around

    @property
    def theme(self) -> Theme:
        return self._look.theme

    @property
    def name(self) -> str:
        return self._look.name

    # -- the windows, made when first needed

    @property
    def bubble(self) -> BubbleWindow:
        if self._bubble is None:
            from app.ui.bubble.window import BubbleWindow
            from app.ui.rows import RowMaker

            self._rows = RowMaker(self._look.theme, self._look.ticker)
            self._rows.answered.connect(self._answer)
            self._rows.chosen.connect(self.send)
            self._rows.take_back_wanted.connect(self._take_back)
            self._rows.picture_opened.connect(self._open_picture)
            self._rows.folds_changed.connect(lambda: self._show_rows(self.inbox.view))
            made = BubbleWindow(self._look.theme, self._look.around, self._rows.make, self._look.name)
            made.closed.connect(self.close)
            made.minimised.connect(self.close)
            made.stop_wanted.connect(self.stop)
            made.settings_wanted.connect(self.settings_wanted)
            made.reply_wanted.connect(self.open)
            made.height_wanted.connect(self._place_beside)
            self._bubble = made
        return self._bubble

    @property
    def composer(self) -> ComposerWindow:
        if self._composer is None:
            from app.ui.composer.window import ComposerWindow

            made = ComposerWindow(self._look.theme, self._look.around, _suggestion())
            made.sent.connect(self.send)
            made.left.connect(self.close)
            made.height_wanted.connect(self._place_beside)
            self._composer = made
        return self._composer

    # -- what the person does

    def show(self) -> None:
        """The orb, where it was last put on these monitors; the first paint of the application."""
        self._look.around.look()
        self._seat.take()
        self.orb.show()
        self.orb.breathe()
        self._sleep.start()
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.screenAdded.connect(self._screens_changed)
        app.screenRemoved.connect(self._screens_changed)

    @property
    def is_open(self) -> bool:
        return any(window is not None and window.isVisible() for window in (self._bubble, self._composer))

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
        self.composer.show()
        self.inbox.change(presenter.attended)
        self._show_bubble()
        self._place_beside()
        self.composer.take_focus()

    def close(self) -> None:
        """Only the orb is left; the work goes on."""
        for window in (self._composer, self._bubble):
            if window is not None:
                window.hide()
        self.inbox.change(presenter.unattended)

    def send(self, text: str) -> None:
        """One wish. The composer gives the keyboard back before anything happens."""
        if self._composer is not None:
            self._composer.hide()
        self.inbox.change(lambda view: presenter.sent(view, text))
        self.turns.send(text)
        self.inbox.change(presenter.attended)
        self._show_bubble()
        if self._bubble is not None:
            self._bubble.thread_view.follow()

    def stop(self) -> None:
        if self._agent is not None:
            self._agent.stop()

    def tell(self, level: str, sentence: str) -> None:
        """A sentence of the presence itself."""
        self.inbox.change(lambda view: presenter.noticed(view, level, sentence))

    def quit(self) -> None:
        self.quit_wanted.set()

    # -- the agent

    def attach(self, session: Agent) -> None:
        """From now on wishes go to this agent; needs a running event loop."""
        self._agent = session
        self._unsubscribe = session.subscribe(self.inbox.receive)
        self._turn_task = asyncio.get_running_loop().create_task(self.turns.run(session, self._focus_left))

    def detach(self) -> None:
        """Nothing of the agent reaches the presence any more."""
        self._unsubscribe()
        self._unsubscribe = _nothing
        if self._turn_task is not None:
            self._turn_task.cancel()
            self._turn_task = None
        self.turns.abandon()

    async def _focus_left(self) -> None:
        """Wait, shortly, until the window manager has given the keyboard back to the person's program."""
        server = self._look.around.server
        if server is None:
            return
        own = int(self._composer.winId()) if self._composer is not None else 0
        for _ in range(_FOCUS_LOOKS):
            if server.active_window() != own:
                return
            await asyncio.sleep(_FOCUS_LOOK_S)

    def _answer(self, approval_id: str, allow: bool) -> None:  # noqa: FBT001 - a signal's arguments
        if self._agent is not None:
            self._agent.answer(approval_id, allow=allow)

    def _take_back(self, turn_id: str) -> None:
        if self._agent is not None:
            self.inbox.change(lambda view: takeback.accepted(view, turn_id))
            self.turns.take_back(self._agent, turn_id)

    # -- showing

    def _show_view(self, view: View) -> None:
        self._sleep.start() if view.orb is Orb.IDLE else self._sleep.stop()
        share = _share(view)
        self.orb.show_state(view.orb, share=share, unread=0 if view.attended else view.unread)
        if view.open_approval is not None and not view.attended:
            self.inbox.change(presenter.attended)
            self._show_bubble()
            return
        self._show_rows(view)

    def _show_rows(self, view: View) -> None:
        if not view.items:
            return
        if self._bubble is not None and self._bubble.isVisible():
            self._fill(view)
        elif view.attended:
            self._show_bubble()

    def _fill(self, view: View) -> None:
        """The thread as the view has it; its newest card is open."""
        bubble = self.bubble
        assert self._rows is not None
        newest = next((item.key for item in reversed(view.items) if isinstance(item, Card)), "")
        self._rows.note_newest(newest, bubble.thread_view.realised)
        bubble.show_view(view, folded(view.items, self._rows.open_folds))

    def _show_bubble(self) -> None:
        """Beside the orb, without taking the focus; not before there is something in it."""
        if not self.inbox.view.items:
            return
        bubble = self.bubble
        if not bubble.isVisible():
            self._look.around.look()
            bubble.resize(self._look.theme.size("bubble_width") + 2 * bubble.margin, bubble.height())
            self._fill(self.inbox.view)
            self._place_beside()
            if self._look.around.composited:
                fade_in(bubble, self._look.ticker, self._look.theme.motion_ms("open"))
            else:
                bubble.show()
        self._place_beside()

    def _open_picture(self, picture: Picture) -> None:
        if self._viewer is None:
            from app.ui.viewer import PictureWindow

            self._viewer = PictureWindow(self._look.theme, self._look.around)
        self._viewer.show_picture(picture, self._seat.screen())

    # -- places

    def _settle(self, rect: Rect) -> None:
        """The orb was let go."""
        self._seat.settle(rect)
        self._place_beside()

    def _screens_changed(self, _screen: QScreen) -> None:
        self._seat.take()
        self._place_beside()

    def _place_beside(self) -> None:
        """The bubble and the composer beside the orb, wherever it is."""
        if not self.is_open and self._bubble is None:
            return
        theme, screen = self._look.theme, self._seat.screen()
        writing = self._composer is not None and self._composer.isVisible()
        field = _size(self.composer.wanted_size()) if writing else Size(theme.size("bubble_width"), 0)
        bubble = self.bubble
        bubble.set_footer(shown=not writing)
        most = round(screen.height * theme.ratio("bubble_height")) - field.height
        found = places.arranged(screen, self.orb.rest_rect(), _size(bubble.wanted_size(most)), field, theme.size("gap"))
        bubble.place_body(found.bubble)
        if writing:
            self.composer.place_body(found.composer)

    def _menu(self, place: QPoint) -> None:
        menu_for(self.actions, is_open=self.is_open, running=self.inbox.view.running).exec(place)

    def _point(self, events: list[agent.AgentEvent]) -> None:
        """A ring where it has just acted."""
        if not self._look.rings:
            return
        places_ = [place for event in events if isinstance(event, agent.ToolFinished) and (place := place_of(event))]
        if places_:
            if self._ring is None:
                from app.ui.ring import RingWindow

                self._ring = RingWindow(self._look.theme, self._look.around, self._look.ticker)
            self._ring.point_at(logical(*places_[-1]))


def _nothing() -> None:
    """Stands for an unsubscription that has nothing to end."""


def _share(view: View) -> float | None:
    last = view.items[-1] if view.items else None
    return last.share if isinstance(last, Card) else None


def _size(size: QSize) -> Size:
    return Size(size.width(), size.height())


def _suggestion() -> str:
    """What the empty field proposes today."""
    tree = tomllib.loads((paths.resources() / "suggestions.toml").read_text(encoding="utf-8"))
    known: list[str] = tree["suggestions"]
    return known[datetime.date.today().toordinal() % len(known)]
