"""The page of what Wisp keeps of one kind: what is planned, what is remembered, or the tool servers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QMenu

from app.base.texts import Phrase
from app.base.values import dataclass
from app.ui.machine import CollectionEntry
from app.ui.pages.listing import ListEntry
from app.ui.pages.pages import SearchedPage
from app.ui.theme.theme import Theme


class CollectionPage(SearchedPage):
    """What Wisp keeps of one kind. A press shows the whole of an entry; `acted` carries an action and the entry."""

    acted = Signal(str, str)

    def __init__(self, theme: Theme, words: CollectionWords) -> None:
        super().__init__(theme, words.title, words.search, is_editable=words.is_editable)
        self._words = words
        self._entries: dict[str, CollectionEntry] = {}
        self.show_collection(())

    def show_collection(self, entries: Sequence[CollectionEntry]) -> None:
        """Show these, in this order."""
        self._entries = {entry.key: entry for entry in entries}
        self.show_entries(
            [ListEntry(one.key, one.title, _said(one.below, " · ")) for one in entries], self._words.nothing
        )

    def pick(self, key: str) -> None:
        entry = self._entries[key]
        self.tell(_said(entry.whole, " ") or entry.title)

    def ask_to_delete(self, key: str) -> None:
        if not (file := self._entries[key].file):
            super().ask_to_delete(key)
            return
        words = QCoreApplication.translate("Collection", "It stands in {file} and is only taken out there.")
        self.tell(words.format(file=file))

    def menu_of(self, key: str) -> QMenu:
        menu, tr = super().menu_of(key), QCoreApplication.translate
        names = {
            "run": tr("Collection", "Run now"),
            "trust": tr("Collection", "Let tools that only read run without a question"),
            "ask": tr("Collection", "Ask again"),
        }
        for action in self._entries[key].actions:
            menu.addAction(names[action], partial(self.acted.emit, action, key))
        if self._words.is_editable:
            menu.addAction(tr("Collection", "Change"), self.list.rename_current)
        if not self._entries[key].file:
            menu.addAction(tr("History", "Delete…"), lambda: self.ask_to_delete(key))
        return menu


def _said(parts: Sequence[str | Phrase], between: str) -> str:
    words = partial(QCoreApplication.translate, "Collection")
    return between.join(part if isinstance(part, str) else part.said(words) for part in parts)


@dataclass(frozen=True, slots=True)
class CollectionWords:
    """What a collection's page says: its title, the name of its search field, and what stands there instead of a list
    that is empty. `is_editable`: an entry's title may be written anew."""

    title: str
    search: str
    nothing: str
    is_editable: bool = False


def collection_words(name: str) -> CollectionWords:
    """Of `planned`, `memory` or `servers`."""
    tr = QCoreApplication.translate
    if name == "planned":
        nothing = tr("Collection", "Nothing is planned. Say “every day at 9 …” and Wisp asks whether to keep it.")
        return CollectionWords(tr("Collection", "Planned"), tr("Collection", "Search what is planned"), nothing)
    if name == "memory":
        nothing = tr("Collection", "Nothing is remembered yet. Say “remember that …”.")
        return CollectionWords(tr("Collection", "Memory"), tr("Collection", "Search the memory"), nothing, True)
    nothing = tr("Collection", "No tool server is added yet. “wisp mcp add” in a terminal adds one.")
    return CollectionWords(tr("Collection", "Tool servers"), tr("Collection", "Search tool servers"), nothing)
