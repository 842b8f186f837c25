"""The card of a picture or a small app that Wisp made, with buttons for what the person can do with it.

While the model writes an SVG, its card shows what is there of it, a few times a second.

A small app has a window of its own. Its card shows a picture of that window, which is taken anew once a second while
the bubble is open. Only the five newest cards do so; a press on an older card makes it one of the five again.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.base.errors import WispError
from app.base.tool_words import tool_words
from app.base.values import replace
from app.ui.buttons import WordButton
from app.ui.cards.contents import CardPart
from app.ui.cards.picture import PictureView
from app.ui.presenter.cards import replaced, with_draft
from app.ui.presenter.view import Card, Made, ShownPicture, Use, View
from app.ui.theme.drawing import font, put
from app.ui.theme.theme import Theme

if TYPE_CHECKING:
    from app.ui.bridge import Agent
    from app.ui.presence import Presence

MOST_LIVE = 5
_LOOK_MS, _DRAFT_MS = 1000, 300
_DRAWING = "svg"
"""The argument that holds the picture itself, so that it is seen while the model writes it."""
_LOOKED_THROUGH = 300
"""How many of the newest rows are looked through for small apps."""


class MadeView(CardPart):
    """The picture of what Wisp made, a line about it, and its buttons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._made = Made()
        self._line = ""
        self.picture = PictureView(theme, self)
        self.picture.opened.connect(self._press)
        self.buttons: dict[Use, WordButton] = {}

    def show_card(self, card: Card) -> None:
        made = card.made or Made()
        if card.picture is not None:
            self.picture.show_picture(card.picture)
        had_picture = not self.picture.isHidden()
        self.picture.setVisible(card.picture is not None)
        if (made, had_picture) != (self._made, card.picture is not None) or not self.buttons:
            self._made = made
            self._line = _line_about(made)
            self._fill(made)
            self.height_changed.emit()
        self.update()

    def height_for(self, width: int) -> int:
        theme, gap = self.theme, self.theme.size("gap")
        y = 0
        if not self.picture.isHidden():
            high = self.picture.height_for(width)
            self.picture.setGeometry(0, 0, min(self.picture.width_for(high), width), high)
            y = high + gap
        if self._line:
            y += theme.type("small").line + gap
        x = 0
        for button in self.buttons.values():
            if x and x + button.width() > width:
                x, y = 0, y + button.height() + gap
            put(button, QRect(QPoint(x, y), button.size()), width)
            x += button.width() + gap
        return y + max((button.height() for button in self.buttons.values()), default=0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._line:
            return
        painter, theme = QPainter(self), self.theme
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("muted")))
        top = 0 if self.picture.isHidden() else self.picture.height() + theme.size("gap")
        elided = QFontMetricsF(painter.font()).elidedText(self._line, Qt.TextElideMode.ElideRight, self.width())
        place = QRect(0, top, self.width(), theme.type("small").line)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, elided)

    def _press(self, picture: ShownPicture) -> None:
        """Show a picture in full size. For a small app, show its window, or let its card follow the window again."""
        if not self._made.surface:
            self.opened.emit(picture)
        else:
            self.used.emit(Use.OPEN if self._made.is_live else Use.REVIVE)

    def _fill(self, made: Made) -> None:
        wanted = _uses(made)
        if list(wanted) == list(self.buttons):
            return
        for old in self.buttons.values():
            old.hide()
            old.deleteLater()
        self.buttons = {}
        for use, words in wanted.items():
            button = WordButton(self.theme, words, parent=self)
            button.clicked.connect(lambda _=False, use=use: self.used.emit(use))
            button.show()
            self.buttons[use] = button


def _uses(made: Made) -> Mapping[Use, str]:
    """Return the buttons for this picture or app, with their words."""
    tr = QCoreApplication.translate
    if made.surface:
        first = {Use.OPEN: tr("Cards", "Open")} if made.is_live else {Use.REVIVE: tr("Cards", "Revive")}
        return {**first, Use.PIN: tr("Cards", "Pin to the desktop")}
    words = {
        Use.INSERT: tr("Cards", "Insert"),
        Use.SAVE: tr("Cards", "Save…"),
        Use.COPY: tr("Cards", "Copy"),
        **(
            {Use.UNHANG: tr("Cards", "Take back the wallpaper")}
            if made.is_hung
            else {Use.WALLPAPER: tr("Cards", "Use as wallpaper")}
        ),
    }
    return {**words, Use.AGAIN: tr("Cards", "Draw again")} if made.prompt else words


def _line_about(made: Made) -> str:
    tr = QCoreApplication.translate
    if not made.surface:
        return ""
    if not made.is_live:
        return tr("Cards", "Tap to revive")
    return tr("Cards", "Its window is closed") if made.is_closed else tr("Cards", "A live picture of its window")


class MadeThings(QObject):
    """Carries out what the person does with made pictures and small apps, and keeps the cards of small apps and of
    drawings that the model still writes up to date."""

    def __init__(self, presence: Presence) -> None:
        super().__init__(presence)
        self._presence = presence
        self._order: list[str] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._draft_timer = QTimer(self)
        self._draft_timer.setSingleShot(True)
        self._draft_timer.setInterval(_DRAFT_MS)
        self._draft_timer.timeout.connect(self._draft)
        self._drafted = ""
        self._is_drafting = False

    def follow(self, view: View) -> None:
        """Note which cards show small apps and drawings. If the bubble is open, take pictures of them soon."""
        written = _being_drawn(view)
        is_new = written is not None and written.body != self._drafted
        if is_new and not (self._is_drafting or self._draft_timer.isActive()) and self._presence.is_open:
            self._draft_timer.start()
        apps = _apps_in(view)
        new = [key for key in apps if key not in self._order]
        self._order = [*(key for key in self._order if key in apps), *new]
        if apps and not self._timer.isActive() and self._presence.is_open:
            self._timer.start()

    def use(self, use: Use, card: Card) -> None:
        """Carry out what the pressed button does with the picture or app on the card. Needs a running event loop."""
        if card.made is None:
            return
        if use is Use.REVIVE:
            self._order = [*(key for key in self._order if key != card.key), card.key]
            self._presence.in_background(self._refresh())
        else:
            self._presence.in_background(self._used(use, card, card.made))

    async def _used(self, use: Use, card: Card, made: Made) -> None:
        agent, show = self._presence.session, self._presence.inbox.receive
        if use is Use.SAVE:
            content = await asyncio.to_thread(_content_of, made)
            self._presence.panels.save_copy(Path(made.file).name, content)
        elif use is Use.INSERT:
            await asyncio.to_thread(_content_of, made)
            self._presence.open()
            self._presence.composer.files_offered.emit([Path(made.file)])
        elif use is Use.COPY:
            image = await asyncio.to_thread(_image_of, card, made)
            QGuiApplication.clipboard().setImage(image)
        elif use is Use.PIN:
            self._presence.tell("info", await self._presence.panels.carry_out("apps", "pin", made.surface))
        elif agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        elif use is Use.WALLPAPER:
            # No second question: the button says what it does, and one press on the same place takes it back.
            is_hung = await agent.perform("set_wallpaper", {"path": made.path or made.file}, show)
            self._mark_hung(card, is_hung=is_hung)
        elif use is Use.UNHANG:
            self._mark_hung(card, is_hung=not await agent.perform("set_wallpaper", {"restore": True}, show))
        elif use is Use.AGAIN:
            await agent.perform("generate_image", {"prompt": made.prompt, "size": made.shape or "square"}, show)
        elif use is Use.OPEN:
            tool = "launch_shortcut" if made.surface.startswith("widget-") else "launch_app"
            await agent.perform(tool, {"id": made.surface}, _unshown)

    def _mark_hung(self, card: Card, *, is_hung: bool) -> None:
        """Let the card offer to take the wallpaper back, or to hang its picture up."""
        assert card.made
        hung = replace(card, made=replace(card.made, is_hung=is_hung))
        self._presence.inbox.change(lambda view: replaced(view, hung))

    def _look(self) -> None:
        if self._presence.is_open and self._presence.session is not None:
            self._presence.in_background(self._refresh())

    def _draft(self) -> None:
        written = _being_drawn(self._presence.inbox.view)
        if self._presence.is_open and self._presence.session is not None and written is not None:
            self._is_drafting = True
            self._presence.in_background(self._show_draft(self._presence.session, written))

    async def _show_draft(self, agent: Agent, written: Card) -> None:
        """Show on its card what there is of a drawing, unless the drawing is done meanwhile."""
        self._drafted = written.body
        try:
            seen = await agent.drawing_so_far(written.body)
        finally:
            self._is_drafting = False
        if seen is not None:
            picture = ShownPicture(seen.data, seen.width, seen.height, written.object)
            self._presence.inbox.change(lambda view: with_draft(view, written.call_id, picture))
        self.follow(self._presence.inbox.view)

    async def _refresh(self) -> None:
        """Take new pictures of the windows for the newest cards of small apps; mark the older cards as no longer
        live."""
        live = set(self._order[-MOST_LIVE:])
        changed = []
        for card in _apps_in(self._presence.inbox.view).values():
            seen = await self._seen(card) if card.key in live else _rested(card)
            if seen != card:
                changed.append(seen)
        if changed:
            self._presence.inbox.change(lambda view: _with_cards(view, changed))
        elif self._presence.is_open:
            self._timer.start()

    async def _seen(self, card: Card) -> Card:
        agent = self._presence.session
        assert card.made
        taken = await agent.surface_picture(card.made.surface) if agent else None
        made = replace(card.made, is_live=True, is_closed=taken is None)
        if taken is None or (card.picture and card.picture.data == taken.data):
            return card if made == card.made else replace(card, made=made)
        name = card.object or card.made.surface
        return replace(card, made=made, picture=ShownPicture(taken.data, taken.width, taken.height, name))


def _apps_in(view: View) -> dict[str, Card]:
    """Return the newest cards that show a small app, by their key."""
    cards = [item for item in view.items[-_LOOKED_THROUGH:] if isinstance(item, Card)]
    return {card.key: card for card in cards if card.made is not None and card.made.surface}


def _being_drawn(view: View) -> Card | None:
    """Return the newest card of an SVG that the model still writes."""
    cards = (item for item in reversed(view.items[-_LOOKED_THROUGH:]) if isinstance(item, Card))
    return next((card for card in cards if card.is_open and card.body and tool_words(card.tool).body == _DRAWING), None)


def _rested(card: Card) -> Card:
    assert card.made
    return replace(card, made=replace(card.made, is_live=False)) if card.made.is_live else card


def _with_cards(view: View, cards: list[Card]) -> View:
    for card in cards:
        view = replaced(view, card)
    return view


def _image_of(card: Card, made: Made) -> QImage:
    """Return the made picture in full size. For an SVG, it is the picture on the card. Reads a file and blocks."""
    image = QImage() if made.file.endswith(".svg") else QImage.fromData(_content_of(made))
    if image.isNull() and card.picture is not None:
        image.loadFromData(card.picture.data)
    if image.isNull():
        raise WispError(QCoreApplication.translate("Attach", "The picture in the clipboard cannot be read."))
    return image


def _content_of(made: Made) -> bytes:
    """Return the content of the made file. Blocks.

    Raises WispError if it cannot be read or is another one now: a command may have put a link to a secret in its place.
    """
    try:
        if Path(made.file).resolve() != Path(made.file) or not stat.S_ISREG(os.lstat(made.file).st_mode):
            raise OSError
        with open(os.open(made.file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            return file.read()
    except OSError:
        words = QCoreApplication.translate("Cards", "This picture is no longer where it was made.")
        raise WispError(words) from None


def _unshown(_event: object) -> None:
    """Ignore the events of a call: the window that it opens is enough for the person to see."""
