"""Answers to choose from, as models write them: a JSON list, nearly one, or lines of any kind."""

from __future__ import annotations

import json
import re

_OPENERS = "\"'“"
_CLOSERS = {'"': '"', "'": "'", "“": "”"}
_AFTER_CLOSE = ",;]["
_BULLET = re.compile(r"\s*(?:[-*•]|\(?\d{1,2}[.):]|\(?[A-Za-z][.)])\s+")
_TAGS = re.compile(r"</?options?>", re.IGNORECASE)


def parse_options(text: str) -> tuple[str, ...]:
    """The separate answers in `text`, without repetitions; empty where it holds no list."""
    text = _TAGS.sub("\n", text).strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        found = _sloppy(text)
    else:
        found = (
            [item if isinstance(item, str) else json.dumps(item) for item in value] if isinstance(value, list) else []
        )
        found = [value] if isinstance(value, str) else found
    return tuple(dict.fromkeys(one.strip() for one in found if one.strip()))


def _sloppy(text: str) -> list[str]:
    if text.startswith("{"):
        return []
    if text.startswith("["):
        inner = text[1:].lstrip()
        return _quoted(inner) if inner[:1] in _CLOSERS else _split(text.strip("[]"))
    return _quoted(text) if text[:1] in _CLOSERS else _split(text)


def _quoted(text: str) -> list[str]:
    """The strings of a broken list. A quote closes only before a comma, a bracket or the end: apostrophes stay."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] not in _OPENERS:
            at += 1
            continue
        close = _closing(text, at + 1, _CLOSERS[text[at]])
        found.append(text[at + 1 : close].replace('\\"', '"').replace("\\'", "'"))
        at = close + 1
    return found


def _closing(text: str, at: int, quote: str) -> int:
    while (at := text.find(quote, at)) >= 0:
        after = text[at + 1 :].lstrip(" \t")[:1]
        if text[at - 1] != "\\" and (not after or after in _AFTER_CLOSE or after == "\n"):
            return at
        at += 1
    return len(text)


def _split(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return [_unquoted(_BULLET.sub("", line, count=1)) for line in lines]
    for sign in ("|", ";", ","):
        if sign in text:
            return [_unquoted(part) for part in text.split(sign)]
    return [_unquoted(_BULLET.sub("", text, count=1))]


def _unquoted(text: str) -> str:
    text = text.strip().rstrip(",").rstrip()
    return text[1:-1] if len(text) > 1 and text[0] in _CLOSERS and text[-1] == _CLOSERS[text[0]] else text
