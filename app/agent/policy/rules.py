"""A rule: what it decides, and the conditions that must all hold. Read from TOML; a file with a fault is told whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.agent.policy.values import Decision, Mode
from app.protocol.spec import Effect

_OF_THE_CALL = ("tool", "effect", "kind", "path", "host", "keys", "command", "flag")
_OF_THE_SCREEN = ("window", "app", "role", "control")
LISTS = (*_OF_THE_CALL, *_OF_THE_SCREEN, "mode")
"""Conditions that name what fits: a text, or a list of texts."""
_FLAGS = ("tainted", "planned")
_KNOWN = frozenset((*LISTS, *_FLAGS, "name", "then", "says"))
_VALUES = {"effect": {effect.value for effect in Effect}, "mode": {mode.value for mode in Mode}}
_HEAD = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_LONGEST = 300
_MOST = 1000


class BadRules(ValueError):
    """A file of rules cannot be used; the sentence says where and what to write instead."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`where` is the file and line it stands at. `conditions` maps names of `LISTS` to what fits."""

    name: str
    then: Decision
    where: str
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tainted: bool | None = None
    planned: bool | None = None
    says: str = ""
    is_ours: bool = False


def rules_of(text: str, source: Path | str, *, is_ours: bool = False) -> list[Rule]:
    """The rules of a file. Raises BadRules at the first fault: a rule that was misread could let something through."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRules(f"{source} is not TOML: {error}.") from None
    told = tree.get("rule", [])
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise BadRules(f"{source}: write each rule below a line [[rule]].")
    if not is_ours and (strange := next((key for key in tree if key != "rule"), "")):
        raise BadRules(f"{source}: {strange!r} is nothing a rule file holds; write rules below lines [[rule]].")
    if len(told) > _MOST:
        raise BadRules(f"{source}: {len(told)} rules are too many, at most {_MOST}.")
    lines = _lines(text, len(told))
    places = [f"{source}:{line}" if line else f"{source}" for line in lines]
    return [_rule(one, where, is_ours) for one, where in zip(told, places, strict=True)]


def _lines(text: str, count: int) -> Sequence[int]:
    """The line of each `[[rule]]`; zeros where they cannot be told (one that stands inside a text)."""
    # A match may begin with the blank lines before it: its end counts.
    found = [text[: match.end()].count("\n") + 1 for match in _HEAD.finditer(text)]
    return found if len(found) == count else [0] * count


def _rule(told: Mapping[str, Any], where: str, is_ours: bool) -> Rule:  # noqa: FBT001 - a fact about the file
    if strange := next((key for key in told if key not in _KNOWN), ""):
        raise BadRules(f"{where}: {strange!r} is no part of a rule. Known are {', '.join(sorted(_KNOWN))}.")
    then = told.get("then")
    if then not in {decision.value for decision in Decision}:
        raise BadRules(f'{where}: then must be "deny", "ask" or "allow", not {then!r}.')
    conditions = {name: _list(told[name], name, where) for name in LISTS if name in told}
    flags = {name: _flag(told[name], name, where) for name in _FLAGS if name in told}
    if not conditions and not flags and then == Decision.ALLOW.value:
        raise BadRules(f"{where}: a rule that allows everything is none; name at least a tool.")
    name, says = (_short(told.get(key, ""), key, where) for key in ("name", "says"))
    tainted, planned = flags.get("tainted"), flags.get("planned")
    return Rule(name or where, Decision(then), where, conditions, tainted, planned, says, is_ours)


def _list(value: object, name: str, where: str) -> tuple[str, ...]:
    given = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(one, str) and one and len(one) <= _LONGEST for one in given):
        raise BadRules(f"{where}: {name} must be a text or a list of texts, each of 1 to {_LONGEST} characters.")
    if wrong := next((one for one in given if one not in _VALUES.get(name, {one})), ""):
        raise BadRules(f"{where}: there is no {name} {wrong!r}; there are {', '.join(sorted(_VALUES[name]))}.")
    return tuple(given)


def _flag(value: object, name: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadRules(f"{where}: {name} must be true or false.")
    return value


def _short(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise BadRules(f"{where}: {name} must be a text of at most {_LONGEST} characters.")
    return value
