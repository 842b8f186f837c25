"""Answers in words that need no tool: the time, a sum, a measure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from app.base import resources
from app.providers.offline.days import next_holiday
from app.providers.offline.timing import length
from app.providers.offline.wording import Phrasebook

_MB = 1_000_000


def answer(topic: str, given: Mapping[str, Any], book: Phrasebook, now: datetime.datetime, name: str) -> str:
    """`given` is what stood at the slots of a question about `topic`."""
    match topic:
        case "time_in":
            there = now.astimezone(ZoneInfo(given["city"]))
            return book.talk("time_in", time=f"{there:%H:%M}", date=book.date(there))
        case "day_of" | "days_until" | "time_until" | "week" | "next_holiday":
            return _of_calendar(topic, given, book, now)
        case "sum":
            return book.talk("by_zero") if given["sum"] == "∞" else str(given["sum"])
        case "unit":
            return _measured(given, book)
        case "folder_size":
            megabytes = book.number(round(given["size_bytes"] / _MB, 1))
            return book.talk("folder_size", size=f"{megabytes} MB", count=str(given["count"]))
        case "locate":
            lead = "\n" if len(given["paths"]) > 1 else ""
            return book.talk("locate", paths=lead + "\n".join(given["paths"])).replace(" \n", "\n")
    return book.talk(topic, time=f"{now:%H:%M}", date=book.date(now), name=name)


def _of_calendar(topic: str, given: Mapping[str, Any], book: Phrasebook, now: datetime.datetime) -> str:
    match topic:
        case "day_of":
            return book.date(datetime.datetime.fromisoformat(given["day"]))
        case "days_until":
            return _days_until(datetime.date.fromisoformat(given["day"]), book, now)
        case "time_until":
            return length(60 * _minutes_until(given["at"], now))
        case "week":
            return book.talk("week", number=str(now.isocalendar().week))
        case _:
            at, called = next_holiday(book.language, now.date())
            return book.talk("next_holiday", name=called, date=book.date(_noon(at)))


def _minutes_until(at: str, now: datetime.datetime) -> int:
    """Whole minutes until a time such as `at 17:00` (tomorrow if past) or `tomorrow 9:00`."""
    day, _, time = at.partition(" ")
    hour, _, minute = time.partition(":")
    then = now.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    is_next_day = day == "tomorrow" or (day == "at" and then <= now)
    return round((then + datetime.timedelta(days=is_next_day) - now).total_seconds() / 60)


def _noon(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(12))


def _days_until(day: datetime.date, book: Phrasebook, now: datetime.datetime) -> str:
    count, date = (day - now.date()).days, book.date(_noon(day))
    topic = "today" if count == 0 else "day_until" if count == 1 else "days_until"
    return book.talk(topic, count=str(count), date=date)


def _measured(given: Mapping[str, Any], book: Phrasebook) -> str:
    value, unit = given["of"]
    units = resources.table("offline/units.toml", resources.Table)
    one, other = units[unit], units[given["to"]]
    if one["measures"] != other["measures"]:
        return book.talk("other_measure", unit=unit, other=given["to"])
    base = value * one["is"] + one.get("zero", 0)
    return f"{book.number((base - other.get('zero', 0)) / other['is'])} {given['to']}"
