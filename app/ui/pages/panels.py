"""The bubble's pages: which one is open, what it shows, and what the person's presses in it do to the archive."""

from __future__ import annotations

import asyncio
import base64
import datetime
import html
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QStandardPaths, Signal
from PySide6.QtWidgets import QFileDialog

from app.agent.agent_events import AgentEvent
from app.agent.recording import ExportFormat
from app.base import resources
from app.base.errors import WispError
from app.ui.bridge import Agent, BackgroundTasks, Inbox
from app.ui.machine import Collection
from app.ui.pages.collection import CollectionPage, collection_words
from app.ui.pages.listing import Page
from app.ui.pages.pages import HistoryPage, InboxPage, UsagePage
from app.ui.presenter import offers, presenter
from app.ui.presenter.cards import frames_of
from app.ui.presenter.view import Asked, Card, ShownPicture, View
from app.ui.theme.appearance import Look
from app.ui.windows.stage import Stage

_ENDINGS = {ExportFormat.MARKDOWN: ".md", ExportFormat.JSON: ".json"}
_NAME_CHARS = 60
_COLLECTIONS = ("planned", "memory", "servers")
_JPEG = b"\xff\xd8"
_UNFIT = re.compile(r"[\\/:*?\"<>|\x00-\x1f]+")

AskWhere = Callable[[str], str]
"""Asks the person where a file shall go, given a proposal; empty where they would rather not."""


class Panels(QObject):
    """The pages beside the conversation, each made when it is first opened. `agent` returns None at first."""

    conversation_changed = Signal()

    def __init__(
        self,
        look: Look,
        stage: Stage,
        inbox: Inbox,
        background: BackgroundTasks,
        collections: Mapping[str, Collection],
    ) -> None:
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
        self._collections = collections
        self._opened: dict[str, CollectionPage] = {}
        self._search = ""
        inbox.view_changed.connect(self._refresh)

    def toggle(self, name: str) -> None:
        """Open the page of that name (`history`, `news`, `usage` or a collection's); where it is open, go back to the
        thread."""
        page = self._page(name)
        if self._stage.bubble.page is page and self._stage.is_open:
            self.leave()
            return
        page.tell("")
        self._stage.show_page(page, self._inbox.view)
        self._refresh(self._inbox.view)
        if page is self._history:
            self._look_up()
        if page is self._usage:
            self._in_background(self._sum_up(), page)
        if isinstance(page, CollectionPage):
            self._list_collection(name, page)
        page.take_focus()

    def leave(self) -> None:
        """Back to the thread."""
        self._stage.show_page(None, self._inbox.view)

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

    def _page(self, name: str) -> Page:
        if name == "history":
            return self.history
        if name in _COLLECTIONS:
            return self._collection(name)
        return self.news if name == "news" else self.usage

    def _collection(self, name: str) -> CollectionPage:
        if name not in self._opened:
            page = self._opened[name] = CollectionPage(self._look.theme, collection_words(name))
            page.left.connect(self.leave)
            page.searched.connect(lambda _: self._list_collection(name, page))
            page.deleted.connect(lambda key: self._act(name, "delete", key))
            page.renamed.connect(lambda key, words: self._act(name, "change", key, words))
            page.acted.connect(lambda action, key: self._act(name, action, key))
        return self._opened[name]

    def _list_collection(self, name: str, page: CollectionPage) -> None:
        if name in self._collections:
            self._in_background(self._listed(self._collections[name], page), page)

    async def _listed(self, collection: Collection, page: CollectionPage) -> None:
        search = page.search.text().strip()
        found = await collection.entries(search)
        if search == page.search.text().strip():  # because the person may have typed more meanwhile
            page.show_collection(found)

    def _act(self, name: str, action: str, key: str, words: str = "") -> None:
        page = self._opened[name]

        async def done() -> None:
            collection = self._collections[name]
            outcome = await collection.act(action, key, words)
            await self._listed(collection, page)
            page.tell(_done(outcome))

        self._in_background(done(), page)

    def _refresh(self, view: View) -> None:
        """Bring the open page up to date with what happens."""
        page = self._stage.bubble.page if self._stage.is_open else None
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
        self.history.tell(await _saved(place, await self._known().archive.export(key, form)))

    async def _sum_up(self) -> None:
        midnight = datetime.datetime.combine(datetime.date.today(), datetime.time())
        self.usage.show_today(await self._known().archive.spent(midnight.timestamp()))

    def save_guide(self, steps: Sequence[Card]) -> None:
        """The pictures of these steps, illustrated with what each did, as one page wherever the person wants it."""
        self._background.begin(self._save_guide(steps))

    async def _save_guide(self, steps: Sequence[Card]) -> None:
        title = _wish_before(self._inbox.view, steps[0])
        page = guide(title, frames_of(steps))
        place = self.ask_where(str(_downloads() / f"{_file_name(title)}.html"))
        if place:
            saved = await _saved(place, page)
            how = self._inbox.presenter
            self._inbox.change(lambda view: how.noticed(view, "info", saved))

    def _asked_in_a_dialog(self, proposal: str) -> str:
        words = QCoreApplication.translate("Panels", "Save")
        place, _ = QFileDialog.getSaveFileName(self._stage.bubble, words, proposal)
        return place


def _done(outcome: str) -> str:
    tr = QCoreApplication.translate
    words = {
        "delete": tr("Collection", "Deleted."),
        "change": tr("Collection", "Changed."),
        "run": tr("Collection", "It has begun. What comes of it is said when it is over."),
        "busy": tr("Collection", "Another task is at work, so this one was not begun. Try again when it is over."),
        "unbegun": tr("Collection", "It was not begun. “wisp schedule run” with its number in a terminal says why."),
        "trust": tr("Collection", "Its tools that only read run without a question."),
        "ask": tr("Collection", "Each of its tools asks again."),
    }
    return words[outcome]


def _downloads() -> Path:
    found = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation)
    return Path(found) if found else Path.home()


def _file_name(title: str) -> str:
    """A title as a name that every file system takes."""
    words = " ".join(_UNFIT.sub(" ", title).split())
    return words[:_NAME_CHARS].strip(" .") or "Wisp"


async def _saved(place: str, text: str) -> str:
    """Write a file; the sentence that says so. Raises WispError."""
    try:
        # On a thread, because the disk may be slow.
        await asyncio.to_thread(Path(place).write_text, text, encoding="utf-8")
    except OSError as error:
        words = QCoreApplication.translate("Panels", "It could not be saved there: {reason}")
        raise WispError(words.format(reason=error.strerror or error)) from error
    return QCoreApplication.translate("Panels", "Saved: {path}").format(path=place)


def guide(title: str, frames: Sequence[tuple[str, ShownPicture]]) -> str:
    """A page of HTML with everything in it: each picture with what was done, and a ring where."""
    parts = resources.text("guide.html").split("<!-- step -->")
    steps = (
        Template(parts[1]).substitute(
            number=number,
            words=html.escape(words),
            kind="jpeg" if picture.data.startswith(_JPEG) else "png",
            data=base64.b64encode(picture.data).decode(),
            left=f"{100 * picture.ring[0] / picture.width:.2f}" if picture.ring else -100,
            top=f"{100 * picture.ring[1] / picture.height:.2f}" if picture.ring else -100,
        )
        for number, (words, picture) in enumerate(frames, 1)
    )
    return Template(parts[0]).substitute(title=html.escape(title)) + "".join(steps) + parts[2]


def _wish_before(view: View, step: Card) -> str:
    """Return what the person had asked for when this was done."""
    at = next((at for at, item in enumerate(view.items) if item.key == step.key), 0)
    return next((item.text for item in reversed(view.items[:at]) if isinstance(item, Asked)), "Wisp")
