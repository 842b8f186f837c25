"""The windows beside the orb: created when first needed, placed on the side with more room, shown and hidden.

The stage decides nothing: it emits the person's actions as signals, and shows what the presence passes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Signal

from app.base.geometry import Point, Rect, Size
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
from app.ui.theme.motion import Ticker, fade_in, fade_out
from app.ui.theme.theme import Theme
from app.ui.windows import orb_placement
from app.ui.windows.orb_placement import OrbPlacement

if TYPE_CHECKING:
    from app.ui.bubble.window import BubbleWindow, ChipWindow
    from app.ui.buttons import GlyphButton
    from app.ui.composer.window import ComposerWindow
    from app.ui.pages.listing import Page
    from app.ui.windows.overlays import PictureWindow, RingWindow


class Stage(QObject):
    """The orb exists from the start; everything else when it is first needed."""

    said = Signal(str, object, str)
    left = Signal()
    minimised = Signal()
    unfolded = Signal()
    open_wanted = Signal()
    stop_wanted = Signal()
    settings_wanted = Signal()
    intended = Signal(object)
    rows_changed = Signal()
    page_wanted = Signal(str)
    composer_made = Signal(object)

    def __init__(self, look: Look, orb: OrbWindow | None = None) -> None:
        super().__init__()
        self._look = look
        self.orb = orb or OrbWindow(look.theme, look.around, look.ticker)
        self.placement = OrbPlacement(self.orb, look.theme)
        self.orb.dragged.connect(self.place)
        self.orb.moved.connect(self._settle)
        self._bubble: BubbleWindow | None = None
        self._leaving = False
        self._before = 0
        self._chip: ChipWindow | None = None
        self._composer: ComposerWindow | None = None
        self._viewer: PictureWindow | None = None
        self._ring: RingWindow | None = None
        self._rows: RowMaker | None = None
        self._rows_before: RowMaker | None = None

    @property
    def bubble(self) -> BubbleWindow:
        if self._bubble is None:
            from app.ui.bubble.window import BubbleWindow
            from app.ui.presenter.wording import words_for

            words_for("")  # now, so that the table is not read while the first words stream in
            made = BubbleWindow(self._look.theme, self._look.around, self._row_maker().make, self._look.name)
            made.closed.connect(self.left)
            header = made.header
            header.minimised.connect(self.minimised)
            header.stop_wanted.connect(self.stop_wanted)
            header.settings_wanted.connect(self.settings_wanted)
            header.history_wanted.connect(lambda: self.page_wanted.emit("history"))
            header.news_wanted.connect(lambda: self.page_wanted.emit("news"))
            header.usage_wanted.connect(lambda: self.page_wanted.emit("usage"))
            made.reply_wanted.connect(self.open_wanted)
            made.height_wanted.connect(self.place)
            self._bubble = made
        return self._bubble

    @property
    def composer(self) -> ComposerWindow:
        if self._composer is None:
            from app.ui.composer import window
            from app.ui.composer.window import ComposerWindow

            made = ComposerWindow(self._look.theme, self._look.around, window.todays())
            made.sent.connect(self.said)
            made.left.connect(self.left)
            made.height_wanted.connect(self.place)
            made.thread_wanted.connect(self.engage)
            made.history_wanted.connect(lambda: self.page_wanted.emit("history"))
            self._composer = made
            self.composer_made.emit(made)
        return self._composer

    @property
    def chip(self) -> ChipWindow:
        if self._chip is None:
            from app.ui.bubble.window import ChipWindow

            self._chip = ChipWindow(self._look.theme, self._look.around)
            self._chip.clicked.connect(self.unfolded)
        return self._chip

    @property
    def is_open(self) -> bool:
        return self.is_writing or self.shows_bubble

    @property
    def is_writing(self) -> bool:
        return self._composer is not None and self._composer.isVisible()

    @property
    def shows_bubble(self) -> bool:
        return self._bubble is not None and self._bubble.isVisible() and not self._leaving

    def composer_id(self) -> int:
        """The composer's window; 0 where there is none yet."""
        return int(self._composer.winId()) if self._composer is not None else 0

    def hide_composer(self) -> None:
        if self._composer is not None:
            self._composer.hide()

    def take_keyboard(self) -> None:
        """The composer with the keyboard in it; who had it before gets it back with the next wish."""
        server, composer = self._look.around.server, self.composer
        active = server.active_window() if server is not None else 0
        if active not in self._look.around.ids():
            self._before = active
        composer.take_focus()

    def return_keyboard(self) -> None:
        """Give the keyboard to whatever had it; the composer stays where the window manager can do that."""
        server = self._look.around.server
        if not self.is_writing or not self.composer.isActiveWindow():
            return
        if server is not None and self._before:
            server.activate(self._before)
        else:
            self.hide_composer()

    def has_returned(self) -> bool:
        """Whether the keyboard is still where it was given back to."""
        server = self._look.around.server
        return server is not None and server.active_window() == self._before

    def show_composer(self) -> None:
        """The composer again, without the keyboard, while the bubble shows."""
        if self.shows_bubble and not self.is_writing and self.bubble.page is None:
            self.composer.show_quietly()
            self.place()

    def hide(self) -> None:
        """Only the orb is left."""
        self.hide_composer()
        bubble = self._bubble
        if bubble is None or not self.shows_bubble:
            return
        if self._look.around.composited:
            self._leaving = True
            fade_out(bubble, self._look.ticker, self._look.theme.motion_ms("close"))
        else:
            bubble.hide()
        bubble.show_page(None)

    def minimise(self, view: View) -> None:
        """The work goes on, and a small pill says so."""
        self.hide()
        self.chip.show_view(view)
        self.place()
        self.chip.show()

    def show_progress(self, view: View) -> None:
        """Tell the pill, where there is one, how things stand."""
        if self._chip is not None and self._chip.isVisible():
            self._chip.show_view(view)

    def restyle(self, look: Look) -> None:
        """Another look from now on. The windows beside the orb go; new ones come when they are needed."""
        self._look = look
        for window in (self._bubble, self._chip, self._composer, self._viewer, self._ring):
            if window is not None:
                window.hide()
                window.deleteLater()
        self._bubble = self._chip = self._composer = self._viewer = self._ring = None
        self._rows, self._rows_before = None, self._rows
        self._leaving = False
        self.orb.dress(look.theme)
        self.placement = OrbPlacement(self.orb, look.theme)

    def fill(self, view: View) -> None:
        """The thread as the view has it; its newest card is open."""
        bubble, rows = self.bubble, self._row_maker()
        newest = next((item.key for item in reversed(view.items) if isinstance(item, Card)), "")
        rows.note_newest(newest, bubble.thread_view.realised)
        bubble.show_view(view, folded(view.items, rows.open_folds, running=view.running))

    def show_bubble(self, view: View) -> None:
        """Beside the orb, without taking the focus; not before there is something in it."""
        if view.items:
            self._show_bubble(view)

    def show_page(self, page: Page | None, button: GlyphButton | None, view: View) -> None:
        """A page in the bubble, with the keyboard in it: the person asked for it. None shows the thread again."""
        self.bubble.show_page(page, button)
        if page is not None:
            self._show_bubble(view)
            self.bubble.engage()
        elif not view.items:
            self.bubble.hide()
        self.place()

    def show_thread(self) -> None:
        """What happens now is more than any page."""
        if self._bubble is not None:
            self._bubble.show_page(None)

    def _show_bubble(self, view: View) -> None:
        bubble, look = self.bubble, self._look
        if self._chip is not None:
            self._chip.hide()
        if not self.shows_bubble:
            self._leaving = False
            look.around.look()
            bubble.resize(look.theme.size("bubble_width") + 2 * bubble.margin, bubble.height())
            self.fill(view)
            self.place()
            if look.around.composited:
                fade_in(bubble, look.ticker, look.theme.motion_ms("open"))
            else:
                bubble.show()
        self.place()

    def engage(self) -> None:
        """The keyboard goes into the thread, where there is one: the person asked for it."""
        if self.shows_bubble:
            self.bubble.engage()
            self.bubble.focusNextPrevChild(True)

    def follow(self) -> None:
        """Go to the thread's end, where something is going to happen."""
        if self._bubble is not None:
            self._bubble.thread_view.follow()

    def point_at(self, place: Point) -> None:
        """A ring around a place on the screen, for a moment."""
        if self._ring is None:
            from app.ui.windows.overlays import RingWindow

            self._ring = RingWindow(self._look.theme, self._look.around, self._look.ticker)
        self._ring.point_at(place)

    def place(self) -> None:
        """The windows beside the orb, wherever it is."""
        self._place_chip()
        if not self.is_open and self._bubble is None:
            return
        theme, screen = self._look.theme, self.placement.screen()
        writing = self.is_writing
        field_size = _size(self.composer.wanted_size()) if writing else Size(theme.size("bubble_width"), 0)
        bubble = self.bubble
        bubble.set_footer(shown=not writing)
        most = round(screen.height * theme.ratio("bubble_height")) - field_size.height
        found = orb_placement.arranged(
            screen, self.orb.rest_rect(), _size(bubble.wanted_size(most)), field_size, theme.size("gap")
        )
        bubble.place_body(found.bubble)
        if writing:
            self.composer.place_body(found.composer)

    def screens_changed(self) -> None:
        """Monitors came, went or changed."""
        self.placement.retake()
        self.place()

    def _place_chip(self) -> None:
        if self._chip is None:
            return
        orb, gap, size = self.orb.rest_rect(), self._look.theme.size("gap"), self._chip.body_size()
        screen = self.placement.screen()
        x = orb.x - gap - size.width() if orb.center.x > screen.center.x else orb.right + gap
        wanted = Rect(x, orb.center.y - size.height() // 2, size.width(), size.height())
        self._chip.place_body(orb_placement.kept_inside(wanted, screen))

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


def _size(size: QSize) -> Size:
    return Size(size.width(), size.height())


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
            at_once = row.key in self._spoken
            self._spoken.add(row.key)
            return SaidRow(self._theme, self._ticker, at_once=at_once)
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
