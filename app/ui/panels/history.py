"""Past conversations: search, open again, rename, save, delete."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QWidget

from app.agent.archive import ExportFormat, PastConversation
from app.ui.buttons import GlyphButton, WordButton
from app.ui.panels import wording
from app.ui.panels.listing import Entry, Listing
from app.ui.panels.page import Page
from app.ui.theme import Theme

_TYPING_MS = 150


class HistoryPage(Page):
    """Shows what it is given and says what the person wants; `chosen` opens a conversation again; `export_wanted`
    carries a conversation, its title and the format."""

    searched = Signal(str)
    chosen = Signal(str)
    new_wanted = Signal()
    renamed = Signal(str, str)
    deleted = Signal(str)
    export_wanted = Signal(str, str, object)

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("History", "Conversations"))
        self.new = GlyphButton(theme, "plus", tr("History", "New conversation"), self)
        self.new.clicked.connect(self.new_wanted)
        self.bar.addWidget(self.new)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("History", "Search"))
        self.search.setAccessibleName(tr("History", "Search conversations"))
        self.search.setClearButtonEnabled(True)
        self.search.installEventFilter(self)
        self._titles: dict[str, str] = {}
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(lambda: self.searched.emit(self.search.text().strip()))
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.list = Listing(theme, tr("History", "Conversations"), has_menu=True)
        self.list.picked.connect(self.chosen)
        self.list.menu_wanted.connect(self._show_menu)
        self.list.renamed.connect(self.renamed)
        self.list.delete_wanted.connect(self.ask_to_delete)
        self.empty = self.label("", quiet=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.question = _Question(theme, self)
        self.question.confirmed.connect(self.deleted)
        for part in (self.search, self.list, self.empty, self.question, self.note):
            self.box.addWidget(part)
        self.show_conversations(())

    def show_conversations(self, found: Sequence[PastConversation], now: float | None = None) -> None:
        """The newest first, as the archive gives them. `now` is in seconds since the epoch; None is this moment."""
        now, tr = now or time.time(), QCoreApplication.translate
        self._titles = {one.id: one.title for one in found}
        self.list.show_entries([Entry(one.id, one.title, _below(one, now)) for one in found])
        nothing = tr("History", "Nothing found.") if self.search.text().strip() else tr("History", "Nothing here yet.")
        self.empty.setText(nothing)
        self.list.setVisible(bool(found))
        self.empty.setVisible(not found)

    def ask_to_delete(self, key: str) -> None:
        """Before anything is gone for good, the person is asked."""
        self.question.ask(key, self._titles.get(key, ""))

    def menu_of(self, key: str) -> QMenu:
        """What can be done with a conversation."""
        menu, tr = QMenu(self), QCoreApplication.translate
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("History", "Open"), lambda: self.chosen.emit(key))
        menu.addAction(tr("History", "Rename"), self.list.rename_current)
        menu.addSeparator()
        for form, words in (
            (ExportFormat.MARKDOWN, tr("History", "Save as Markdown…")),
            (ExportFormat.JSON, tr("History", "Save as JSON…")),
        ):
            menu.addAction(words, self._exporter(key, form))
        menu.addSeparator()
        menu.addAction(tr("History", "Delete…"), lambda: self.ask_to_delete(key))
        return menu

    def _exporter(self, key: str, form: ExportFormat) -> Callable[[], None]:
        return lambda: self.export_wanted.emit(key, self._titles[key], form)

    def take_focus(self) -> None:
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """From the search field the arrow leads into the list, and Enter opens what is found first."""
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down and not self.list.isHidden():
                self.list.setFocus(Qt.FocusReason.TabFocusReason)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.current_key():
                self.chosen.emit(self.list.current_key())
                return True
        return super().eventFilter(watched, event)

    def _show_menu(self, key: str, place: QPoint) -> None:
        self.menu_of(key).exec(place)


class _Question(QWidget):
    """Whether a conversation shall really go; to keep it is what Enter does."""

    confirmed = Signal(str)

    def __init__(self, theme: Theme, page: Page) -> None:
        super().__init__()
        tr = QCoreApplication.translate
        self._key = ""
        self._words = page.label("")
        self.keep = WordButton(theme, tr("History", "Keep it"), parent=self)
        self.keep.clicked.connect(self.hide)
        self.delete = WordButton(theme, tr("History", "Delete"), "trash", self)
        self.delete.clicked.connect(self._confirm)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.size("gap"))
        row.addWidget(self._words, 1)
        row.addWidget(self.keep)
        row.addWidget(self.delete)
        self.hide()

    def ask(self, key: str, title: str) -> None:
        self._key = key
        words = QCoreApplication.translate("History", "Delete “{title}” for good?").format(title=title)
        self._words.setText(words)
        self.show()
        self.keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def _confirm(self) -> None:
        self.hide()
        self.confirmed.emit(self._key)


def _below(one: PastConversation, now: float) -> str:
    parts = [wording.moment(one.changed_at, now), wording.turns(one.turns)]
    if one.cost_usd:
        parts.append(wording.money(one.cost_usd))
    return " · ".join(parts)
