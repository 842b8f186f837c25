"""The windows beside the orb: created when first needed, placed on the side with more room, shown and hidden.

The stage decides nothing: it emits the person's actions as signals, and shows what the presence passes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal

from app.base.geometry import Point, Rect, Size
from app.settings.catalog import PROVIDER
from app.ui.approvals.row import ApprovalRow
from app.ui.bubble.rows import OfferRow, RowWidget, TakeBackRow
from app.ui.bubble.speech import AskedRow, EndedRow, NoticeRow, SaidRow
from app.ui.cards.card import CardRow, FoldRow
from app.ui.cards.contents import ChecklistRow
from app.ui.cards.picture import CommandRow
from app.ui.orb.window import OrbWindow
from app.ui.presenter.view import (
    Approval,
    Asked,
    Card,
    Command,
    Item,
    NoticeItem,
    Offer,
    ShownChecklist,
    ShownPicture,
    SpokenItem,
    TakeBack,
    TurnOutcome,
    View,
)
from app.ui.presenter.wording import Fold, Row, folded
from app.ui.theme.appearance import Look
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.windows import orb_placement
from app.ui.windows.floating import PointRequest
from app.ui.windows.orb_placement import Arrangement, OrbPlacement, from_pixels

if TYPE_CHECKING:
    from app.ui.bubble.window import BubbleWindow
    from app.ui.buttons import BarChoice
    from app.ui.composer.window import ComposerView
    from app.ui.pages.listing import Page
    from app.ui.windows.overlays import CaptionWindow, PictureWindow, RingWindow


class Stage(QObject):
    """The orb exists from the start; everything else when it is first needed."""

    said = Signal(str, object, str)
    left = Signal()
    unfolded = Signal()
    open_wanted = Signal()
    stop_wanted = Signal()
    settings_wanted = Signal()
    intended = Signal(object)
    rows_changed = Signal()
    page_wanted = Signal(str)
    composer_made = Signal(object)
    setting_chosen = Signal(str, str)

    def __init__(self, look: Look, orb: OrbWindow | None = None) -> None:
        super().__init__()
        self._look = look
        self.orb = orb or OrbWindow(look.theme, look.around, look.ticker)
        self.placement = OrbPlacement(self.orb, look.theme)
        self.orb.dragged.connect(self.place)
        self.orb.moved.connect(self._settle)
        self._bubble: BubbleWindow | None = None
        self._before = 0
        self._choices: tuple[BarChoice, ...] = ()
        self.recent: tuple[str, ...] = ()
        """The last tasks, the newest first."""
        self._caption: CaptionWindow | None = None
        self._viewer: PictureWindow | None = None
        self._ring: RingWindow | None = None
        self._rows: RowMaker | None = None
        self._rows_before: RowMaker | None = None

    @property
    def bubble(self) -> BubbleWindow:
        if self._bubble is None:
            from app.ui.bubble.window import BubbleWindow
            from app.ui.composer.home import todays
            from app.ui.presenter.wording import words_for

            words_for("")  # now, so that the table is not read while the first words stream in
            look = self._look
            words = (look.name, QCoreApplication.translate("Composer", todays()))
            made = BubbleWindow(look.theme, look.around, look.ticker, self._row_maker().make, words)
            made.closed.connect(self.left)
            made.height_wanted.connect(self.place)
            header, composer = made.header, made.composer
            header.stop_wanted.connect(self.stop_wanted)
            header.settings_wanted.connect(self.settings_wanted)
            header.page_wanted.connect(self.page_wanted)
            composer.sent.connect(self.said)
            made.home.chosen.connect(lambda text: self.said.emit(text, (), ""))
            header.setting_chosen.connect(self.setting_chosen)
            header.show_choices(self._choices)
            composer.left.connect(self.left)
            composer.keyboard_wanted.connect(self.take_keyboard)
            composer.thread_wanted.connect(made.enter_thread)
            composer.history_wanted.connect(lambda: self.page_wanted.emit("history"))
            self._bubble = made
            self.composer_made.emit(composer)
        return self._bubble

    @property
    def composer(self) -> ComposerView:
        return self.bubble.composer

    @property
    def caption(self) -> CaptionWindow:
        if self._caption is None:
            from app.ui.windows.overlays import CaptionWindow

            self._caption = CaptionWindow(self._look.theme, self._look.around, self._look.ticker)
            self._caption.clicked.connect(self.unfolded)
            self._caption.resized.connect(self._place_caption)
        return self._caption

    @property
    def is_open(self) -> bool:
        return self._bubble is not None and self._bubble.isVisible() and not self._bubble.is_leaving

    def surface_id(self) -> int:
        """The surface's window; 0 where there is none yet."""
        return int(self._bubble.winId()) if self._bubble is not None else 0

    def take_keyboard(self) -> None:
        """The field with the keyboard in it; who had it before gets it back with the next wish."""
        server, bubble = self._look.around.server, self.bubble
        active = server.active_window() if server is not None else 0
        if active not in self._look.around.ids():
            self._before = active
        self._forget_the_gone()
        bubble.engage()
        bubble.composer.field.complete_from((*self.recent, *(line.text() for line in bubble.home.lines)))
        bubble.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def return_keyboard(self) -> None:
        """Give the keyboard to whatever had it; the surface stays where the window manager can do that."""
        server = self._look.around.server
        if not self.is_open or not self.bubble.isActiveWindow():
            return
        self.bubble.accept_focus(accepts=False)
        # Now, because Qt would say for another 400 ms that the field has the keyboard, and keys would get lost.
        self.bubble.composer.field.clearFocus()
        if server is None:
            self.hide_shortly()
        elif self._before:
            server.activate(self._before)

    def give_up_keyboard(self) -> None:
        """Where no other window had it: again and again, because the window manager may hear of it too early."""
        server = self._look.around.server
        self._forget_the_gone()
        if server is not None and not self._before:
            server.give_up_keyboard()

    def _forget_the_gone(self) -> None:
        """Forget who had it, where that window shows no more: window managers may go on naming it as the active one."""
        server = self._look.around.server
        if server is not None and self._before and server.shown_at(self._before) is None:
            self._before = 0

    def has_returned(self) -> bool:
        """Whether the keyboard is still where it was given back to."""
        server = self._look.around.server
        return server is not None and server.active_window() == self._before

    def hide_shortly(self) -> None:
        """Away and there again without the keyboard: only so does it leave where no other window can have it."""
        self.bubble.hide()
        self.bubble.show()

    def hide(self) -> None:
        """Only the orb is left."""
        if self.is_open:
            self.bubble.leave_to(self._arranged())
            self.bubble.show_page(None)

    def show_progress(self, view: View) -> None:
        """While the surface is closed, one line beside the orb says how the work goes on."""
        if self.is_open or not (view.running or (self._caption is not None and self._caption.isVisible())):
            return
        self.caption.show_view(view)
        if not self.caption.isVisible():
            self._place_caption()
            self.caption.show()

    def restyle(self, look: Look) -> None:
        """Another look from now on. The windows beside the orb go; new ones come when they are needed."""
        self._look = look
        for window in (self._bubble, self._caption, self._viewer, self._ring):
            if window is not None:
                window.hide()
                window.deleteLater()
        self._bubble = self._caption = self._viewer = self._ring = None
        self._rows, self._rows_before = None, self._rows
        self.orb.dress(look.theme)
        self.placement = OrbPlacement(self.orb, look.theme)

    def fill(self, view: View) -> None:
        """The thread as the view has it; its newest card is open."""
        bubble, rows = self.bubble, self._row_maker()
        newest = next((item.key for item in reversed(view.items) if isinstance(item, Card)), "")
        rows.note_newest(newest, bubble.thread_view.realised)
        bubble.show_view(view, folded(view.items, rows.open_folds, running=view.running))

    def show_bubble(self, view: View, *, writes: bool = False) -> None:
        """Beside the orb; only a person who `writes` needs it with nothing in it, and gives it the keyboard."""
        if not (view.items or writes or self.bubble.page):
            return
        if self._caption is not None:
            self._caption.hide()
        if writes and not self.is_open:
            self._offer()
        if not self.is_open:
            self._look.around.look()
            self.bubble.resize(self._look.theme.size("bubble_width") + 2 * self.bubble.margin, self.bubble.height())
            self.fill(view)
            self.bubble.open_at(self._arranged())
        self.place()
        if writes:
            self.take_keyboard()

    def show_choices(self, choices: tuple[BarChoice, ...]) -> None:
        """The settings that can be switched in the bar."""
        self._choices = choices
        if self._bubble is not None:
            self._bubble.header.show_choices(choices)

    def _offer(self) -> None:
        """What fits the window that has the keyboard now."""
        server = self._look.around.server
        front = server.active_window() if server is not None else 0
        program, title = server.name_of(front) if server is not None and front else ("", "")
        has_model = any(choice.key == PROVIDER.key and choice.value != "offline" for choice in self._choices)
        self.bubble.home.offer(f"{program} {title}", program, self.recent, has_model=has_model)

    def show_page(self, page: Page | None, view: View) -> None:
        """A page in the surface, with the keyboard in it: the person asked for it. None shows the thread again."""
        self.bubble.show_page(page)
        if page is not None:
            self.show_bubble(view)
            self.bubble.engage()
        self.place()

    def show_thread(self) -> None:
        """What happens now is more than any page."""
        if self._bubble is not None:
            self._bubble.show_page(None)

    def engage(self) -> None:
        """The keyboard goes into the thread, where there is one: the person asked for it."""
        if self.is_open:
            self.bubble.engage()
            self.bubble.enter_thread()

    def follow(self) -> None:
        """Go to the thread's end, where something is going to happen."""
        if self._bubble is not None:
            self._bubble.thread_view.follow()

    def point_out(self, request: PointRequest) -> None:
        """A ring around what is about to be acted on. The request is answered once the ring shows."""
        if request.shown.set_running_or_notify_cancel():  # false where the act has gone on without it
            place, shown = from_pixels(request.place), request.shown
            ring = self._point_at(place, request.name, lambda: shown.set_result(ring.marked))

    def point_at(self, place: Point, name: str) -> None:
        """A ring around a place on the screen that was acted on, and what is there, for a moment."""
        self._point_at(Rect(place.x, place.y, 1, 1), name)

    def _point_at(self, place: Rect, name: str, shown: Callable[[], None] | None = None) -> RingWindow:
        if self._ring is None:
            from app.ui.windows.overlays import RingWindow

            self._ring = RingWindow(self._look.theme, self._look.around, self._look.ticker)
        self._ring.point_at(place, name, orb_placement.screen_at(place.center), shown)
        return self._ring

    def place(self) -> None:
        """The windows beside the orb, wherever it is."""
        self._place_caption()
        if self.is_open:
            self.bubble.move_to(self._arranged())

    def _arranged(self) -> Arrangement:
        theme, screen = self._look.theme, self.placement.screen()
        size = self.bubble.wanted_size(round(screen.height * theme.ratio("bubble_height")))
        wanted = Size(size.width(), size.height())
        return orb_placement.arranged(screen, self.orb.rest_rect(), wanted, theme.size("gap"))

    def screens_changed(self) -> None:
        """Monitors came, went or changed."""
        self.placement.retake()
        self.place()

    def _place_caption(self) -> None:
        if self._caption is None:
            return
        orb, gap, size = self.orb.rest_rect(), self._look.theme.size("gap"), self._caption.body_size()
        screen = self.placement.screen()
        x = orb.x - gap - size.width() if orb.center.x > screen.center.x else orb.right + gap
        wanted = Rect(x, orb.center.y - size.height() // 2, size.width(), size.height())
        self._caption.place_body(orb_placement.kept_inside(wanted, screen))

    def _row_maker(self) -> RowMaker:
        if self._rows is None:
            made = RowMaker(self._look.theme, self._look.ticker, self._rows_before)
            made.intended.connect(self.intended)
            made.keyboard_wanted.connect(self.engage)
            made.folds_changed.connect(self.rows_changed)
            self._rows = made
        return self._rows

    def open_picture(self, picture: ShownPicture) -> None:
        if self._viewer is None:
            from app.ui.windows.overlays import PictureWindow

            self._viewer = PictureWindow(self._look.theme, self._look.around)
        self._viewer.show_picture(picture, self.placement.screen())

    def _settle(self, rect: Rect) -> None:
        """Handle the end of a drag of the orb."""
        self.placement.settle(rect)
        self.place()


_QUIET: Mapping[type[Item], type[RowWidget]] = {
    Asked: AskedRow,
    ShownChecklist: ChecklistRow,
    Command: CommandRow,
    TurnOutcome: EndedRow,
    NoticeItem: NoticeRow,
}
"""Rows with nothing to press that the presence must hear of."""


class RowMaker(QObject):
    """Makes rows and passes on what the person does with them. `opened` says which cards and folds are open."""

    intended = Signal(object)
    keyboard_wanted = Signal()
    folds_changed = Signal()

    def __init__(self, theme: Theme, ticker: Ticker, before: RowMaker | None = None) -> None:
        """`before` made the rows in another look: what was spoken and opened there stays so."""
        super().__init__()
        self._theme = theme
        self._ticker = ticker
        self._spoken: set[str] = before._spoken if before else set()
        self._turns: list[SaidRow] = []
        self._chosen: dict[str, bool] = before._chosen if before else {}
        self._newest: str = before._newest if before else ""

    @property
    def open_folds(self) -> frozenset[str]:
        return frozenset(key for key, is_open in self._chosen.items() if is_open and key.startswith("f"))

    def note_newest(self, key: str, rows: dict[str, RowWidget]) -> None:
        """The newest card is open; the one before closes, unless the person has chosen otherwise."""
        if key == self._newest:
            return
        for old in (self._newest, key):
            widget = rows.get(old)
            if isinstance(widget, CardRow) and old not in self._chosen:
                widget.set_open(is_open=old == key)
        self._newest = key

    def make(self, row: Row) -> RowWidget:
        """A widget for a row; the thread shows the row in it."""
        made = self._widget(row)
        made.intended.connect(self.intended)
        return made

    def _widget(self, row: Row) -> RowWidget:
        if isinstance(row, Card):
            return self._card(row)
        if isinstance(row, Fold):
            fold = FoldRow(self._theme, self._ticker)
            fold.toggled.connect(self._toggle_fold)
            return fold
        if isinstance(row, Approval):
            approval = ApprovalRow(self._theme, self._ticker)
            approval.keyboard_wanted.connect(self.keyboard_wanted)
            return approval
        if isinstance(row, Offer):
            return OfferRow(self._theme, self._ticker)
        if isinstance(row, TakeBack):
            return TakeBackRow(self._theme, self._ticker)
        if isinstance(row, SpokenItem):
            said = SaidRow(self._theme, self._ticker, self._turns, at_once=row.key in self._spoken)
            said.begun.connect(partial(self._spoken.add, row.key))
            return said
        return _QUIET[type(row)](self._theme, self._ticker)

    def _card(self, row: Card) -> CardRow:
        is_open = self._chosen.get(row.key, row.key == self._newest)
        card = CardRow(self._theme, self._ticker, is_open=is_open)
        card.toggled.connect(lambda key: self._toggle_card(key, card))
        return card

    def _toggle_card(self, key: str, card: CardRow) -> None:
        self._chosen[key] = not card.is_open
        card.set_open(is_open=self._chosen[key])

    def _toggle_fold(self, key: str) -> None:
        self._chosen[key] = not self._chosen.get(key, False)
        self.folds_changed.emit()
