"""Sentences about the run itself, read from `resources/prompts/loop.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from string import Template
from typing import Any

from app.base import paths


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((paths.resources() / "prompts" / "loop.toml").read_text(encoding="utf-8"))


def told(name: str, **values: str) -> str:
    """What the model is told; raises KeyError where the name or one of its values is missing."""
    return Template(_tables()["words"][name]).substitute(values).strip()


def ending(name: str) -> str:
    """How a turn ends, for the person."""
    return str(_tables()["endings"][name])


@cache
def _announcement() -> re.Pattern[str]:
    table = _tables()["announcing"]
    openings = "|".join(re.escape(words) for words in table["openings"])
    deeds = "|".join(re.escape(words) for words in table["deeds"])
    return re.compile(
        rf"\b(?:{openings})(?:,? (?:now|then|first|also|just|will|quickly))* (?:{deeds})\b", re.IGNORECASE
    )


def only_announces(text: str) -> bool:
    """Whether a reply talks about an action it is about to take, and neither asks nor ends with a result."""
    plain = text.replace("\u2019", "'").strip()
    if not plain or plain.endswith("?") or len(plain) > _tables()["announcing"]["longest"]:
        return False
    last = re.split(r"(?<=[.!:…])\s+", plain)[-2:]
    return bool(_announcement().search(" ".join(last)))
