"""The cards of features while they are on show: their buttons, what the model still writes, and what they follow.

While the model writes a drawing, its card shows what is there of it, a few times a second. A live card is taken anew
once a second while the bubble is open. Only the five newest cards are live; a press on an older card makes it one of
the five again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtGui import QGuiApplication, QImage

from app.base.errors import WispError
from app.ui.bridge import Agent, Inbox
from app.ui.cards.kinds import REVIVE, CardActions, CardKind
from app.ui.presenter.cards import replaced, with_content, with_draft
from app.ui.presenter.view import Card, PressCard, ShownPicture, View

MOST_LIVE = 5
_LOOK_MS, _DRAFT_MS = 1000, 300
_LOOKED_THROUGH = 300
"""How many of the newest rows are looked through for live cards."""


class LiveCards(QObject):
    """Carries out the presses on the cards of features, and keeps these cards up to date.

    `kinds` are the card kinds by name. `agent` and `is_open` tell whether there is an agent, and whether the bubble is
    open. `actions` returns what a press on a card may do. `begin` runs a coroutine in the background.
    """

    def __init__(
        self,
        kinds: Mapping[str, CardKind],
        inbox: Inbox,
        agent: Callable[[], Agent | None],
        is_open: Callable[[], bool],
        actions: Callable[[Card], CardActions],
        begin: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        super().__init__()
        self._kinds = kinds
        self._inbox = inbox
        self._agent = agent
        self._is_open = is_open
        self._actions = actions
        self._begin = begin
        self._order: list[str] = []
        self._timer = self._timed(_LOOK_MS, self._look)
        self._draft_timer = self._timed(_DRAFT_MS, self._draft)
        self._drafted = ""
        self._is_drafting = False

    def _timed(self, pause_ms: int, act: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(pause_ms)
        timer.timeout.connect(act)
        return timer

    def follow(self, view: View) -> None:
        """Note which cards are live or being drawn. If the bubble is open, take them anew soon."""
        written = self._being_drawn(view)
        is_new = written is not None and written.body != self._drafted
        if is_new and not (self._is_drafting or self._draft_timer.isActive()) and self._is_open():
            self._draft_timer.start()
        cards = self._following(view)
        new = [key for key in cards if key not in self._order]
        self._order = [*(key for key in self._order if key in cards), *new]
        if cards and not self._timer.isActive() and self._is_open():
            self._timer.start()

    def press(self, pressed: PressCard) -> None:
        """Carry out what the pressed button does. Needs a running event loop."""
        card, kind = pressed.card, self._kinds.get(pressed.card.kind)
        if card.content is None or kind is None:
            return
        if pressed.button == REVIVE:
            self._order = [*(key for key in self._order if key != card.key), card.key]
            self._begin(self._refresh())
        else:
            self._begin(kind.press(pressed.button, card.content, self._actions(card)))

    def _following(self, view: View) -> dict[str, Card]:
        cards = [item for item in view.items[-_LOOKED_THROUGH:] if isinstance(item, Card) and item.content]
        return {card.key: card for card in cards if card.kind in self._kinds and self._kinds[card.kind].is_live}

    def _being_drawn(self, view: View) -> Card | None:
        cards = (item for item in reversed(view.items[-_LOOKED_THROUGH:]) if isinstance(item, Card))
        drawn = [name for name, kind in self._kinds.items() if kind.is_drawn]
        return next((card for card in cards if card.is_open and card.body and card.kind in drawn), None)

    def _look(self) -> None:
        if self._is_open() and self._agent() is not None:
            self._begin(self._refresh())

    def _draft(self) -> None:
        written, agent = self._being_drawn(self._inbox.view), self._agent()
        if self._is_open() and agent is not None and written is not None:
            self._is_drafting = True
            self._begin(self._show_draft(agent, written))

    async def _show_draft(self, agent: Agent, written: Card) -> None:
        """Show on its card what there is of a drawing, unless the drawing is done meanwhile."""
        self._drafted = written.body
        try:
            seen = await self._kinds[written.kind].draft(written.body, agent.offered)
        finally:
            self._is_drafting = False
        if seen is not None:
            picture = ShownPicture(seen.data, seen.width, seen.height, written.object)
            self._inbox.change(lambda view: with_draft(view, written.call_id, picture))
        self.follow(self._inbox.view)

    async def _refresh(self) -> None:
        """Take the newest live cards anew; let the older ones rest."""
        live = set(self._order[-MOST_LIVE:])
        changed = []
        for card in self._following(self._inbox.view).values():
            seen = await self._seen(card, is_live=card.key in live)
            if seen != card:
                changed.append(seen)
        if changed:
            self._inbox.change(lambda view: _with_cards(view, changed))
        elif self._is_open():
            self._timer.start()

    async def _seen(self, card: Card, *, is_live: bool) -> Card:
        kind, agent = self._kinds[card.kind], self._agent()
        assert card.content
        if is_live:
            return with_content(card, await kind.renewed(card.content, agent.offered if agent else _nothing))
        return with_content(card, kind.rested(card.content)) if card.content.is_live else card


def _nothing(_kind: type[Any]) -> None:
    return None


def _with_cards(view: View, cards: list[Card]) -> View:
    for card in cards:
        view = replaced(view, card)
    return view


async def copy_picture(data: bytes, card: Card) -> None:
    """Put the picture into the clipboard; that of the card if the data is no picture. Raises WispError."""
    QGuiApplication.clipboard().setImage(await asyncio.to_thread(_image, data, card))


def _image(data: bytes, card: Card) -> QImage:
    image = QImage.fromData(data) if data else QImage()
    if image.isNull() and card.picture is not None:
        image.loadFromData(card.picture.data)
    if image.isNull():
        raise WispError(QCoreApplication.translate("Attach", "The picture in the clipboard cannot be read."))
    return image
