"""Schedules: how people and models write them, when they are due, and how they are read back in words."""

from __future__ import annotations

import datetime
import math
import os
import re
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.base.errors import ToolMisuse
from app.base.phrases import Phrase, PhraseValue
from app.base.values import dataclass

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_WEEKDAYS_IN_SHORT = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EVERY_IN_WORDS = {
    "minute": ("every minute", "every {count} minutes"),
    "hour": ("every hour", "every {count} hours"),
    "day": ("every day", "every {count} days"),
    "week": ("every week", "every {count} weeks"),
}
_DAYS_IN_WORDS = {
    "*": "daily at {time}",
    "1-5": "from Monday to Friday at {time}",
    "0,6": "on Saturday and Sunday at {time}",
}
_GROUPS = {"daily": "*", "day": "*", "weekdays": "1-5", "weekday": "1-5", "weekends": "0,6", "weekend": "0,6"}
_EVERY = re.compile(r"every (?:(\d{1,4}) )?(minute|hour|day|week)s?")
_WEEKLY = re.compile(r"(?:every )?([a-z]{3,9}(?:\s*,\s*[a-z]{3,9})*)(?: at)? (\d{1,2}):(\d\d)")
_NEXT = re.compile(r"(?:(today|tomorrow)(?: at)?|at) (\d{1,2}):(\d\d)")
_AHEAD = re.compile(r"in (\d{1,4}|an?) (minute|hour|day|week)s?")
_SECONDS = {"minute": 60, "hour": 3_600}
_UNITDAYS = {"day": 1, "week": 7}
_LAST_HOUR, _LAST_MINUTE = 23, 59
_SHORTEST_S = 300.0
"""The shortest time between runs, because a run may cost money."""
_CHECKED = 12
_FORMS = (
    "Write the schedule as a time (2026-11-24T09:00, “tomorrow 9:00”, “in 2 hours”), as “every 30 minutes”, "
    "“daily 9:00”, “mon,thu 7:30”, “weekdays 18:00”, or as a cron expression (30 7 * * 1-5)."
)


@dataclass(frozen=True, slots=True)
class When:
    """A schedule in the time zone `zone`. `kind` is `once` (`text`: an ISO time), `every` (`2 hour`) or `cron`."""

    kind: str
    text: str
    zone: str


def zone_name() -> str:
    """UTC if this machine has no time zone."""
    link = os.path.realpath("/etc/localtime")
    for name in (os.environ.get("TZ", "").lstrip(":"), link.partition("zoneinfo/")[2]):
        try:
            return ZoneInfo(name).key if name else "UTC"
        except (ZoneInfoNotFoundError, ValueError, OSError):  # because the computer may lack the time zone database
            continue
    return "UTC"


def read(text: str, now: float, zone: str) -> When:
    """Read a schedule. Raises ToolMisuse if it is invalid, over, or too frequent."""
    words = " ".join(text.lower().replace("noon", "12:00").split())
    once = _once(text.strip(), zone) or _ahead(words, now, zone)
    when = once or _every(words, zone) or _weekly(words, zone) or _cron(words, zone)
    times = next_times(when, now, now, _CHECKED)
    if not times:
        raise ToolMisuse(f"schedule: {text!r} is over, or never comes. {_FORMS}")
    if any(later - sooner < _SHORTEST_S for sooner, later in pairwise(times)):
        raise ToolMisuse(f"schedule: {text!r} comes more often than every {_SHORTEST_S / 60:g} minutes.")
    return when


def read_hour(text: str) -> str:
    """Read a time of day, such as `18:00` or `18`, and return it as `18:00`. Raises ToolMisuse for other texts."""
    hour, colon, minute = text.strip().partition(":")
    numbers = [int(part) for part in (hour, minute or "0") if part.isascii() and part.isdecimal()]
    if len(numbers) != 2 or (colon and len(minute) != 2) or numbers[0] > _LAST_HOUR or numbers[1] > _LAST_MINUTE:
        raise ToolMisuse(f"until: {text!r} is no time of day. Write it like 18:00.")
    return f"{numbers[0]:02}:{numbers[1]:02}"


def _once(text: str, zone: str) -> When | None:
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if len(text) < len("2026-11-24T09"):
        raise ToolMisuse(f"schedule: {text!r} has no time of the day. {_FORMS}")
    return When("once", (at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).isoformat(), zone)


def _ahead(words: str, now: float, zone: str) -> When | None:
    """Read a time relative to now: `in 2 hours`, `tomorrow 9:00`, or `at 9:00` (tomorrow if past). None for others."""
    here = datetime.datetime.fromtimestamp(now, ZoneInfo(zone))
    if match := _AHEAD.fullmatch(words):
        number, unit = int(match[1]) if match[1].isdigit() else 1, match[2]
        if unit in _UNITDAYS:
            at = here + datetime.timedelta(days=number * _UNITDAYS[unit])
        else:  # in seconds since 1970, because the clock may be put forward or back in between
            at = datetime.datetime.fromtimestamp(now + number * _SECONDS[unit], ZoneInfo(zone))
        return When("once", at.isoformat(), zone)
    match = _NEXT.fullmatch(words)
    if not match or int(match[2]) > _LAST_HOUR or int(match[3]) > _LAST_MINUTE:
        return None
    at = here.replace(hour=int(match[2]), minute=int(match[3]), second=0, microsecond=0, fold=0)
    is_next_day = match[1] == "tomorrow" or (not match[1] and at <= here)
    return When("once", (at + datetime.timedelta(days=is_next_day)).isoformat(), zone)


def _every(words: str, zone: str) -> When | None:
    match = _EVERY.fullmatch(words)
    return When("every", f"{int(match[1] or 1)} {match[2]}", zone) if match and int(match[1] or 1) else None


def _weekly(words: str, zone: str) -> When | None:
    match = _WEEKLY.fullmatch(words)
    if not match:
        return None
    named = [day.strip()[:3] for day in match[1].split(",")]
    if match[1] not in _GROUPS and not set(named) <= set(DAYS):
        return None
    days = _GROUPS.get(match[1]) or ",".join(str(DAYS.index(day)) for day in dict.fromkeys(named))
    return _cron(f"{int(match[3])} {int(match[2])} * * {days}", zone)


def _cron(words: str, zone: str) -> When:
    from cronsim import CronSim, CronSimError

    text = _MACROS.get(words, words)
    try:
        CronSim(text, datetime.datetime.now(ZoneInfo(zone)))
    except CronSimError as error:
        raise ToolMisuse(f"schedule: {words!r} is no schedule ({error}). {_FORMS}") from None
    return When("cron", text, zone)


def next_times(when: When, after: float, anchor: float, count: int = 3) -> list[float]:
    """Return the next `count` times (s since 1970). `anchor` is when the schedule was made: intervals begin there."""
    found: list[float] = []
    while len(found) < count and (at := _next(when, found[-1] if found else after, anchor)) is not None:
        found.append(at)
    return found


def _next(when: When, after: float, anchor: float) -> float | None:
    from cronsim import CronSim

    zone = ZoneInfo(when.zone)
    if when.kind == "once":
        at = datetime.datetime.fromisoformat(when.text).timestamp()
        return at if at > after else None
    if when.kind == "cron":
        start = datetime.datetime.fromtimestamp(after, zone)
        return next((at.timestamp() for at in CronSim(when.text, start) if at.timestamp() > after), None)
    number, unit = when.text.split()
    if unit in _SECONDS:
        step = int(number) * _SECONDS[unit]
        return anchor + step * (math.floor((after - anchor) / step) + 1)
    days, first = int(number) * _UNITDAYS[unit], datetime.datetime.fromtimestamp(anchor, zone)
    turns = max(int((after - anchor) // (days * 86_400)) - 1, 1)
    # Count in calendar days, because a day with a clock change has 23 or 25 hours.
    while (at := (first + datetime.timedelta(days=days * turns)).timestamp()) <= after:
        turns += 1
    return at


def spoken(when: When) -> str:
    """Return the schedule as a text that `read` accepts. One that runs once becomes `in 1 minute`."""
    return {"once": "in 1 minute", "every": in_words(when)}.get(when.kind, when.text)


def in_words(when: When) -> str:
    from cronsim import CronSim

    zone = ZoneInfo(when.zone)
    if when.kind == "once":
        return "once, on " + datetime.datetime.fromisoformat(when.text).astimezone(zone).strftime(
            "%A %-d %B %Y at %H:%M"
        )
    if when.kind == "every":
        return phrase_of(when).for_models
    said: str = CronSim(when.text, datetime.datetime.now(zone)).explain()
    return said[0].lower() + said[1:]


def phrase_of(when: When) -> Phrase:
    """Return the schedule as a phrase that can be translated, or as an English one if it is uncommon."""
    if when.kind == "once":
        at = datetime.datetime.fromisoformat(when.text).astimezone(ZoneInfo(when.zone))
        day, time = at.strftime("%Y-%m-%d"), at.strftime("%H:%M")
        given: dict[str, PhraseValue] = {"weekday": (at.strftime("%A"),), "day": day, "time": time}
        return Phrase("once, on {weekday}, {day} at {time}", given)
    if when.kind == "every":
        number, unit = when.text.split()
        one, many = _EVERY_IN_WORDS[unit]
        return Phrase(one, {"count": int(number)}, many=many)
    minute, hour, *date, days = when.text.split()
    if not (minute.isdigit() and hour.isdigit()) or (date[0].isdigit() and days != "*"):
        return Phrase(in_words(when))
    at_time = {"time": f"{int(hour):02}:{int(minute):02}"}
    if date[0].isdigit() and date[1] == "*":
        return Phrase("on day {day} of every month at {time}", {**at_time, "day": date[0]})
    if date != ["*", "*"]:
        return Phrase(in_words(when))
    if days in _DAYS_IN_WORDS:
        return Phrase(_DAYS_IN_WORDS[days], at_time)
    if not set(days.split(",")) <= set("0123456"):
        return Phrase(in_words(when))
    names = tuple(_WEEKDAYS[int(number)] for number in days.split(","))
    return Phrase("every {days} at {time}", {**at_time, "days": names})


def phrase_of_time(at: float, zone: str) -> Phrase:
    """The moment as `clock_time` has it, as a phrase that can be translated."""
    weekday, _, rest = clock_time(at, zone).partition(" ")
    return Phrase("{weekday} {at}", {"weekday": (weekday,), "at": rest})


def read_back(when: When, now: float) -> str:
    """Return the schedule in words with its next three times, so that the person can confirm it."""
    times = [clock_time(at, when.zone) for at in next_times(when, now, now)]
    return f"{in_words(when)} ({when.zone}); next: {', '.join(times)}"


def clock_time(at: float, zone: str) -> str:
    when = datetime.datetime.fromtimestamp(at, ZoneInfo(zone))
    return f"{_WEEKDAYS_IN_SHORT[when.weekday()]} {when:%Y-%m-%d %H:%M}"
