"""The pages for past conversations, stored things, news, and usage."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QDate, QEvent, QLocale, QObject, QPoint, Qt, QTime, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QMenu, QWidget

from app.agent.recording import ExportFormat, PastConversation, Spent
from app.ui.buttons import GlyphButton, WordButton
from app.ui.pages.listing import ListEntry, ListView, Page
from app.ui.presenter.view import News
from app.ui.theme.drawing import Menu, spaced
from app.ui.theme.theme import Theme
from app.ui.translation import counted

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def amount(number: int) -> str:
    """Format a count, as in `12,345`."""
    return _locale().toString(number)


def money(cost_usd: float | None) -> str:
    """Format dollars, as in `$0.04`; a dash if the price is unknown."""
    if cost_usd is None:
        return "–"
    if 0 < cost_usd < 0.01:
        return "< $0.01"
    number = _locale().toString(float(cost_usd), "f", 2)
    return f"${number}"


def moment(at: float, now: float) -> str:
    """Format a time (seconds since 1970) as `14:02` if it is today, as `Yesterday, 14:02`, or as a date."""
    when, today = datetime.datetime.fromtimestamp(at), datetime.datetime.fromtimestamp(now).date()
    clock = _locale().toString(QTime(when.hour, when.minute), QLocale.FormatType.ShortFormat)
    if when.date() == today:
        return clock
    if today - when.date() == datetime.timedelta(days=1):
        return QCoreApplication.translate("Page", "Yesterday, {time}").format(time=clock)
    return _locale().toString(QDate(when.year, when.month, when.day), QLocale.FormatType.ShortFormat)


def ago(seconds: float) -> str:
    """Format how long ago something was, given in seconds, as `now`, `5 min ago`, `3 h ago` or `2 days ago`."""
    tr = QCoreApplication.translate
    if seconds < _MINUTE:
        return tr("Page", "now")
    if seconds < _HOUR:
        return tr("Page", "{count} min ago").format(count=int(seconds // _MINUTE))
    if seconds < _DAY:
        return tr("Page", "{count} h ago").format(count=int(seconds // _HOUR))
    return counted("{count} day ago", "{count} days ago", int(seconds // _DAY))


def turns(count: int) -> str:
    return counted("{count} task", "{count} tasks", count)


def _locale() -> QLocale:
    """English if the system has only the "C" locale, which formats dates for programs."""
    found = QLocale()
    return QLocale(QLocale.Language.English) if found.language() is QLocale.Language.C else found


_TYPING_MS = 150


class SearchedPage(Page):
    """A page with a search field and a list. Each entry has a menu. Wisp asks before it deletes an entry."""

    searched = Signal(str)
    renamed = Signal(str, str)
    deleted = Signal(str)

    def __init__(self, theme: Theme, title: str, search: str, *, is_editable: bool) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, title)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("History", "Search"))
        self.search.setAccessibleName(search)
        self.search.setClearButtonEnabled(True)
        self.search.installEventFilter(self)
        self._titles: dict[str, str] = {}
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(lambda: self.searched.emit(self.search.text().strip()))
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.list = ListView(theme, title, has_menu=True, is_editable=is_editable)
        self.list.picked.connect(self.pick)
        self.list.menu_wanted.connect(self._show_menu)
        self.list.renamed.connect(self.renamed)
        self.list.delete_wanted.connect(self.ask_to_delete)
        self.empty = self.label("", quiet=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.question = _Question(theme, self)
        self.question.confirmed.connect(self.deleted)
        for part in (self.search, self.list, self.empty, self.question, self.note):
            self.box.addWidget(part)

    def show_entries(self, entries: list[ListEntry], nothing: str) -> None:
        """Show these entries. If there are none, show the sentence `nothing`, or "Nothing found." after a search."""
        self._titles = {entry.key: entry.title for entry in entries}
        self.list.show_entries(entries)
        found_none = QCoreApplication.translate("History", "Nothing found.")
        self.empty.setText(found_none if self.search.text().strip() else nothing)
        self.list.setVisible(bool(entries))
        self.empty.setVisible(not entries)

    def pick(self, key: str) -> None:
        """Open the entry that the person pressed."""
        raise NotImplementedError

    def menu_of(self, key: str) -> QMenu:
        return Menu(self.theme, self)

    def ask_to_delete(self, key: str) -> None:
        """Ask the person whether to delete the entry. A yes emits `deleted`."""
        self.question.ask(key, self.question_of().format(title=self._titles.get(key, "")))

    def question_of(self) -> str:
        """Return what is asked before an entry is deleted; `{title}` stands for its title."""
        return QCoreApplication.translate("History", "Delete “{title}” for good?")

    def take_focus(self) -> None:
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle two keys in the search field: Down moves into the list, and Enter opens the selected entry."""
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down and not self.list.isHidden():
                self.list.setFocus(Qt.FocusReason.TabFocusReason)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.current_key():
                self.pick(self.list.current_key())
                return True
        return super().eventFilter(watched, event)

    def _show_menu(self, key: str, place: QPoint) -> None:
        self.menu_of(key).exec(place)


class HistoryPage(SearchedPage):
    """The page of past conversations. `chosen` carries the id of the conversation to open again.

    `export_wanted` carries a conversation's id, its title and the format of the export.
    """

    chosen = Signal(str)
    new_wanted = Signal()
    export_wanted = Signal(str, str, object)

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("History", "Conversations"), tr("History", "Search conversations"), is_editable=True)
        self.new = GlyphButton(theme, "plus", tr("History", "New conversation"), self)
        self.new.clicked.connect(self.new_wanted)
        self.bar.addWidget(self.new)
        self.show_conversations(())

    def show_conversations(self, found: Sequence[PastConversation], now: float | None = None) -> None:
        """Show conversations, the newest first. `now`, in seconds since 1970, is the time for words such as
        "Yesterday"."""
        now = now or time.time()
        entries = [ListEntry(one.id, one.title, _below(one, now)) for one in found]
        self.show_entries(entries, QCoreApplication.translate("History", "Nothing here yet."))

    def pick(self, key: str) -> None:
        self.chosen.emit(key)

    def menu_of(self, key: str) -> QMenu:
        menu, tr = super().menu_of(key), QCoreApplication.translate
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


class _Question(QWidget):
    """Asks whether to delete an entry. Enter answers no."""

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
        row = spaced(QHBoxLayout(self), theme.size("gap"))
        row.addWidget(self._words, 1)
        row.addWidget(self.keep)
        row.addWidget(self.delete)
        self.hide()

    def ask(self, key: str, words: str) -> None:
        self._key = key
        self._words.setText(words)
        self.show()
        self.keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def _confirm(self) -> None:
        self.hide()
        self.confirmed.emit(self._key)


def _below(one: PastConversation, now: float) -> str:
    parts = [moment(one.changed_at, now), turns(one.turns)]
    if one.cost_usd:
        parts.append(money(one.cost_usd))
    return " · ".join(parts)


_MARKS = {
    "done": ("check", "ok"),
    "question": ("question", "accent"),
    "approval": ("shield", "accent"),
    "stopped": ("stop", "muted"),
    "warning": ("alert", "warn"),
    "error": ("notch", "warn"),
}


class InboxPage(Page):
    """The page of the news. `chosen` carries the key of the thread's row that the chosen news is about."""

    chosen = Signal(str)
    cleared = Signal()

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("Inbox", "What happened"))
        self._items: dict[str, str] = {}
        self.clear = GlyphButton(theme, "trash", tr("Inbox", "Clear the list"), self)
        self.clear.clicked.connect(self.cleared)
        self.bar.addWidget(self.clear)
        self.list = ListView(theme, tr("Inbox", "What happened"))
        self.list.picked.connect(lambda key: self.chosen.emit(self._items[key]))
        self.empty = self.label(tr("Inbox", "Nothing happened while you were away."), quiet=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        for part in (self.list, self.empty, self.note):
            self.box.addWidget(part)

    def show_news(self, news: Sequence[News], now: float) -> None:
        """Show the news, the newest first. `now` is the presence's clock in seconds, by which each line tells its
        age."""
        newest_first = list(reversed(news))
        self._items = {one.key: one.item for one in newest_first}
        self.list.show_entries([_entry(one, now) for one in newest_first])
        self.list.setVisible(bool(news))
        self.empty.setVisible(not news)
        self.clear.setEnabled(bool(news))

    def take_focus(self) -> None:
        (self.list if not self.list.isHidden() else self.back).setFocus(Qt.FocusReason.OtherFocusReason)


def _entry(one: News, now: float) -> ListEntry:
    words = _words(one.level)
    glyph, color = _MARKS.get(one.level, ("info", "muted"))
    when = ago(now - one.at)
    return ListEntry(one.key, one.text or words, f"{words} · {when}" if one.text else when, glyph, color)


def _words(level: str) -> str:
    tr = QCoreApplication.translate
    known = {
        "done": tr("Inbox", "Done"),
        "question": tr("Inbox", "A question"),
        "approval": tr("Inbox", "Wisp needs your answer"),
        "stopped": tr("Inbox", "Stopped"),
        "warning": tr("Inbox", "Warning"),
        "error": tr("Inbox", "It did not work"),
    }
    return known.get(level, tr("Inbox", "Note"))


class UsagePage(Page):
    """A small table of tokens and costs. Unknown figures are dashes."""

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("Usage", "Usage"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.size("padding"))
        self._grid.setVerticalSpacing(theme.size("gap"))
        self._grid.setColumnStretch(0, 1)
        rows = (
            "",
            tr("Usage", "Tokens read"),
            tr("Usage", "Tokens written"),
            tr("Usage", "Tokens read before"),
            tr("Usage", "Cost"),
        )
        for row, name in enumerate(rows):
            self._grid.addWidget(self.label(name, quiet=True), row, 0)
        columns = (tr("Usage", "This task"), tr("Usage", "Conversation"), tr("Usage", "Today"))
        self.cells: list[list[QLabel]] = []
        for column, name in enumerate(columns, start=1):
            self._grid.addWidget(self._number(name, quiet=True), 0, column)
            cells = [self._number("–", strong=row == len(rows) - 1) for row in range(1, len(rows))]
            for row, cell in enumerate(cells, start=1):
                self._grid.addWidget(cell, row, column)
            self.cells.append(cells)
        self.about = self.label(
            tr(
                "Usage",
                "A token is about four characters of text. Those that the model has read before cost less.",
            ),
            "small",
            quiet=True,
        )
        self.box.addLayout(self._grid)
        self.box.addWidget(self.about)
        self.box.addWidget(self.note)
        self.box.addStretch(1)

    def show_spent(self, turn: Spent, conversation: Spent) -> None:
        self._fill(0, turn)
        self._fill(1, conversation)

    def show_today(self, today: Spent) -> None:
        self._fill(2, today)

    def _fill(self, column: int, spent: Spent) -> None:
        read = spent.input_tokens + spent.cache_write_tokens
        numbers = [amount(number) for number in (read, spent.output_tokens, spent.cache_read_tokens)]
        for cell, words in zip(self.cells[column], [*numbers, money(spent.cost_usd)], strict=True):
            cell.setText(words)

    def _number(self, words: str, *, strong: bool = False, quiet: bool = False) -> QLabel:
        made = self.label(words, "small" if quiet else "text", strong=strong, quiet=quiet)
        made.setWordWrap(False)
        made.setAlignment(Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter)
        return made
