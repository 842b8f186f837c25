"""The table of sentences, as values."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

from tests.conftest import DATA

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Sentence:
    """What is said, and exactly one of the three things it may come to."""

    say: str
    calls: tuple[Call, ...] = ()
    answered: str = ""
    declined: str = ""


def sentences() -> tuple[Sentence, ...]:
    table = tomllib.loads((DATA / "offline" / "sentences.toml").read_text(encoding="utf-8"))
    return tuple(_sentence(entry) for entry in table["sentence"])


def _sentence(entry: dict[str, Any]) -> Sentence:
    calls = tuple((tool, arguments) for tool, arguments in entry.get("calls", ()))
    return Sentence(entry["say"], calls, entry.get("answered", ""), entry.get("declined", ""))


SENTENCES = sentences()
DONE = tuple(sentence for sentence in SENTENCES if sentence.calls)
DECLINED = tuple(sentence for sentence in SENTENCES if sentence.declined)
