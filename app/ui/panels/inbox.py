"""The inbox: what happened while nobody looked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal

from app.ui.buttons import GlyphButton
from app.ui.panels import wording
from app.ui.panels.listing import Entry, Listing
from app.ui.panels.page import Page
from app.ui.presenter.view import News
from app.ui.theme import Theme

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
        self.list = Listing(theme, tr("Inbox", "What happened"))
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


def _entry(one: News, now: float) -> Entry:
    words = _words(one.level)
    glyph, color = _MARKS.get(one.level, ("info", "muted"))
    when = wording.ago(now - one.at)
    return Entry(one.key, one.text or words, f"{words} · {when}" if one.text else when, glyph, color)


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
