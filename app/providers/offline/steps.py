"""What reading a wish may come to: steps to do, words to answer with, or a refusal of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Step:
    """One call. `phrase` names the sentences said about it, `what` fills them."""

    tool: str
    arguments: Mapping[str, Value] = field(default_factory=dict)
    phrase: str = ""
    what: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The wish is declined as a whole. `kind` names the sentence in `resources/offline/phrases.toml`."""

    kind: str
    part: str = ""
    near: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """An answer in words only: `help`, `hello`, …"""

    topic: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on with the wish before this one."""


Reading = Plan | Talk | Resume | Refusal
Steps = tuple[Step, ...] | Refusal
