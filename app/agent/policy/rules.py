"""A rule: what it decides, and the conditions that must all hold. Read from TOML; a file with a fault is told whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from app.agent.policy.tables import table
from app.agent.policy.values import Consequence, Decision, Mode
from app.protocol.spec import Effect, Kind, Param, ToolSpec

_OF_THE_CALL = ("tool", "effect", "kind", "path", "host", "keys", "command", "flag")
_OF_THE_SCREEN = ("window", "app", "role", "control")
LISTS = (*_OF_THE_CALL, *_OF_THE_SCREEN, "mode")
"""Conditions that name what fits: a text, or a list of texts."""
_FLAGS = ("tainted", "planned", "secret", "personal")
_KNOWN = frozenset((*LISTS, *_FLAGS, "name", "then", "says"))
_EXACT = {"effect": {effect.value for effect in Effect}, "mode": {mode.value for mode in Mode}}
"""Conditions whose values are written out, without * and ?."""
_KINDS = frozenset(kind.value for kind in Consequence)
_DECISIONS = [decision.value for decision in Decision]
_WILD = re.compile(r"[*?\[]")
_HEAD = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_LONGEST = 300
_MOST = 1000
_NEAR = 60
"""Of 100: how like a word of a rule must be to one that is known, so that it is offered."""


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
    secret: bool | None = None
    personal: bool | None = None
    says: str = ""
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names of tools and flags that a rule may use. Where no tool is known, none of them is checked."""

    tools: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    @classmethod
    def of(cls, specs: Sequence[ToolSpec]) -> Vocabulary:
        return cls(
            frozenset(spec.name for spec in specs),
            {alias: spec.name for spec in specs for alias in spec.aliases},
            frozenset(name for spec in specs for name in _flags_of(spec.params)),
        )

    def check(self, rule: Rule) -> None:
        """Raises BadRules where a condition could never hold: a deny rule with a typing error would deny nothing."""
        for kind in rule.conditions.get("kind", ()):
            _check_known("kind", kind, _KINDS, rule.where)
        if not self.tools:
            return
        tools = rule.conditions.get("tool", ())
        for tool in tools:
            if not _is_of_a_family(tool):
                _check_known("tool", tool, self.tools, rule.where, self.aliases)
        if not any(_is_of_a_family(tool) for tool in tools):
            for flag in rule.conditions.get("flag", ()):
                _check_known("flag", flag, self.flags, rule.where)


def rules_of(
    text: str, source: Path | str, *, is_ours: bool = False, vocabulary: Vocabulary | None = None
) -> list[Rule]:
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
    rules = [_rule(one, where, is_ours) for one, where in zip(told, places, strict=True)]
    for rule in rules:
        (vocabulary or Vocabulary()).check(rule)
    return rules


def _lines(text: str, count: int) -> Sequence[int]:
    """The line of each `[[rule]]`; zeros where they cannot be told (one that stands inside a text)."""
    # A match may begin with the blank lines before it: its end counts.
    found = [text[: match.end()].count("\n") + 1 for match in _HEAD.finditer(text)]
    return found if len(found) == count else [0] * count


def _rule(told: Mapping[str, Any], where: str, is_ours: bool) -> Rule:  # noqa: FBT001 - a fact about the file
    if strange := next((key for key in told if key not in _KNOWN), ""):
        known = ", ".join(sorted(_KNOWN))
        raise BadRules(f"{where}: {strange!r} is no part of a rule.{_hint(strange, _KNOWN)} Known are {known}.")
    then = told.get("then")
    if then not in _DECISIONS:
        hint = _hint(then, _DECISIONS) if isinstance(then, str) else ""
        raise BadRules(f'{where}: then must be "deny", "ask" or "allow", not {then!r}.{hint}')
    conditions = {name: _list(told[name], name, where) for name in LISTS if name in told}
    flags = {name: _flag(told[name], name, where) for name in _FLAGS if name in told}
    if not conditions and not flags and then == Decision.ALLOW.value:
        raise BadRules(f"{where}: a rule that allows everything is none; name at least a tool.")
    name, says = (_short(told.get(key, ""), key, where) for key in ("name", "says"))
    return Rule(name or where, Decision(then), where, conditions, **flags, says=says, is_ours=is_ours)


def _list(value: Any, name: str, where: str) -> tuple[str, ...]:
    given: list[str] = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(one, str) and one and len(one) <= _LONGEST for one in given):
        raise BadRules(f"{where}: {name} must be a text or a list of texts, each of 1 to {_LONGEST} characters.")
    known = _EXACT.get(name, set(given))
    if wrong := next((one for one in given if one not in known), ""):
        raise BadRules(f"{where}: there is no {name} {wrong!r}.{_hint(wrong, known)} Known are {_listed(known)}.")
    return tuple(given)


def _check_known(
    name: str, pattern: str, known: Iterable[str], where: str, aliases: Mapping[str, str] | None = None
) -> None:
    wanted = pattern.casefold().strip()
    if any(fnmatchcase(one, wanted) for one in known):
        return
    if real := (aliases or {}).get(wanted):
        raise BadRules(f"{where}: rules call the {name} {pattern!r} by its own name, {real!r}.")
    if _WILD.search(pattern):
        raise BadRules(f"{where}: no {name} fits {pattern!r}.{_hint(pattern, known)}")
    listed = f" Known are {_listed(known)}." if name == "kind" else ""
    raise BadRules(f"{where}: there is no {name} {pattern!r}.{_hint(pattern, known)}{listed}")


def _is_of_a_family(tool: str) -> bool:
    """Whether the pattern names tools that are known only while Wisp runs."""
    return tool.casefold().startswith(tuple(table("calls")["families"]["prefixes"]))


def _hint(word: str, known: Iterable[str]) -> str:
    from rapidfuzz import process

    found = process.extractOne(word.casefold(), sorted(known), score_cutoff=_NEAR)
    return f" Did you mean {found[0]!r}?" if found else ""


def _listed(known: Iterable[str]) -> str:
    return ", ".join(sorted(known))


def _flags_of(params: Iterable[Param]) -> Iterator[str]:
    for param in params:
        if param.kind is Kind.FLAG:
            yield param.name
        yield from _flags_of(param.attrs)


def _flag(value: object, name: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadRules(f"{where}: {name} must be true or false.")
    return value


def _short(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise BadRules(f"{where}: {name} must be a text of at most {_LONGEST} characters.")
    return value
