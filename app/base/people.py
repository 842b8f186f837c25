"""For people."""

from __future__ import annotations

import re
from functools import cache

from app.base import resources

_FOR_MODELS = re.compile(
    r"(?<![\w'\"“/.~-])[a-z]+(?:_[a-z]+)+(?![\w'\"”/])(?!\.\w)"
    r"|</?[a-z_]+/?>|\bx and y\b|\b(?:name one|name it) by\b|\b(?:e|w)\d+\b|\bref\b|\bcoordinates?\b"
    r"|\(-?\d+, ?-?\d+\)|\bat -?\d+, -?\d+\b|\bof (?:the|this) capture\b"
    r"|\bcapture [a-z]?\d+\b|\bin this picture\b|\bunverifiable\b"
    r"|\bsuspected no-op\b|\blook (?:again|before|with|at the screen before)\b|\bclick it\b|\buse click\b"
    r"|\buse (?:a command|the program's own)\b|\bact somewhere else\b|\bthe person\b"
    r"|\b(?:scroll|move) its window first\b"
    r"|\bcapture c\d+\b|\bwrite the text to a file instead\b|\bno tool\b|\btry a smaller region\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<=[.!?;])\s+")
_ARGUMENT = re.compile(r"\A(?:[a-z]+(?:_[a-z]+)*: )+")
_REPR = re.compile(r"(?<!\w)'([^'\n]+)'(?!\w)")
_QUOTED = re.compile(r"“[^”]*”")


def for_people(text: str) -> str:
    """Return the parts of a tool's answer that are for people, without calls, ids, places and next steps.

    If `resources/people.toml` has a sentence for people, it replaces that part of the answer.
    """
    said, own, rest = _ARGUMENT.sub("", " ".join(text.split())), "", ""
    for model, person in _own_sentences():
        if found := model.search(said):
            said, own, rest = said[: found.start()], person.format_map(found.groupdict()), said[found.end() :]
            break
    kept = " ".join(one for one in (_kept(said), own, _kept(rest)) if one)
    return kept[:1].upper() + kept[1:]


def _kept(text: str) -> str:
    kept = " ".join(one for one in _CLAUSE.split(text.strip()) if not _FOR_MODELS.search(_QUOTED.sub("", one)))
    return _REPR.sub(r"“\1”", f"{kept[:-1]}." if kept.endswith(";") else kept)


@cache
def _own_sentences() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = resources.table("people.toml", resources.Table)["sentence"]
    return tuple((re.compile(row["model"]), row["person"]) for row in rows)
