"""Days as people name them: feasts, dates and weekdays."""

from __future__ import annotations

import datetime
import re

from app.base import resources
from app.providers.offline.grammar import Grammar

_FEAST = re.compile(r"easter ?([+-]\d+)?|(\d\d)-(\d\d)|([A-Z]{2}) (.+)")
_A_YEAR = datetime.timedelta(days=366)


def day(said: str, grammar: Grammar, today: datetime.date) -> datetime.date | None:
    """Return the next day of that name, such as `Christmas`, `tomorrow` or `24 December`; None for other words.

    A year that is said may be past.
    """
    low = said.casefold().replace("’", "'").strip(" ?.,")
    if relative := grammar.listed("relative", low):
        return today + datetime.timedelta(days=relative == "tomorrow")
    plain = re.sub(grammar.words["this_year"], "", low).strip()
    if feast := grammar.listed("feasts", plain):
        return _next(feast, today)
    if not re.search(grammar.words["dates"], low):
        return None
    return _dated(re.sub(grammar.words["undated"], "", plain).strip(" ,"), grammar, today)


def _next(feast: str, today: datetime.date) -> datetime.date:
    """The next day of a feast: `12-25`, `easter +39`, or `US Thanksgiving Day`, the name in that country."""
    return next(found for year in (today.year, today.year + 1) if (found := _in_year(feast, year)) >= today)


def _in_year(feast: str, year: int) -> datetime.date:
    said = _FEAST.fullmatch(feast)
    if said is None:
        raise ValueError(feast)
    if said[2]:
        return datetime.date(year, int(said[2]), int(said[3]))
    if said[5]:
        return min(at for at, name in _holidays(said[4], year).items() if name == said[5])
    from dateutil.easter import easter

    sunday: datetime.date = easter(year)
    return sunday + datetime.timedelta(days=int(said[1] or 0))


def next_holiday(language: str, today: datetime.date) -> tuple[datetime.date, str]:
    """Return the next public holiday of this computer's country and its name there."""
    country = resources.system_country() or {"de": "DE"}.get(language, "US")
    return next((at, name) for at, name in sorted(_holidays(country, today.year).items()) if at > today)


def _holidays(country: str, year: int) -> dict[datetime.date, str]:
    import holidays  # slow to import, and rarely needed

    if country not in holidays.list_supported_countries(include_aliases=False):
        country = "US"
    of_country = holidays.country_holidays(country)
    kinds = [kind for kind in ("public", "unofficial") if kind in of_country.supported_categories]
    return dict(holidays.country_holidays(country, years=(year, year + 1), categories=kinds))


def _dated(said: str, grammar: Grammar, today: datetime.date) -> datetime.date | None:
    import dateparser  # slow to import, and rarely needed

    noon = datetime.datetime.combine(today, datetime.time(12))
    how = {"PREFER_DATES_FROM": "future", "RELATIVE_BASE": noon}
    found: datetime.datetime | None = dateparser.parse(said, languages=[grammar.language], settings=how)
    if found is None:
        return None
    has_year = re.search(r"\b\d{4}\b", said)
    # Beyond a year, it was read as something else.
    return found.date() if has_year or today <= found.date() <= today + _A_YEAR else None
