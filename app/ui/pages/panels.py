"""The bubble's pages: which one is open, what it shows, and what the person's presses in it do to the archive."""

from __future__ import annotations

import asyncio
import datetime
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QStandardPaths, Signal
from PySide6.QtWidgets import QFileDialog

from app.agent.agent_events import AgentEvent
from app.agent.recording import ExportFormat
from app.base.errors import WispError
from app.ui.bridge import Agent, BackgroundTasks, Inbox
from app.ui.buttons import GlyphButton
from app.ui.pages.listing import Page
from app.ui.pages.pages import HistoryPage, InboxPage, UsagePage
from app.ui.presenter import offers, presenter
from app.ui.presenter.view import View
from app.ui.theme.appearance import Look
from app.ui.windows.stage import Stage

_ENDINGS = {ExportFormat.MARKDOWN: ".md", ExportFormat.JSON: ".json"}
_NAME_CHARS = 60
_UNFIT = re.compile(r"[\\/:*?\"<>|\x00-\x1f]+")

AskWhere = Callable[[str], str]
"""Asks the person where a file shall go, given a proposal; empty where they would rather not."""


class Panels(QObject):
    """The pages beside the conversation, each made when it is first opened. `agent` returns None at first."""

    conversation_changed = Signal()

    def __init__(self, look: Look, stage: Stage, inbox: Inbox, background: BackgroundTasks) -> None:
        super().__init__()
        self.agent: Agent | None = None
        self.ask_where: AskWhere = self._asked_in_a_dialog
        self._look = look
        self._stage = stage
        self._inbox = inbox
        self._background = background
        self._history: HistoryPage | None = None
        self._news: InboxPage | None = None
        self._usage: UsagePage | None = None
        self._search = ""
        inbox.view_changed.connect(self._refresh)

    def toggle(self, name: str) -> None:
        """Open the page of that name (`history`, `news` or `usage`); where it is open, go back to the thread."""
        page, button = self._page(name)
        if self._stage.bubble.page is page and self._stage.shows_bubble:
            self.leave()
            return
        page.tell("")
        self._stage.show_page(page, button, self._inbox.view)
        self._refresh(self._inbox.view)
        if page is self._history:
            self._look_up()
        if page is self._usage:
            self._in_background(self._sum_up(), page)
        page.take_focus()

    def leave(self) -> None:
        """Back to the thread."""
        self._stage.show_page(None, None, self._inbox.view)

    @property
    def history(self) -> HistoryPage:
        if self._history is None:
            page = self._history = HistoryPage(self._look.theme)
            page.left.connect(self.leave)
            page.searched.connect(self._look_for)
            page.chosen.connect(lambda key: self._in_background(self._reopen(key), page))
            page.new_wanted.connect(lambda: self._in_background(self._begin_anew(), page))
            page.renamed.connect(lambda key, title: self._in_background(self._rename(key, title), page))
            page.deleted.connect(lambda key: self._in_background(self._delete(key), page))
            page.export_wanted.connect(
                lambda key, title, form: self._in_background(self._export(key, title, form), page)
            )
        return self._history

    @property
    def news(self) -> InboxPage:
        if self._news is None:
            page = self._news = InboxPage(self._look.theme)
            page.left.connect(self.leave)
            page.cleared.connect(lambda: self._inbox.change(offers.cleared))
            page.chosen.connect(self._go_to)
        return self._news

    @property
    def usage(self) -> UsagePage:
        if self._usage is None:
            self._usage = UsagePage(self._look.theme)
            self._usage.left.connect(self.leave)
        return self._usage

    def _page(self, name: str) -> tuple[Page, GlyphButton]:
        header = self._stage.bubble.header
        if name == "history":
            return self.history, header.history
        if name == "news":
            return self.news, header.news
        return self.usage, header.usage

    def _refresh(self, view: View) -> None:
        """Bring the open page up to date with what happens."""
        page = self._stage.bubble.page if self._stage.shows_bubble else None
        if page is None:
            return
        if page is self._news:
            self.news.show_news(view.news, time.monotonic())
            if view.unseen:
                self._inbox.change(offers.seen)
        if page is self._usage:
            self.usage.show_spent(view.turn, offers.conversation(view))

    def _go_to(self, item: str) -> None:
        self.leave()
        self._stage.bubble.thread_view.show_row_of(item)

    def _look_for(self, words: str) -> None:
        self._search = words
        self._look_up()

    def _look_up(self) -> None:
        self._in_background(self._list(), self.history)

    def _in_background(self, work: Coroutine[Any, Any, None], page: Page) -> None:
        self._background.begin(work, lambda _level, sentence: page.tell(sentence))

    def _known(self) -> Agent:
        if self.agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        return self.agent

    def _resting(self) -> Agent:
        """The agent, where no turn runs: another conversation cannot begin in the middle of one."""
        if self._inbox.view.running:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still working. Stop it first."))
        return self._known()

    async def _list(self) -> None:
        search = self._search
        found = await self._known().archive.conversations(search)
        if search == self._search:  # because the person may have typed more meanwhile
            self.history.show_conversations(found)

    async def _reopen(self, key: str) -> None:
        self._go_on(await self._resting().reopen(key))

    async def _begin_anew(self) -> None:
        self._resting().begin_anew()
        self._go_on(())

    def _go_on(self, events: Sequence[AgentEvent]) -> None:
        self._inbox.change(lambda view: presenter.retold(self._inbox.presenter, events, view))
        self.leave()
        self._stage.follow()
        self.conversation_changed.emit()

    async def _rename(self, key: str, title: str) -> None:
        await self._known().archive.rename(key, title)
        await self._list()

    async def _delete(self, key: str) -> None:
        await self._known().archive.delete(key)
        await self._list()

    async def _export(self, key: str, title: str, form: ExportFormat) -> None:
        place = self.ask_where(str(_downloads() / f"{_file_name(title)}{_ENDINGS[form]}"))
        if not place:
            return
        text = await self._known().archive.export(key, form)
        try:
            # On a thread, because the disk may be slow.
            await asyncio.to_thread(Path(place).write_text, text, encoding="utf-8")
        except OSError as error:
            words = QCoreApplication.translate("Panels", "It could not be saved there: {reason}")
            raise WispError(words.format(reason=error.strerror or error)) from error
        self.history.tell(QCoreApplication.translate("Panels", "Saved: {path}").format(path=place))

    async def _sum_up(self) -> None:
        midnight = datetime.datetime.combine(datetime.date.today(), datetime.time())
        self.usage.show_today(await self._known().archive.spent(midnight.timestamp()))

    def _asked_in_a_dialog(self, proposal: str) -> str:
        words = QCoreApplication.translate("Panels", "Save the conversation")
        place, _ = QFileDialog.getSaveFileName(self._stage.bubble, words, proposal)
        return place


def _downloads() -> Path:
    found = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation)
    return Path(found) if found else Path.home()


def _file_name(title: str) -> str:
    """A title as a name that every file system takes."""
    words = " ".join(_UNFIT.sub(" ", title).split())
    return words[:_NAME_CHARS].strip(" .") or "Wisp"
