"""What tools tell the model, made readable for a person: listings without references, errors without tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from app.base.clipping import clip_line
from app.providers.offline.lexicon import lexicon
from app.providers.offline.steps import Step

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ELEMENT = re.compile(
    rf"\s*e\d+ (?P<role>[a-z][a-z -]*?)(?: (?P<name>{_QUOTED}))?(?: = (?P<value>{_QUOTED}))? \(-?\d+,.*"
)
_WINDOW = re.compile(rf"\S+ (?P<title>{_QUOTED}) (?P<app>.*?) -?\d+x-?\d+ at \(.*?\)(?P<marks>.*)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FOR_MODELS = re.compile(r"\b[a-z]+_[a-z_]+\b|\bby x and y\b")
_NAMES_CHARACTERS = 400


def found(step: Step, echo: str) -> str:
    """What a look brought, with the sentence before it; empty for steps that only do something."""
    table = lexicon().table(f"phrases.{step.phrase}")
    if "found" not in table:
        return ""
    lines = list(_elements(echo) if step.phrase == "read" else _windows(echo))
    return "\n".join([table["found"], *lines]) if lines else echo.strip()


def reason(step: Step, echo: str) -> str:
    """Why a step failed: the tool's own sentences, without those that only a model can follow."""
    text = " ".join(echo.split()).removeprefix(f"{step.tool}:").strip()
    sentences = _SENTENCE.split(text)
    kept = [sentence for sentence in sentences if not _FOR_MODELS.search(sentence)]
    if len(kept) < len(sentences):
        kept.append(str(lexicon().table("phrases.failed")["instead"]))
    return " ".join(kept)


def _elements(echo: str) -> Iterator[str]:
    """A line for each window: its controls by kind, in the order they are told."""
    words = lexicon().table("phrases.read")
    window, by_role = "", dict[str, list[str]]()
    for match in filter(None, map(_ELEMENT.fullmatch, echo.splitlines())):
        name = _plain(match["name"]) or _plain(match["value"])
        if match["role"] in words["windows"]:
            yield from _group(window, by_role)
            window, by_role = name, {}
        elif name:
            by_role.setdefault(match["role"], []).append(name)
    yield from _group(window, by_role)


def _group(window: str, by_role: dict[str, list[str]]) -> Iterator[str]:
    words = lexicon().table("phrases.read")
    kinds = [f"{role} {clip_line(', '.join(names), _NAMES_CHARACTERS)}" for role, names in by_role.items()]
    if window or kinds:
        yield str(words["group"]).format(window=window or words["nameless"], things="; ".join(kinds) or words["empty"])


def _windows(echo: str) -> Iterator[str]:
    for match in filter(None, map(_WINDOW.fullmatch, echo.splitlines())):
        marks = match["marks"].strip(" []")
        yield f"“{_plain(match['title'])}” ({match['app']}{', ' if marks else ''}{marks})"


def _plain(quoted: str | None) -> str:
    try:
        return str(json.loads(quoted)) if quoted else ""
    except ValueError:
        return (quoted or "").strip('"')
