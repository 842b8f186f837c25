"""Money, amounts and moments in words, as the person's language writes them."""

from __future__ import annotations

import datetime

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime

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
