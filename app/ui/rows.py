"""Which widget shows which item of the thread."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal

from app.ui.approvals.row import ApprovalRow
from app.ui.bubble.offer import OfferRow
from app.ui.bubble.row import RowWidget
from app.ui.bubble.speech import AskedRow, EndedRow, SaidRow, ToldRow
from app.ui.bubble.takeback import TakeBackRow
from app.ui.cards.card import CardRow, FoldRow
from app.ui.cards.checklist import ChecklistRow
from app.ui.cards.command import CommandRow
from app.ui.motion import Ticker
from app.ui.presenter.folding import Fold, Row
from app.ui.presenter.view import Approval, Asked, Card, Checklist, Command, Ended, Item, Offer, Said, TakeBack, Told
from app.ui.theme import Theme

_QUIET: Mapping[type[Item], type[RowWidget]] = {
    Asked: AskedRow,
    Checklist: ChecklistRow,
    Command: CommandRow,
    Ended: EndedRow,
    Told: ToldRow,
}
"""Rows with nothing to press that the presence must hear of."""


class RowMaker(QObject):
    """Makes rows and passes on what the person does with them. `opened` says which cards and folds are open."""

    answered = Signal(str, bool, str, str)
    chosen = Signal(str)
    take_back_wanted = Signal(str)
    picture_opened = Signal(object)
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
        if isinstance(row, Card):
            return self._card(row)
        if isinstance(row, Fold):
            fold = FoldRow(self._theme, self._ticker)
            fold.toggled.connect(self._toggle_fold)
            return fold
        if isinstance(row, Approval):
            approval = ApprovalRow(self._theme, self._ticker)
            approval.answered.connect(self.answered)
            approval.picture_opened.connect(self.picture_opened)
            approval.keyboard_wanted.connect(self.keyboard_wanted)
            return approval
        if isinstance(row, Offer):
            offer = OfferRow(self._theme, self._ticker)
            offer.chosen.connect(self.chosen)
            return offer
        if isinstance(row, TakeBack):
            changes = TakeBackRow(self._theme, self._ticker)
            changes.wanted.connect(self.take_back_wanted)
            return changes
        if isinstance(row, Said):
            at_once = row.key in self._spoken
            self._spoken.add(row.key)
            return SaidRow(self._theme, self._ticker, at_once=at_once)
        return _QUIET[type(row)](self._theme, self._ticker)

    def _card(self, row: Card) -> CardRow:
        is_open = self._chosen.get(row.key, row.key == self._newest)
        card = CardRow(self._theme, self._ticker, is_open=is_open)
        card.toggled.connect(lambda key: self._toggle_card(key, card))
        card.picture_opened.connect(self.picture_opened)
        return card

    def _toggle_card(self, key: str, card: CardRow) -> None:
        self._chosen[key] = not card.is_open
        card.set_open(is_open=self._chosen[key])

    def _toggle_fold(self, key: str) -> None:
        self._chosen[key] = not self._chosen.get(key, False)
        self.folds_changed.emit()
