"""The bubble's pages with sample data."""

from __future__ import annotations

from app.agent.archive import Spent
from app.ui.gallery.archive import past
from app.ui.panels.history import HistoryPage
from app.ui.panels.inbox import InboxPage
from app.ui.panels.page import Page
from app.ui.panels.usage import UsagePage
from app.ui.presenter.view import News
from app.ui.theme import Theme

_NEWS = (
    News("1", "info", "A command of an earlier time still runs: python -m http.server (run-3)", "", 100.0),
    News("2", "warning", "The service is busy; trying again in 4 s.", "", 4000.0),
    News("3", "question", "There are two Annas in your contacts. Anna Berg or Anna Lind?", "", 7000.0),
    News("4", "error", "The key was refused. Open the settings and enter another one.", "", 7900.0),
    News("5", "done", "The letter is in your outbox.", "", 8190.0),
)
_NOW = 8200.0
_DAY = 1_790_000_000.0
"""The gallery's own today: the same words every day."""


def pages(theme: Theme) -> dict[str, Page]:
    """Each page by its name; history, news and usage are those of the header's buttons."""
    history, deleting = HistoryPage(theme), HistoryPage(theme)
    for page in (history, deleting):
        page.show_conversations(past(_DAY), _DAY)
    deleting.ask_to_delete("1")
    inbox = InboxPage(theme)
    inbox.show_news(_NEWS, _NOW)
    usage = UsagePage(theme)
    usage.show_spent(Spent(12_840, 1_203, 96_000, 4_100, 0.06, 1), Spent(61_400, 8_822, 512_300, 20_480, 0.41, 6))
    usage.show_today(Spent(182_000, 24_010, 1_730_000, 81_000, None, 21))
    return {"history": history, "deleting": deleting, "news": inbox, "usage": usage}
