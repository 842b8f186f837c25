"""The presence as a whole: which windows show, where they stand, and what the person's presses do."""

from __future__ import annotations

import asyncio
import datetime
import logging
import tomllib
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QSize, QTimer
from PySide6.QtGui import QGuiApplication, QScreen
from PySide6.QtWidgets import QMenu

from app.base import paths
from app.base.geometry import Point, Rect, Size
from app.ui import places
from app.ui.bridge import Agent, Inbox
from app.ui.bubble.window import BubbleWindow
from app.ui.composer.window import ComposerWindow
from app.ui.floating import Surroundings
from app.ui.motion import Ticker
from app.ui.orb.window import OrbWindow
from app.ui.presenter import presenter
from app.ui.presenter.cardwords import Words
from app.ui.presenter.folding import folded
from app.ui.presenter.view import Card, Orb, Picture, View
from app.ui.rows import RowMaker
from app.ui.theme import Theme
from app.ui.turns import Turns
from app.ui.viewer import PictureWindow

_log = logging.getLogger(__name__)
_FOCUS_LOOKS = 30
_FOCUS_LOOK_S = 0.01


@dataclass(frozen=True, slots=True)
class Look:
    """What all windows share: the theme, what they stand on, and the clock of their movements."""

    theme: Theme
    around: Surroundings
    ticker: Ticker
    name: str = "Wisp"


class Presence(QObject):
    """Shows the orb at once; everything else exists when it is first needed."""

    def __init__(self, look: Look, words: Words = presenter.same) -> None:
        super().__init__()
        self._look = look
        self.inbox = Inbox(presenter.Presenter(words), look.theme.ms("frame"))
        self.inbox.view_changed.connect(self._show_view)
        sorry = QCoreApplication.translate("Presence", "Something went wrong inside Wisp. The log says what.")
        self.turns = Turns(self.tell, sorry)
        self._agent: Agent | None = None
        self._unsubscribe = _nothing
        self._turn_task: asyncio.Task[None] | None = None
        self.orb = OrbWindow(look.theme, look.around, look.ticker)
        self.orb.clicked.connect(self.toggle)
        self.orb.dragged.connect(self._place_beside)
        self.orb.moved.connect(self._settle)
        self.orb.menu_wanted.connect(self._menu)
        self._bubble: BubbleWindow | None = None
        self._composer: ComposerWindow | None = None
        self._viewer: PictureWindow | None = None
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

    # -- the windows, made when first needed

    @property
    def bubble(self) -> BubbleWindow:
        if self._bubble is None:
            self._rows = RowMaker(self._look.theme, self._look.ticker)
            self._rows.answered.connect(self._answer)
            self._rows.picture_opened.connect(self._open_picture)
            self._rows.folds_changed.connect(lambda: self._show_rows(self.inbox.view))
            made = BubbleWindow(self._look.theme, self._look.around, self._rows.make, self._look.name)
            made.closed.connect(self.close)
            made.minimised.connect(self.close)
            made.stop_wanted.connect(self.stop)
            made.reply_wanted.connect(self.open)
            made.height_wanted.connect(self._place_beside)
            self._bubble = made
        return self._bubble

    @property
    def composer(self) -> ComposerWindow:
        if self._composer is None:
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
        self._put_orb()
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
        self._awake()
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
        if self.inbox.view.running:
            self.inbox.change(lambda view: presenter.asked_meanwhile(view, text))
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

    def attach(self, agent: Agent) -> None:
        """From now on wishes go to this agent; needs a running event loop."""
        self._agent = agent
        self._unsubscribe = agent.subscribe(self.inbox.receive)
        self._turn_task = asyncio.get_running_loop().create_task(self.turns.run(agent, self._focus_left))

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
            bubble.show()
        self._place_beside()

    def _open_picture(self, picture: Picture) -> None:
        if self._viewer is None:
            self._viewer = PictureWindow(self._look.theme, self._look.around)
        self._viewer.show_picture(picture, self._screen())

    # -- places

    def _screens(self) -> list[Rect]:
        return [_rect(screen) for screen in QGuiApplication.screens()]

    def _screen(self) -> Rect:
        return places.screen_of(self.orb.rest_rect(), self._screens())

    def _put_orb(self) -> None:
        theme, screens = self._look.theme, self._screens()
        size = Size(theme.size("orb"), theme.size("orb"))
        known = places.remembered(places.layout_name(screens))
        primary = QGuiApplication.primaryScreen()
        if known is None and primary is not None:
            self.orb.put(places.first_place(_rect(primary), size, theme.size("screen_gap")))
        elif known is not None:
            wanted = Rect(known.x, known.y, size.width, size.height)
            self.orb.put(places.kept_inside(wanted, places.screen_of(wanted, screens)))

    def _settle(self, rect: Rect) -> None:
        """The orb was let go: snap it to an edge that is near, and remember."""
        theme, screens = self._look.theme, self._screens()
        place = places.snapped(rect, places.screen_of(rect, screens), theme.size("screen_gap"), theme.size("snap"))
        self.orb.put(place)
        self._place_beside()
        try:
            places.remember(places.layout_name(screens), Point(place.x, place.y))
        except OSError as error:
            _log.warning("The orb's place could not be kept: %s", error)

    def _screens_changed(self, _screen: QScreen) -> None:
        self._put_orb()
        self._place_beside()

    def _place_beside(self) -> None:
        """The bubble and the composer beside the orb, wherever it is."""
        if not self.is_open and self._bubble is None:
            return
        theme, screen = self._look.theme, self._screen()
        writing = self._composer is not None and self._composer.isVisible()
        field = _size(self.composer.wanted_size()) if writing else Size(theme.size("bubble_width"), 0)
        bubble = self.bubble
        bubble.set_footer(shown=not writing)
        most = round(screen.height * theme.ratio("bubble_height")) - field.height
        found = places.arranged(screen, self.orb.rest_rect(), _size(bubble.wanted_size(most)), field, theme.size("gap"))
        bubble.place_body(found.bubble)
        if writing:
            self.composer.place_body(found.composer)

    def _awake(self) -> None:
        self.inbox.change(presenter.awake)

    def _menu(self, place: QPoint) -> None:
        """The orb's own menu."""
        menu = QMenu()
        tr = QCoreApplication.translate
        menu.addAction(tr("Menu", "Close") if self.is_open else tr("Menu", "Open"), self.toggle)
        stop = menu.addAction(tr("Menu", "Stop"), self.stop)
        stop.setEnabled(self.inbox.view.running)
        menu.addSeparator()
        menu.addAction(tr("Menu", "Quit"), self.quit)
        menu.exec(place)


def _nothing() -> None:
    """Stands for an unsubscription that has nothing to end."""


def _share(view: View) -> float | None:
    last = view.items[-1] if view.items else None
    return last.share if isinstance(last, Card) else None


def _rect(screen: QScreen) -> Rect:
    box = screen.availableGeometry()
    return Rect(box.x(), box.y(), box.width(), box.height())


def _size(size: QSize) -> Size:
    return Size(size.width(), size.height())


def _suggestion() -> str:
    """What the empty field proposes today."""
    tree = tomllib.loads((paths.resources() / "suggestions.toml").read_text(encoding="utf-8"))
    known: list[str] = tree["suggestions"]
    return known[datetime.date.today().toordinal() % len(known)]
