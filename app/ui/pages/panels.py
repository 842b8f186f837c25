"""Open, fill and close the bubble's pages, and carry out the person's actions on them.

One class shows every page that lists stored things. The features declare them.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QStandardPaths, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QMenu

from app.agent.agent_events import AgentEvent
from app.agent.recording import ExportFormat
from app.base.errors import WispError
from app.base.paths import free
from app.base.phrases import Phrase
from app.ui.bridge import Agent, BackgroundTasks, Inbox
from app.ui.machine import Collection, CollectionEntry, ListPage
from app.ui.pages.guide import UNFIT, guide, markdown_guide
from app.ui.pages.listing import ListEntry, Page
from app.ui.pages.pages import HistoryPage, InboxPage, SearchedPage, UsagePage
from app.ui.presenter import offers, presenter
from app.ui.presenter.cards import frames_of
from app.ui.presenter.view import Asked, Card, ShownPicture, View
from app.ui.theme.appearance import Look
from app.ui.theme.theme import Theme
from app.ui.translation import words
from app.ui.windows.floating import Accepts
from app.ui.windows.stage import Stage

_ENDINGS = {ExportFormat.MARKDOWN: ".md", ExportFormat.JSON: ".json"}
_NAME_CHARS = 60
_ON_PRESS = ("open", "get")
_FOLLOWED_MS = 500
_MARKDOWN = (".md", ".markdown")

AskWhere = Callable[[str], str]
"""Asks the person where a file shall go, given a proposal; empty where they would rather not."""


class Panels(QObject):
    """The pages of the bubble, each created when it is first opened. `agent` is None until there is an agent."""

    conversation_changed = Signal()

    def __init__(
        self,
        look: Look,
        stage: Stage,
        inbox: Inbox,
        background: BackgroundTasks,
        collections: Mapping[str, Collection],
        pages: Sequence[ListPage],
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
        self._pages = {page.name: page for page in pages}
        self._opened: dict[str, CollectionPage] = {}
        self._search = ""
        self._acting = asyncio.Lock()
        inbox.view_changed.connect(self._refresh)

    def toggle(self, name: str) -> None:
        """Open the page `name`: `history`, `news`, `usage` or that of a collection. If it is open, go back to the
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

    @property
    def shown(self) -> str:
        """The name of the page that is open; "" while none is."""
        page = self._stage.bubble.page if self._stage.is_open else None
        named = {"history": self._history, "news": self._news, "usage": self._usage, **self._opened}
        return next((name for name, one in named.items() if one is not None and one is page), "")

    def leave(self) -> None:
        """Go back to the thread."""
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
        if name in self._pages:
            return self._collection(name)
        return self.news if name == "news" else self.usage

    def _collection(self, name: str) -> CollectionPage:
        if name not in self._opened:
            page = self._opened[name] = CollectionPage(self._look.theme, self._pages[name])
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
        if any("stop" in one.actions for one in found) and page.isVisible():
            QTimer.singleShot(_FOLLOWED_MS, page, lambda: self._in_background(self._listed(collection, page), page))

    def get_extra(self) -> None:
        """Open the page whose entries need a part of Wisp that is missing, and get it."""
        lacking = next((page for page in self._pages.values() if page.extra), None)
        if lacking is None:
            return
        if self._page(lacking.name) is not self._stage.bubble.page or not self._stage.is_open:
            self.toggle(lacking.name)
        self._act(lacking.name, "get", lacking.extra)

    def _act(self, name: str, action: str, key: str, words: str = "") -> None:
        page = self._opened[name]

        async def done() -> None:
            collection = self._collections[name]
            async with self._acting:  # so that the page tells of the last act last
                outcome = await collection.act(action, key, words)
                await self._listed(collection, page)
                page.tell(_done(outcome))

        self._in_background(done(), page)

    async def carry_out(self, name: str, action: str, key: str) -> str:
        """Carry out an action on an entry of a collection. Returns what was done. Raises WispError."""
        return _done(await self._collections[name].act(action, key))

    def _refresh(self, view: View) -> None:
        """Show the view's news or usage if that page is open."""
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
        """To begin another conversation with the agent. Raises WispError while a turn runs."""
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
        """Ask where to save, and save a guide with the pictures of these steps, as an HTML page or as Markdown."""
        self._background.begin(self._save_guide(steps))

    def save_copy(self, name: str, content: bytes) -> None:
        """Ask the person where to save a copy of a file, and save it there. `name` is proposed."""
        self._background.begin(self._save_copy(name, content))

    async def _save_copy(self, name: str, content: bytes) -> None:
        if place := self.ask_where(str(_downloads() / name)):
            saved = await _saved(place, content)
            how = self._inbox.presenter
            self._inbox.change(lambda view: how.noticed(view, "info", saved))

    async def _save_guide(self, steps: Sequence[Card]) -> None:
        title = _wish_before(self._inbox.view, steps[0])
        frames = frames_of(steps)
        place = self.ask_where(str(_downloads() / f"{_file_name(title)}.html"))
        if place:
            saved = await self._save_frames(title, frames, Path(place))
            how = self._inbox.presenter
            self._inbox.change(lambda view: how.noticed(view, "info", saved))

    async def _save_frames(self, title: str, frames: Sequence[tuple[str, ShownPicture]], place: Path) -> str:
        if place.suffix.casefold() not in _MARKDOWN:
            return await _saved(str(place), guide(title, frames))
        # On a thread, because each picture is drawn on and encoded again.
        folder = free(place.with_name(UNFIT.sub(" ", place.stem)))
        text, pictures = await asyncio.to_thread(markdown_guide, title, frames, folder.name, self._look.theme)
        for name, data in pictures.items():
            await _saved(str(place.parent / name), data, in_new_folder=True)
        return await _saved(str(place), text)

    def _asked_in_a_dialog(self, proposal: str) -> str:
        words = QCoreApplication.translate("Panels", "Save")
        kinds = f"HTML (*.html);;Markdown (*{_MARKDOWN[0]})" if proposal.endswith(".html") else ""
        place, chosen = QFileDialog.getSaveFileName(self._stage.bubble, words, proposal, kinds)
        if place == proposal and chosen.startswith("Markdown"):
            # Because some dialogs keep the name's ending: they did not ask about a file with the other one.
            return str(free(Path(place).with_suffix(_MARKDOWN[0])))
        return place


def _done(outcome: str) -> str:
    tr = QCoreApplication.translate
    words = {
        "delete": tr("Collection", "Deleted."),
        "change": tr("Collection", "Changed."),
        "run": tr("Collection", "It has begun. Wisp tells you the result when it is done."),
        "busy": tr(
            "Collection", "Another task is running, so this one did not start. Try again when that one is done."
        ),
        "unbegun": tr(
            "Collection", "It did not start. To see why, type “wisp schedule run” with its number in a terminal."
        ),
        "trust": tr("Collection", "Wisp now uses those of its tools that only read without asking."),
        "ask": tr("Collection", "Wisp now asks again before it uses one of its tools."),
        "switch_on": tr("Collection", "It is switched on."),
        "switch_off": tr("Collection", "It is switched off. Wisp does not use its tools."),
        "sign_in": tr("Collection", "You are signed in to it."),
        "open": tr("Collection", "Its window is open."),
        "pin": tr("Collection", "It stays on the desktop now, behind all other windows and after the next start."),
        "unpin": tr("Collection", "Its window is one like any other again."),
        "menu": tr("Collection", "It is in the menu of programs now."),
        "unmenu": tr("Collection", "It is no longer in the menu of programs."),
        "get": "",
        "late": tr("Collection", "That can no longer be stopped."),
        "stop": tr("Collection", "Stopped. Nothing was installed."),
        "leave_out": tr("Collection", "When you start Wisp again, this is left out."),
        "take_in": tr("Collection", "When you start Wisp again, this is there."),
        "allow": tr("Collection", "When you start Wisp again, this is there."),
    }
    kind, _, path = outcome.partition(":")
    return tr("Panels", "Saved: {path}").format(path=path) if kind == "saved" else words[outcome]


def _downloads() -> Path:
    found = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation)
    return Path(found) if found else Path.home()


def _file_name(title: str) -> str:
    """Shortened, without characters that a file name may not have; "Wisp" if nothing is left."""
    words = " ".join(UNFIT.sub(" ", title).split())
    return words[:_NAME_CHARS].strip(" .") or "Wisp"


async def _saved(place: str, content: str | bytes, *, in_new_folder: bool = False) -> str:
    """Write a text or bytes to `place`. Returns the sentence "Saved: …". Raises WispError.

    `in_new_folder` creates the folder of `place` first.
    """

    data = content.encode() if isinstance(content, str) else content

    def write() -> None:
        if in_new_folder:
            Path(place).parent.mkdir(exist_ok=True)
        Path(place).write_bytes(data)

    try:
        await asyncio.to_thread(write)  # because the disk may be slow
    except OSError as error:
        words = QCoreApplication.translate("Panels", "It could not be saved there: {reason}")
        raise WispError(words.format(reason=error.strerror or error)) from error
    return QCoreApplication.translate("Panels", "Saved: {path}").format(path=place)


def _wish_before(view: View, step: Card) -> str:
    """The person's last message before this step; "Wisp" if there is none."""
    at = next((at for at, item in enumerate(view.items) if item.key == step.key), 0)
    return next((item.said for item in reversed(view.items[:at]) if isinstance(item, Asked)), "Wisp")


class CollectionPage(SearchedPage):
    """Lists stored things. A press shows the whole entry; `acted` carries an action and the entry's key."""

    accepts = Accepts.PERSONS_DEVICE  # because it can trust a tool server and start what is planned
    acted = Signal(str, str)

    def __init__(self, theme: Theme, page: ListPage) -> None:
        super().__init__(theme, page.title.said(words), page.search.said(words), is_editable=page.change is not None)
        self._page = page
        self._entries: dict[str, CollectionEntry] = {}
        self.show_entries([], "")  # because nothing is known before the list has come

    def show_collection(self, entries: Sequence[CollectionEntry]) -> None:
        """Show these entries, in this order."""
        self._entries = {entry.key: entry for entry in entries}
        rows = [ListEntry(one.key, one.title, _said(one.below, " · "), picture=one.picture) for one in entries]
        self.show_entries(rows, self._page.nothing.said(words) if self._page.nothing else "")

    def pick(self, key: str) -> None:
        entry = self._entries[key]
        if action := next((one for one in _ON_PRESS if one in entry.actions), ""):
            self.acted.emit(action, key)
            return
        self.tell(_said(entry.whole, " ") or entry.title)

    def ask_to_delete(self, key: str) -> None:
        if self._entries[key].is_fixed:
            return
        if not (file := self._entries[key].file):
            super().ask_to_delete(key)
            return
        sentence = QCoreApplication.translate("Collection", "It is written in {file}. Remove it there.")
        self.tell(sentence.format(file=file))

    def question_of(self) -> str:
        return self._page.delete.said(words) if self._page.delete else super().question_of()

    def menu_of(self, key: str) -> QMenu:
        menu, tr = super().menu_of(key), QCoreApplication.translate
        names = {
            "run": tr("Collection", "Run now"),
            "trust": tr("Collection", "Do not ask before tools that only read"),
            "ask": tr("Collection", "Ask again"),
            "switch_on": tr("Collection", "Switch on"),
            "switch_off": tr("Collection", "Switch off"),
            "sign_in": tr("Collection", "Sign in"),
            "open": tr("Collection", "Open"),
            "pin": tr("Collection", "Pin to the desktop"),
            "unpin": tr("Collection", "Unpin from the desktop"),
            "export": tr("Collection", "Save as one file"),
            "menu": tr("Collection", "Put into the menu of programs"),
            "unmenu": tr("Collection", "Take out of the menu of programs"),
            "get": tr("Collection", "Get it"),
            "stop": tr("Collection", "Stop"),
            "leave_out": tr("Collection", "Leave it out"),
            "take_in": tr("Collection", "Add it again"),
            "allow": tr("Collection", "Allow it: it runs as part of Wisp and can do all that you can"),
        }
        for action in self._entries[key].actions:
            menu.addAction(names[action], partial(self.acted.emit, action, key))
        if self._entries[key].is_fixed:
            return menu
        if self._page.change:
            menu.addAction(self._page.change.said(words), self.list.rename_current)
        if not self._entries[key].file:
            menu.addAction(tr("History", "Delete…"), lambda: self.ask_to_delete(key))
        return menu


def _said(parts: Sequence[str | Phrase], between: str) -> str:
    return between.join(part if isinstance(part, str) else part.said(words) for part in parts)
