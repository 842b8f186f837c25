"""The page for rewriting a selected text: the old words, the new ones, the difference marked, and buttons."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from app.agent.agent_events import Selected, Way
from app.base.errors import WispError
from app.ui.bubble.rows import ProseText
from app.ui.buttons import PushButton
from app.ui.pages.listing import Page
from app.ui.theme import drawing
from app.ui.theme.drawing import font, spaced
from app.ui.theme.theme import Theme
from app.ui.translation import words

if TYPE_CHECKING:
    from app.ui.bridge import Agent, Inbox, Rewriter
    from app.ui.windows.stage import Stage

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_COMPARED = 4000
"""Words of both texts together. Comparing more takes too long; they are shown without marks."""

Marked = tuple[str, bool]
"""A piece of a text, and whether it differs from the other text."""


def difference(old: str, new: str) -> tuple[list[Marked], list[Marked]]:
    """Whole words in each piece. Those are marked that the other text does not have."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(before) + len(after) > _MOST_COMPARED:
        return [(old, False)], [(new, False)]
    steps = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    gone = [("".join(before[start:end]), kind != "equal") for kind, start, end, _, _ in steps if end > start]
    come = [("".join(after[start:end]), kind != "equal") for kind, _, _, start, end in steps if end > start]
    return gone, come


class _Part(QWidget):
    """One of the two texts, with its marked pieces on a tinted ground."""

    def __init__(self, theme: Theme, name: str, color: str, *, strikes: bool) -> None:
        super().__init__()
        self._theme = theme
        self._mark = QTextCharFormat()
        ground = QColor(*theme.color(color))
        ground.setAlphaF(0.18)
        self._mark.setBackground(ground)
        self._mark.setFontStrikeOut(strikes)
        self.text = ProseText(theme, "text", theme.color("muted" if strikes else "ink"))
        self.text.setAccessibleName(name)
        box = spaced(QVBoxLayout(self), theme.count("grid"))
        box.addWidget(drawing.words_label(theme, name, quiet=True))
        box.addWidget(self.text)

    def show_pieces(self, pieces: list[Marked], width: int) -> None:
        """Show the pieces, one after the other, in a column of `width` pixels."""
        self.text.show_text("")  # because a text that stays the same would keep its earlier marks
        self.text.show_text("".join(piece for piece, _ in pieces))
        for start, end in _places(pieces):
            cursor = QTextCursor(self.text.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(self._mark)
        self.text.setFixedHeight(self.text.height_for(width))


def _places(pieces: list[Marked]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each marked piece, in Qt's positions: UTF-16 units."""
    at = 0
    for piece, is_marked in pieces:
        end = at + len(piece.encode("utf-16-le")) // 2
        if is_marked:
            yield at, end
        at = end


class RewritePage(Page):
    """Shows the selected text, the ways to rewrite it, and the difference.

    `way_chosen` carries a way's key, or "" and the person's own words. The other signals are the buttons' presses.
    """

    way_chosen = Signal(str, str)
    replace_wanted = Signal()
    put_back_wanted = Signal()
    copy_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("Rewrite", "Rewrite the selection"))
        self.ways: dict[str, PushButton] = {}
        self._rows = spaced(QVBoxLayout(), theme.count("grid"))
        self.own = QLineEdit()
        self.own.setPlaceholderText(tr("Rewrite", "Or say how, then press Enter"))
        self.own.setAccessibleName(tr("Rewrite", "How to rewrite it"))
        self.own.returnPressed.connect(self._wish)
        self.old = _Part(theme, tr("Rewrite", "Selected"), "bad", strikes=True)
        self.new = _Part(theme, tr("Rewrite", "New"), "ok", strikes=False)
        self.replace = self._button(tr("Rewrite", "Replace"), self.replace_wanted, main=True)
        self.put_back = self._button(tr("Rewrite", "Put it back"), self.put_back_wanted)
        self.copy = self._button(tr("Rewrite", "Copy"), self.copy_wanted)
        self.discard = self._button(tr("Rewrite", "Discard"), self.left)
        self.box.addLayout(self._rows)
        self.box.addWidget(self.own)
        self.box.addWidget(self._texts(), 1)
        self.box.addWidget(self.note)
        foot = spaced(QHBoxLayout(), theme.size("gap"))
        foot.addStretch()
        for button in (self.discard, self.copy, self.put_back, self.replace):
            foot.addWidget(button)
        self.box.addLayout(foot)

    def show_selected(self, seen: Selected, ways: Mapping[str, Way], *, has_model: bool) -> None:
        """Show a text that was just selected, and the ways to rewrite it. `has_model`: the person may also wish."""
        self._show_ways(ways)
        self.own.setVisible(has_model)
        self.own.clear()
        self.old.show_pieces([(seen.text, False)], self._width())
        self.new.hide()
        self.put_back.hide()
        for button in (self.replace, self.copy):
            button.hide()
        self.discard.setText(QCoreApplication.translate("Rewrite", "Discard"))
        self.tell("")

    def show_new(self, pieces: tuple[list[Marked], list[Marked]], *, obstacle: str, is_same: bool) -> None:
        """Show the difference between the selected text and the new one.

        `obstacle` is the sentence why the new one cannot take its place, "" if it can. `is_same`: nothing differs.
        """
        tr = QCoreApplication.translate
        self.old.show_pieces(pieces[0], self._width())
        self.new.show_pieces(pieces[1], self._width())
        self.new.show()
        self.copy.show()
        self.put_back.hide()
        same = tr("Rewrite", "There is nothing to change.")
        self.replace.setVisible(not obstacle and not is_same)
        self.tell(same if is_same else tr("Rewrite", obstacle) if obstacle else "")
        if self.replace.isVisible():
            self.replace.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_replaced(self) -> None:
        """Offer to put the selected text back, because the new one has taken its place. No other way is offered."""
        for widget in (*self.ways.values(), self.own, self.replace):
            widget.hide()
        self.put_back.show()
        self.discard.setText(QCoreApplication.translate("Rewrite", "Done"))
        self.tell(QCoreApplication.translate("Rewrite", "Replaced."))
        self.put_back.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_busy(self, *, is_busy: bool) -> None:
        """Disable the ways and buttons while something is under way."""
        for widget in (*self.ways.values(), self.own, self.replace, self.put_back, self.copy):
            widget.setEnabled(not is_busy)

    def take_focus(self) -> None:
        first = next(iter(self.ways.values()), self.back)
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def _button(self, words: str, pressed: Any, *, main: bool = False) -> PushButton:
        made = PushButton(words)
        made.setAutoDefault(True)
        if main:
            made.setObjectName("main")
        made.clicked.connect(pressed)
        return made

    def _texts(self) -> QScrollArea:
        inner = QWidget()
        box = spaced(QVBoxLayout(inner), self.theme.size("gap"))
        box.addWidget(self.old)
        box.addWidget(self.new)
        box.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        for part in (inner, area.viewport()):  # because Qt's own ground is that of the system's theme
            part.setAutoFillBackground(False)
        return area

    def _width(self) -> int:
        theme = self.theme
        return theme.size("bubble_width") - 2 * theme.size("padding") - theme.size("scrollbar")

    def _show_ways(self, ways: Mapping[str, Way]) -> None:
        for old in self.ways.values():
            old.hide()
            old.deleteLater()
        self.ways = {}
        theme, left = self.theme, 0
        row = QHBoxLayout()
        for key, way in ways.items():
            button = self.ways[key] = PushButton(QCoreApplication.translate("Rewrite", way.name))
            button.setObjectName("way")
            button.setFont(font(theme, "small"))
            button.setAutoDefault(True)
            button.clicked.connect(partial(self.way_chosen.emit, key, ""))
            button.ensurePolished()  # so that it knows its width
            wide = button.sizeHint().width() + theme.count("grid")
            if wide > left:
                left, row = self._width(), spaced(QHBoxLayout(), theme.count("grid"))
                row.addStretch()
                self._rows.addLayout(row)
            left -= wide
            row.insertWidget(row.count() - 1, button)

    def _wish(self) -> None:
        if words := self.own.text().strip():
            self.way_chosen.emit("", words)


class Rewriting:
    """Leads through one rewriting: reads the selection, asks for other words, replaces the text and puts it back.

    `focus_left` waits until the bubble has lost the keyboard. `begin` runs a coroutine in the background.
    """

    def __init__(
        self,
        theme: Theme,
        stage: Stage,
        inbox: Inbox,
        agent: Callable[[], Agent | None],
        focus_left: Callable[[], Awaitable[None]],
        begin: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._stage = stage
        self._inbox = inbox
        self._agent = agent
        self._focus_left = focus_left
        self._begin = begin
        self.page = RewritePage(theme)
        self._seen: Selected | None = None
        self._new = ""
        self._task: asyncio.Task[Any] | None = None
        self._is_left = False
        page = self.page
        page.left.connect(self._leave)
        page.way_chosen.connect(lambda way, own: self._work(self._rewrite(way, own)))
        page.replace_wanted.connect(lambda: self._work(self._replace()))
        page.put_back_wanted.connect(lambda: self._work(self._put_back()))
        page.copy_wanted.connect(self._copy)

    def begin(self) -> None:
        """Read what is selected in the person's program, and open the page with it."""
        self._stage.composer.tell("")
        self._begin(self._opened())

    async def _opened(self) -> None:
        try:
            rewriter = self._rewriter()
            self._seen = await self._lent(rewriter.selected)
        except WispError as error:
            self._stage.take_keyboard()
            self._stage.composer.tell(_said(error))
            self.page.deleteLater()
            return
        self.page.show_selected(self._seen, rewriter.ways(), has_model=rewriter.has_model)
        self._stage.show_page(self.page, self._inbox.view)
        self.page.take_focus()

    async def _rewrite(self, way: str, own: str) -> None:
        assert self._seen is not None
        self.page.tell(QCoreApplication.translate("Rewrite", "Rewriting…"))
        seen = self._seen
        self._new = await self._rewriter().rewritten(seen.text, way, own)
        pieces = await asyncio.to_thread(difference, seen.text, self._new)
        self.page.set_busy(is_busy=False)
        self.page.show_new(pieces, obstacle=seen.obstacle_to(self._new), is_same=self._new == seen.text)

    async def _replace(self) -> None:
        assert self._seen is not None
        await self._lent(partial(self._rewriter().replace, self._seen, self._new))
        self._stage.bubble.engage()
        self.page.set_busy(is_busy=False)
        self.page.show_replaced()

    async def _put_back(self) -> None:
        assert self._seen is not None
        await self._lent(partial(self._rewriter().put_back, self._seen, self._new))
        self._stage.bubble.engage()
        self._task = None
        self.page.left.emit()

    async def _lent(self, act: Any) -> Any:
        """Await the act while the person's program has the keyboard."""
        self._stage.return_keyboard()
        await self._focus_left()
        return await act()

    def _leave(self) -> None:
        self._is_left = True
        if self._task:
            self._task.cancel()
        self._stage.show_page(None, self._inbox.view)
        self.page.deleteLater()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._new)
        self.page.tell(QCoreApplication.translate("Rewrite", "Copied."))

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        self.page.set_busy(is_busy=True)
        self._begin(self._worked(work))

    async def _worked(self, work: Coroutine[Any, Any, None]) -> None:
        """Await the work, and tell its error. Leaving the page cancels the work; the page is not touched then."""
        self._task = asyncio.current_task()
        try:
            await work
        except WispError as error:
            if not self._is_left:
                self._stage.bubble.engage()
                self.page.tell(_said(error))
        finally:
            self._task = None
            if not self._is_left:
                self.page.set_busy(is_busy=False)

    def _rewriter(self) -> Rewriter:
        agent = self._agent()
        if agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        return agent.rewriter


def _said(error: WispError) -> str:
    return error.for_people(words)
