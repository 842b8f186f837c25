"""The corpora: one case a line, as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

HOSTILE = Path(__file__).parent / "corpus"
BENIGN = Path(__file__).parent / "benign"


class Wall(StrEnum):
    """What must stop a case, from the outermost to the innermost. An earlier one may stop a case as well."""

    READER = "reader"
    """Nothing in the text is a call."""
    ARGUMENTS = "arguments"
    """The call cannot be read: what it gives is not what the tool takes."""
    GATE = "gate"
    """The policy denies it, or asks and nobody allows it."""
    FILES = "files"
    """The workspace's own rules about paths, also where everything is allowed."""
    NETWORK = "network"
    """The guard that judges addresses."""
    LIMITS = "limits"
    """Caps on bytes, time and memory; patterns are matched elsewhere."""
    HARMLESS = "harmless"
    """It may run: the observers alone judge what comes of it."""


_ORDER = list(Wall)


def at_or_before(one: Wall | None, other: Wall) -> bool:
    """Whether `one` stands no further in than `other`."""
    if other in (Wall.HARMLESS, Wall.LIMITS):
        return True
    return one is not None and (other is Wall.NETWORK or _ORDER.index(one) <= _ORDER.index(other))


@dataclass(frozen=True)
class Case:
    """`say` is what the model answers, pass after pass. `files` are put into the workspace before,
    `made` are payloads by their recipe, `pages` are served at @SITE@.

    `ran` names the tools that run first (they read); `mode` and `dialect` are settings.
    """

    id: str
    say: Sequence[Any]
    wall: Wall | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    ran: Sequence[str] = ()
    mode: str = "yolo"
    dialect: str = "xml"
    task: str = "go on"


@cache
def load(path: Path) -> tuple[Case, ...]:
    """The cases of one file. Raises where a line is no case."""
    cases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            say = row.pop("say")
            wall = row.pop("wall", None)
            say = [say] if isinstance(say, str) else say
            cases.append(Case(say=say, wall=Wall(wall) if wall else None, **row))
        except (ValueError, KeyError, TypeError) as error:
            raise AssertionError(f"{path.name}:{number}: {error}") from error
    assert len({case.id for case in cases}) == len(cases), f"{path.name}: two cases of one name"
    return tuple(cases)
