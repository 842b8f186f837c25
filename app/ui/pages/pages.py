"""The pages: past conversations, what Wisp keeps, what happened, and what was spent."""

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
from app.ui.theme.drawing import spaced
from app.ui.theme.theme import Theme

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def amount(number: int) -> str:
    """`12,345`."""
    return _locale().toString(number)


def money(cost_usd: float | None) -> str:
    """`$0.04`; a dash where the price is not known."""
    if cost_usd is None:
        return "–"
    if 0 < cost_usd < 0.01:
        return "< $0.01"
    number = _locale().toString(float(cost_usd), "f", 2)
    return f"${number}"


def moment(at: float, now: float) -> str:
    """Seconds since the epoch as `14:02` today, `Yesterday, 14:02`, or the day."""
    when, today = datetime.datetime.fromtimestamp(at), datetime.datetime.fromtimestamp(now).date()
    clock = _locale().toString(QTime(when.hour, when.minute), QLocale.FormatType.ShortFormat)
    if when.date() == today:
        return clock
    if today - when.date() == datetime.timedelta(days=1):
        return QCoreApplication.translate("Page", "Yesterday, {time}").format(time=clock)
    return _locale().toString(QDate(when.year, when.month, when.day), QLocale.FormatType.ShortFormat)


def ago(seconds: float) -> str:
    """`now`, `5 min ago`, `3 h ago`, `2 days ago`."""
    tr = QCoreApplication.translate
    if seconds < _MINUTE:
        return tr("Page", "now")
    if seconds < _HOUR:
        return tr("Page", "{count} min ago").format(count=int(seconds // _MINUTE))
    if seconds < _DAY:
        return tr("Page", "{count} h ago").format(count=int(seconds // _HOUR))
    return tr("Page", "{count} days ago").format(count=int(seconds // _DAY))


def turns(count: int) -> str:
    if count == 1:
        return QCoreApplication.translate("Page", "1 turn")
    return QCoreApplication.translate("Page", "{count} turns").format(count=count)


def _locale() -> QLocale:
    """The person's; where the system has none, numbers and days are still to be read by people."""
    found = QLocale()
    return QLocale(QLocale.Language.English) if found.language() is QLocale.Language.C else found


_TYPING_MS = 150


class SearchedPage(Page):
    """A list that can be searched. Its entries have a menu, and are deleted only after a question."""

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
        """Show these; `nothing` where there is none at all."""
        self._titles = {entry.key: entry.title for entry in entries}
        self.list.show_entries(entries)
        found_none = QCoreApplication.translate("History", "Nothing found.")
        self.empty.setText(found_none if self.search.text().strip() else nothing)
        self.list.setVisible(bool(entries))
        self.empty.setVisible(not entries)

    def pick(self, key: str) -> None:
        """The person pressed an entry."""
        raise NotImplementedError

    def menu_of(self, key: str) -> QMenu:
        """Return what can be done with an entry."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def ask_to_delete(self, key: str) -> None:
        """Before anything is gone for good, the person is asked."""
        self.question.ask(key, self._titles.get(key, ""))

    def take_focus(self) -> None:
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """From the search field the arrow leads into the list, and Enter opens what is found first."""
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
    """Shows what it is given and says what the person wants; `chosen` opens a conversation again; `export_wanted`
    carries a conversation, its title and the format."""

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
        """The newest first, as the archive gives them. `now` is in seconds since the epoch; None is this moment."""
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
    """Ask whether an entry shall really be deleted. Enter keeps it."""

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
    "error": ("notch", "bad"),
}


class InboxPage(Page):
    """`chosen` carries the key of the thread's item that the news is about."""

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
        """The newest first. `now` is on the clock that the news were stamped with."""
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
        "approval": tr("Inbox", "Your word is needed"),
        "stopped": tr("Inbox", "Stopped"),
        "warning": tr("Inbox", "Warning"),
        "error": tr("Inbox", "It did not work"),
    }
    return known.get(level, tr("Inbox", "Note"))


class UsagePage(Page):
    """A small table; what is not known yet is a dash."""

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("Usage", "Usage"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.size("gap"))
        self._grid.setVerticalSpacing(theme.size("gap"))
        self._grid.setColumnStretch(0, 1)
        rows = (
            "",
            tr("Usage", "Tokens read"),
            tr("Usage", "Tokens written"),
            tr("Usage", "Read again"),
            tr("Usage", "Cost"),
        )
        for row, name in enumerate(rows):
            self._grid.addWidget(self.label(name, quiet=True), row, 0)
        columns = (tr("Usage", "This turn"), tr("Usage", "Conversation"), tr("Usage", "Today"))
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
                "A token is a piece of about four letters. What is read again costs less.",
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
