"""The orb and the windows beside it: created when first needed, placed on the side with more room, shown and hidden.

The stage decides nothing: it emits the person's actions as signals, and shows what the presence passes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSignalBlocker, Qt, Signal

from app.base.geometry import Point, Rect, Size
from app.settings.catalog import PROVIDER
from app.ui.approvals.row import ApprovalRow
from app.ui.bubble.rows import OfferRow, RowWidget, TakeBackRow
from app.ui.bubble.speech import AskedRow, EndedRow, NoticeRow, SaidRow
from app.ui.cards.card import CardRow, FoldRow
from app.ui.cards.contents import ChecklistRow
from app.ui.cards.picture import CommandRow
from app.ui.machine import ListPage
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
from app.ui.translation import words
from app.ui.windows import orb_placement
from app.ui.windows.floating import FocusWatch, PointRequest
from app.ui.windows.orb_placement import Arrangement, OrbPlacement

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.ui.bubble.window import BubbleWindow
    from app.ui.buttons import BarChoice
    from app.ui.composer.window import ComposerView
    from app.ui.pages.listing import Page
    from app.ui.windows.overlays import CaptionWindow, PictureWindow, RingWindow


class Stage(QObject):
    """The orb and the windows beside it. The orb exists from the start; a window is created when it is first needed."""

    said = Signal(str, object, str, object)
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

    def __init__(self, look: Look, orb: OrbWindow | None = None, pages: Sequence[ListPage] = ()) -> None:
        super().__init__()
        self._look = look
        self.orb = orb or OrbWindow(look.theme, look.around, look.ticker)
        self.placement = OrbPlacement(self.orb, look.theme)
        self.orb.dragged.connect(self.place)
        self.orb.moved.connect(self._settle)
        self._bubble: BubbleWindow | None = None
        self._before = 0
        """The window that gets the keyboard back: the one that had it last beside Wisp's own."""
        self._watch: FocusWatch | None = None
        self._choices: tuple[BarChoice, ...] = ()
        self._pages = pages
        self.recent: tuple[str, ...] = ()
        """The last tasks, the newest first."""
        self.commands: tuple[str, ...] = ()
        """The beginnings of what can be written instead of a task, such as `/server:prompt`."""
        self._caption: CaptionWindow | None = None
        self._viewer: PictureWindow | None = None
        self._ring: RingWindow | None = None
        self._rows: RowMaker | None = None
        self._rows_before: RowMaker | None = None

    @property
    def bubble(self) -> BubbleWindow:
        if self._bubble is None:
            from app.base.tool_words import tool_words
            from app.ui.bubble.window import BubbleWindow

            tool_words("")  # now, so that the table is not read while the first words stream in
            look = self._look
            self._bubble = BubbleWindow(look.theme, look.around, look.ticker, self._row_maker().make, self._greeting())
            self._bubble.closed.connect(self.left)
            self._bubble.height_wanted.connect(self.place)
            self._bubble.installEventFilter(self)
            self._connect(self._bubble)
        return self._bubble

    def _greeting(self) -> tuple[str, str]:
        from app.ui.composer.home import todays

        return self._look.name, QCoreApplication.translate("Composer", todays())

    def _connect(self, bubble: BubbleWindow) -> None:
        """Pass on what the person does in what the bubble contains now."""
        header, composer = bubble.header, bubble.composer
        header.stop_wanted.connect(self.stop_wanted)
        header.settings_wanted.connect(self.settings_wanted)
        header.page_wanted.connect(self.page_wanted)
        header.setting_chosen.connect(self.setting_chosen)
        header.show_choices(self._choices)
        header.pages = {page.name: page.title.said(words) for page in self._pages}
        composer.sent.connect(self.said)
        composer.left.connect(self.left)
        composer.keyboard_wanted.connect(self.take_keyboard)
        composer.thread_wanted.connect(bubble.enter_thread)
        composer.history_wanted.connect(lambda: self.page_wanted.emit("history"))
        bubble.home.chosen.connect(lambda text: self.said.emit(text, (), "", composer.chips.take_program()))
        self.composer_made.emit(composer)

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
            self._caption.uttered.connect(self.orb.utter)
        return self._caption

    @property
    def is_open(self) -> bool:
        return self._bubble is not None and self._bubble.isVisible() and not self._bubble.is_leaving

    def surface_id(self) -> int:
        """Return the id of the bubble's window; 0 if the bubble was not created yet."""
        return int(self._bubble.winId()) if self._bubble is not None else 0

    def take_keyboard(self) -> None:
        """Give the text field the keyboard, and note which window had it, for `return_keyboard`."""
        bubble = self.bubble
        self._note_program()
        self._forget_the_gone()
        bubble.engage()
        lines = (line.text() for line in bubble.home.lines)
        bubble.composer.field.complete_from((*self.recent, *self.commands, *lines))
        bubble.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Note which window has the keyboard when the pointer enters the bubble: a click may take it."""
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Show):
            self._note_program()
        return super().eventFilter(watched, event)

    def _note_program(self) -> None:
        """Note which other window has the keyboard. While the bubble is open, do so whenever another one gets it."""
        server = self._look.around.server
        active = server.active_window() if server is not None else 0
        if active and active not in (self.surface_id(), *self._look.around.ids()):
            self._before = active
        if server is not None and self._watch is None:
            self._watch = FocusWatch(server.active_window_atom())
            self._watch.changed.connect(self._note_program, Qt.ConnectionType.QueuedConnection)
        if self._watch is not None:
            self._watch.set_on(is_on=self.is_open)

    def return_keyboard(self) -> bool:
        """Give the keyboard back to the window that had it before the bubble. The bubble stays visible if possible.
        Return whether the bubble had the keyboard."""
        server = self._look.around.server
        if not self.is_open or not self.bubble.isActiveWindow():
            return False
        self.bubble.accept_focus(accepts=False)
        # Now, because Qt would say for another 400 ms that the field has the keyboard, and keys would get lost.
        self.bubble.composer.field.clearFocus()
        if self._look.around.keyboard is not None:
            self.bubble.give_keyboard_back()
        elif server is None:
            self.hide_shortly()
        elif self._before:
            server.activate(self._before)
        return True

    def give_up_keyboard(self) -> None:
        """Let no window have the keyboard if none had it before the bubble. This may need several calls."""
        server = self._look.around.server
        self._forget_the_gone()
        if server is not None and not self._before:
            server.give_up_keyboard()

    def _forget_the_gone(self) -> None:
        """Forget the noted window if it is not visible any more. The window manager may still name it."""
        server = self._look.around.server
        if server is not None and self._before and server.shown_at(self._before) is None:
            self._before = 0

    def is_lending(self) -> bool:
        """Return whether no other window has the keyboard than the one that had it before the bubble.

        A busy window manager may have done nothing yet of what it was asked, and still names the bubble or none. On
        XWayland nobody tells: the person may be writing in a native program.
        """
        server = self._look.around.server
        if self._look.around.keyboard is not None:
            return False
        return server is not None and server.active_window() in (0, self._before, self.surface_id())

    def hide_shortly(self) -> None:
        """Hide the bubble and show it again, so that it loses the keyboard.

        That is the only way if no other window can take the keyboard.
        """
        self.bubble.hide()
        self.bubble.show()

    def hide(self) -> None:
        """Hide everything but the orb."""
        if self.is_open:
            self.bubble.leave_to(self._arranged())
            self.bubble.show_page(None)

    def show_progress(self, view: View) -> None:
        """Show the progress of a turn in the line beside the orb, unless the bubble is open."""
        if self.is_open or not (view.running or (self._caption is not None and self._caption.isVisible())):
            return
        self.caption.show_view(view)
        self._show_caption()

    def show_planned(self, view: View, sentence: str) -> None:
        """Say what came of something planned in the line beside the orb, unless the bubble is open."""
        if not self.is_open:
            self.caption.show_planned(view, sentence)
            self._show_caption()

    def _show_caption(self) -> None:
        if not self.caption.isVisible():
            self._place_caption()
            self.caption.show()

    def restyle(self, look: Look, view: View) -> None:
        """Use another look. What is open stays where it is and changes at once: another window would flash."""
        self._look = look
        self._rows, self._rows_before = None, self._rows
        self.orb.dress(look.theme)
        self.placement = OrbPlacement(self.orb, look.theme)
        for window in (self._caption, self._viewer, self._ring):
            if window is not None:
                window.dress(look.theme)
        if self._bubble is not None and self.is_open:
            with QSignalBlocker(self._bubble):  # so that it keeps its size until all rows are in it
                self._bubble.refurnish(look.theme, self._row_maker().make, self._greeting())
                self._connect(self._bubble)
                self.fill(view)
        elif self._bubble is not None:
            self._bubble.hide()
            self._bubble.deleteLater()
            self._bubble = None
        self.place()

    def fill(self, view: View) -> None:
        """Show the view's thread in the bubble, with the newest card open, unless the answer says what it printed."""
        bubble, rows = self.bubble, self._row_maker()
        rows.note_newest(_to_open(view.items), view.items, bubble.thread_view.realised)
        bubble.show_view(view, folded(view.items, rows.open_folds, running=view.running))

    def show_bubble(self, view: View, *, writes: bool = False) -> None:
        """Show the bubble beside the orb. With `writes` it gets the keyboard."""
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
        """Show the settings that can be changed in the bar."""
        self._choices = choices
        if self._bubble is not None:
            self._bubble.header.show_choices(choices)

    def _offer(self) -> None:
        """Show suggestions in the bubble that suit the window which has the keyboard now."""
        server = self._look.around.server
        front = server.active_window() if server is not None else 0
        program, title = server.name_of(front) if server is not None and front else ("", "")
        has_model = any(choice.key == PROVIDER.key and choice.value != "offline" for choice in self._choices)
        self.bubble.home.offer(f"{program} {title}", program, self.recent, has_model=has_model)

    def show_page(self, page: Page | None, view: View) -> None:
        """Show a page with the keyboard in the bubble, because the person asked for it. None: the thread."""
        self.bubble.show_page(page)
        if page is not None:
            self.show_bubble(view)
            self.bubble.engage()
        self.place()

    def show_thread(self) -> None:
        """Show the thread instead of a page, because the person wants to see what happens now."""
        if self._bubble is not None:
            self._bubble.show_page(None)

    def engage(self) -> None:
        """Give the keyboard to the thread if the bubble is open, because the person asked for it."""
        if self.is_open:
            self.bubble.engage()
            self.bubble.enter_thread()

    def follow(self) -> None:
        """Scroll to the end of the thread and stay there, because a new row is about to come."""
        if self._bubble is not None:
            self._bubble.thread_view.follow()

    def point_out(self, request: PointRequest) -> None:
        """Show a ring around the place where Wisp is about to act. Answer the request once the ring is visible."""
        if request.shown.set_running_or_notify_cancel():  # false where the act has gone on without it
            shown, was = request.shown, request.came_from
            way = orb_placement.from_pixels(request.place), orb_placement.logical(was.x, was.y)
            ring = self._point_at(*way, request.name, lambda: shown.set_result(ring.marked))

    def point_at(self, place: Point, name: str) -> None:
        """Show a ring for a moment around the place where Wisp acted, with the control's name."""
        self._point_at(Rect(place.x, place.y, 1, 1), place, name)

    def _point_at(
        self, place: Rect, came_from: Point, name: str, shown: Callable[[], None] | None = None
    ) -> RingWindow:
        if self._ring is None:
            from app.ui.windows.overlays import RingWindow

            self._ring = RingWindow(self._look.theme, self._look.around, self._look.ticker)
        self._ring.point_at(place, came_from, name, orb_placement.screen_at(place.center), shown)
        return self._ring

    def place(self) -> None:
        """Move the open windows to their places beside the orb."""
        self._place_caption()
        if self.is_open:
            self.bubble.move_to(self._arranged())

    def show_beside(self, window: QWidget) -> None:
        """Show another window of Wisp, in front and with the keyboard, where neither orb nor bubble covers it.

        Without room for both, `left` is emitted, so that the bubble closes. A window that is not covered stays where
        the person has moved it.
        """
        screen, gap = self.placement.screen(), self._look.theme.size("gap")
        frame, title = window.frameGeometry(), 0 if window.isVisible() else self._look.theme.size("header_height")
        rect = Rect(frame.x(), frame.y(), frame.width(), frame.height() + title)  # its frame comes when it is shown
        found = orb_placement.clear_of(rect, self._taken(), screen, gap)
        if found is None:
            if self.is_open:
                self.left.emit()
            found = orb_placement.clear_of(rect, self.orb.rest_rect(), screen, gap)
        if found is not None and (found.x, found.y) != (rect.x, rect.y):
            window.move(found.x, found.y)
        window.show()
        window.raise_()
        window.activateWindow()

    def _taken(self) -> Rect:
        """What orb and bubble may cover together, whatever the bubble shows."""
        theme, screen, orb = self._look.theme, self.placement.screen(), self.orb.rest_rect()
        most = Size(theme.size("bubble_width"), round(screen.height * theme.ratio("bubble_height")))
        body = orb_placement.arranged(screen, orb, most, theme.size("gap")).body
        left, top = min(orb.x, body.x), min(orb.y, body.y)
        return Rect(left, top, max(orb.right, body.right) - left, max(orb.bottom, body.bottom) - top)

    def _arranged(self) -> Arrangement:
        theme, screen = self._look.theme, self.placement.screen()
        size = self.bubble.wanted_size(round(screen.height * theme.ratio("bubble_height")))
        wanted = Size(size.width(), size.height())
        return orb_placement.arranged(screen, self.orb.rest_rect(), wanted, theme.size("gap"))

    def screens_changed(self) -> None:
        """Move the orb and the windows to fitting places after the monitors changed."""
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
            made.uttered.connect(self.orb.utter)
            self._rows = made
        return self._rows

    def open_picture(self, picture: ShownPicture) -> None:
        if self._viewer is None:
            from app.ui.windows.overlays import PictureWindow

            self._viewer = PictureWindow(self._look.theme, self._look.around)
        self._viewer.show_picture(picture, self.placement.screen())

    def _settle(self, rect: Rect) -> None:
        """Handle the end of a drag of the orb: save its place, and move the windows beside it."""
        self.placement.settle(rect)
        self.place()


def _to_open(items: Sequence[Item]) -> str:
    """The key of the newest card; "" if there is none, or if it has ended and an answer came after it."""
    is_answered = False
    for item in reversed(items):
        if isinstance(item, Card):
            return "" if is_answered and not item.is_open else item.key
        is_answered = is_answered or isinstance(item, (SpokenItem, TurnOutcome))
    return ""


_QUIET: Mapping[type[Item], type[RowWidget]] = {
    Asked: AskedRow,
    ShownChecklist: ChecklistRow,
    Command: CommandRow,
    TurnOutcome: EndedRow,
    NoticeItem: NoticeRow,
}
"""Rows with nothing to press that the presence must hear of."""


class RowMaker(QObject):
    """Makes the thread's widgets, passes on what the person does in them, and remembers which are open."""

    intended = Signal(object)
    keyboard_wanted = Signal()
    folds_changed = Signal()
    uttered = Signal(str, str)

    def __init__(self, theme: Theme, ticker: Ticker, before: RowMaker | None = None) -> None:
        """Take over from `before`, the maker in the old look, what was spoken and what the person opened."""
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

    def note_newest(self, key: str, items: Sequence[Item], rows: dict[str, RowWidget]) -> None:
        """Open the newest card and close the one before, except where the person opened or closed one themselves."""
        if key == self._newest:
            return
        changed = (self._newest, key)
        self._newest = key
        for card in items:
            if card.key in changed and isinstance(card, Card) and isinstance(widget := rows.get(card.key), CardRow):
                widget.set_open(is_open=self._opens(card))

    def make(self, row: Row) -> RowWidget:
        """Make the widget for a row. It is empty until the thread calls its `show_row`."""
        made = self._widget(row)
        made.intended.connect(self.intended)
        return made

    def _widget(self, row: Row) -> RowWidget:
        if isinstance(row, Card):
            return self._card()
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
            said.uttered.connect(self.uttered)
            return said
        return _QUIET[type(row)](self._theme, self._ticker)

    def _opens(self, card: Card) -> bool:
        """Whether the card is open: as the person chose, else while it is the newest or shows what a feature has for
        it, such as a small app."""
        return self._chosen.get(card.key, card.key == self._newest or card.content is not None)

    def _card(self) -> CardRow:
        card = CardRow(self._theme, self._ticker, opens=self._opens)
        card.toggled.connect(lambda key: self._toggle_card(key, card))
        return card

    def _toggle_card(self, key: str, card: CardRow) -> None:
        self._chosen[key] = not card.is_open
        card.set_open(is_open=self._chosen[key])

    def _toggle_fold(self, key: str) -> None:
        self._chosen[key] = not self._chosen.get(key, False)
        self.folds_changed.emit()
