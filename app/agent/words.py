"""Sentences about the run itself, read from `resources/prompts/loop.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from string import Template
from typing import Any

from app.base import paths

_SENTENCE_END = re.compile(r"(?<=[.!:\u2026])\s+|(?<=[\u3002\uff01\uff1a])")


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((paths.resources() / "prompts" / "loop.toml").read_text(encoding="utf-8"))


def told(name: str, **values: str) -> str:
    """What the model is told; raises KeyError where the name or one of its values is missing."""
    return Template(_tables()["words"][name]).substitute(values).strip()


def ending(name: str) -> str:
    """How a turn ends, for the person."""
    return str(_tables()["endings"][name])


def only_announces(text: str) -> bool:
    """Whether a reply talks about an action it is about to take, and neither asks nor ends with a result."""
    longest, phrases = _announcements()
    plain = text.replace("\u2019", "'").strip()
    if not plain or plain.endswith(("?", "\uff1f")) or len(plain) > longest:
        return False
    last = " ".join(_SENTENCE_END.split(plain)[-2:])
    return any(phrase.search(last) for phrase in phrases)


def admits_failure(text: str) -> bool:
    """Whether the last sentences of a reply say that something did not work."""
    plain = text.replace("\u2019", "'").strip()
    return _admissions().search(" ".join(_SENTENCE_END.split(plain)[-2:])) is not None


@cache
def _admissions() -> re.Pattern[str]:
    tree = tomllib.loads((paths.resources() / "prompts" / "admitting.toml").read_text(encoding="utf-8"))
    return re.compile(rf"\b{_any_of(tree['phrases'])}\b", re.IGNORECASE)


@cache
def _announcements() -> tuple[int, tuple[re.Pattern[str], ...]]:
    tree = tomllib.loads((paths.resources() / "prompts" / "announcing.toml").read_text(encoding="utf-8"))
    return tree["longest"], tuple(_phrase(entry) for entry in tree["phrase"])


def _phrase(entry: dict[str, Any]) -> re.Pattern[str]:
    """One way to announce; in a `joined` language there are no spaces, and `apart` counts characters."""
    edge, gap, anything = ("", "", ".") if entry.get("joined") else (r"\b", ",? ", r"[\w'-]+")
    denied = f"(?!{edge}{_any_of(entry['denials'])}{edge})" if "denials" in entry else ""
    fillers = f"(?:{gap}{_any_of(entry['fillers'])})*" if "fillers" in entry else ""
    between = f"(?:{gap}{denied}{anything}){{0,{entry.get('apart', 0)}}}"
    said = f"{edge}{_any_of(entry['openings'])}{fillers}{between}{gap}{denied}{_any_of(entry['deeds'])}{edge}"
    return re.compile(said, re.IGNORECASE)


def _any_of(words: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, words))})"
