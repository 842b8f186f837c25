"""Numbers, lengths of time, times of day and dates, as people say them."""

from __future__ import annotations

import datetime
import functools
import re

from app.providers.offline.days import day
from app.providers.offline.grammar import Grammar

_DECIMAL = re.compile(r"\d{1,6}(?:[.,]\d{1,6})?")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d\d)| ?uhr ?(\d\d)?)? ?(am|pm|a\.m\.|p\.m\.|o'clock|uhr)?", re.IGNORECASE)
_LAST_HOUR = 23


def number(said: str, grammar: Grammar) -> float | None:
    """Return the number that digits or words say, such as `3`, `two` or `twenty-five`; None for other words."""
    low = said.casefold().strip()
    if _DECIMAL.fullmatch(low):
        return float(low.replace(",", "."))
    known = grammar.words["numbers"]
    if low in known:
        return float(known[low])
    tens, _, ones = low.replace(" ", "-").partition("-")
    if tens in known and ones in known and float(known[tens]) >= 20 and float(known[ones]) < 10:
        return float(known[tens]) + float(known[ones])
    return None


def duration(said: str, grammar: Grammar) -> float | None:
    """Return the seconds of a time such as `90 s`, `a minute` or `1 hour and 30 minutes`; None for other words."""
    if (one := _of_unit(said, grammar)) is not None:
        return one
    for joint in re.finditer(rf",? (?:(?:{grammar.between}) )?", said):
        first = _of_unit(said[: joint.start()], grammar)
        rest = duration(said[joint.end() :], grammar) if first is not None else None
        if first is not None and rest is not None:
            return first + rest
    return None


def _of_unit(said: str, grammar: Grammar) -> float | None:
    """The seconds of a number of one unit, or of one unit without a number; None for other words."""
    units = grammar.words["units"]
    if said in units:
        return float(units[said])
    found = re.fullmatch(r"(?P<number>.*?)(?:(?<=\d)| )(?P<unit>[^\W\d]+)", said)
    if found is None or found["unit"] not in units:
        return None
    value = number(re.sub(r" (?:a|an)$", "", found["number"]), grammar)
    return value * float(units[found["unit"]]) if value is not None else None


def length(seconds: float) -> str:
    """Return a length of time as people write it in any language, such as `1 h 30 min`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = ((hours, "h"), (minutes, "min"), (round(rest, 3), "s"))
    return " ".join(f"{count:.12g} {unit}" for count, unit in parts if count) or "0 s"


def clock(said: str, grammar: Grammar) -> str:
    """Return a time of day such as `9`, `9.30 pm` or `noon` as hours and minutes, `21:30`; "" for other words."""
    if named := grammar.words["clock"].get(said.casefold()):
        return str(named)
    for words, minutes in grammar.words["past"].items():  # “half past 9”, “halb zehn”
        hour = (
            number(said.casefold().removeprefix(f"{words} "), grammar)
            if said.casefold().startswith(f"{words} ")
            else None
        )
        if hour is not None and 1 <= hour <= _LAST_HOUR:
            told = int(hour) * 60 + int(minutes)
            return f"{told // 60}:{told % 60:02}"
    found = _CLOCK.fullmatch(said.strip())
    if not found or int(found[1]) > _LAST_HOUR or int(found[2] or found[3] or 0) > 59:
        return ""
    hour = int(found[1])
    half = (found[4] or "").casefold().replace(".", "")
    if half in ("am", "pm") and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour}:{found[2] or found[3] or '00'}"


def when(said: str, grammar: Grammar) -> str:
    """Return a time for later as schedules take it (app/features/schedule/times.py); "" for other words."""
    said = said.casefold()
    for shape, means in grammar.words["times"].items():
        found = _time_shape(shape).fullmatch(said)
        if not found:
            continue
        parts = {name: _time_part(name, text, said, grammar) for name, text in found.groupdict("").items()}
        if all(parts.values()):
            return str(means.format(**parts))
    return _date(said, grammar)


def when_alone(said: str, grammar: Grammar) -> str:
    """Return the time that is meant where only a time of day, or only a day, is said; "" for other words."""
    said = said.casefold()
    if time := clock(said, grammar):
        return f"at {time}"
    at = str(grammar.words["whole_day"])
    if relative := grammar.listed("relative", said):
        return f"{relative} {at}"
    found = day(said, grammar, datetime.date.today()) if re.search(grammar.words["day_alone"], said) else None
    return f"{found:%Y-%m-%d}T{int(at.partition(':')[0]):02}:00" if found else ""


@functools.cache
def _time_shape(shape: str) -> re.Pattern[str]:
    words = {"relative": r"[^ ]+"}  # or else “7 am tomorrow” would be cut behind the 7
    return re.compile(re.sub(r"\{(\w+)\}", lambda slot: rf"(?P<{slot[1]}>{words.get(slot[1], '.+?')})", shape))


def _time_part(name: str, text: str, said: str, grammar: Grammar) -> str:
    if name == "time":
        time = clock(text, grammar)
        return _later_in_day(time, said, grammar) if time else ""
    if name == "day":
        return grammar.listed("days", text) or grammar.listed("days", text.removesuffix("s"))
    if name == "count":
        value = number(text, grammar)
        return str(int(value)) if value is not None and value >= 1 and value == int(value) else ""
    if name == "length":
        seconds = duration(text, grammar)
        return f"{seconds / 60:.0f} minutes" if seconds and seconds % 60 == 0 else ""
    return grammar.listed({"span": "spans", "part": "parts"}.get(name, name), text)


def _date(said: str, grammar: Grammar) -> str:
    """A date with a time of day, such as `next friday at 3 pm`, in ISO 8601; "" for other words."""
    found = re.fullmatch(grammar.words["dated"], said)
    time = clock(found["time"], grammar) if found else ""
    if not found or not time:
        return ""
    at = day(found["date"], grammar, datetime.date.today())
    hour, _, minute = _later_in_day(time, said, grammar).partition(":")
    return f"{at:%Y-%m-%d}T{int(hour):02}:{minute}" if at else ""


def _later_in_day(time: str, said: str, grammar: Grammar) -> str:
    """Makes `8:00` `20:00` where the words tell of the evening or the afternoon."""
    hour, _, minute = time.partition(":")
    is_later = any(word in said.split() for word in grammar.words["evening"])
    return f"{int(hour) + 12}:{minute}" if is_later and 0 < int(hour) < 12 else time
