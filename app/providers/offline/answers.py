"""Answers in words that need no tool: the time, a sum, a measure, the room on the disk."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from app.base import resources
from app.providers.offline.wording import Phrasebook

_GB = 1_000_000_000
_MB = 1_000_000


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
        case "disk":
            free = shutil.disk_usage(Path.home())
            return book.talk("disk", free=_amount(free.free, book), total=_amount(free.total, book))
        case "battery":
            return _charged(book)
        case "folder_size":
            megabytes = book.number(round(given["size_bytes"] / _MB, 1))
            return book.talk("folder_size", size=f"{megabytes} MB", count=str(given["count"]))
        case "locate":
            lead = "\n" if len(given["paths"]) > 1 else ""
            return book.talk("locate", paths=lead + "\n".join(given["paths"])).replace(" \n", "\n")
    return book.talk(topic, time=f"{now:%H:%M}", date=book.date(now), name=name)


def _measured(given: Mapping[str, Any], book: Phrasebook) -> str:
    value, unit = given["of"]
    units = resources.table("offline/units.toml", resources.Table)
    one, other = units[unit], units[given["to"]]
    if one["measures"] != other["measures"]:
        return book.talk("other_measure", unit=unit, other=given["to"])
    base = value * one["is"] + one.get("zero", 0)
    return f"{book.number((base - other.get('zero', 0)) / other['is'])} {given['to']}"


def _amount(size: int, book: Phrasebook) -> str:
    return f"{book.number(round(size / _GB))} GB"


def _charged(book: Phrasebook) -> str:
    import psutil

    found = psutil.sensors_battery()
    if found is None:
        return book.talk("no_battery")
    return book.talk("charging" if found.power_plugged else "battery", percent=f"{found.percent:.0f}")
