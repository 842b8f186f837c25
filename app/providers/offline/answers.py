"""Answers in words that need no tool: the time, a sum, a measure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from app.base import resources
from app.providers.offline.wording import Phrasebook


def answer(topic: str, given: Mapping[str, Any], book: Phrasebook, now: datetime.datetime, name: str) -> str:
    """Return the answer to a question about `topic`; `given` is what stood at its slots."""
    match topic:
        case "time_in":
            there = now.astimezone(ZoneInfo(given["city"]))
            return book.talk("time_in", time=f"{there:%H:%M}", date=book.date(there))
        case "sum":
            return book.talk("by_zero") if given["sum"] == "∞" else str(given["sum"])
        case "unit":
            return _measured(given, book)
    return book.talk(topic, time=f"{now:%H:%M}", date=book.date(now), name=name)


def _measured(given: Mapping[str, Any], book: Phrasebook) -> str:
    value, unit = given["of"]
    units = resources.table("offline/units.toml", resources.Table)
    one, other = units[unit], units[given["to"]]
    if one["measures"] != other["measures"]:
        return book.talk("other_measure", unit=unit, other=given["to"])
    base = value * one["is"] + one.get("zero", 0)
    return f"{book.number((base - other.get('zero', 0)) / other['is'])} {given['to']}"
