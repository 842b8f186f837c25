"""Read and check the person's rules. `policy` says when a rule holds.

One error rejects a whole file, because a rule that was misread could let something through.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from app.agent.policy.programs import Programs
from app.agent.policy.values import OWN_FOLDER, Action, Decision, Mode, Tier
from app.base import paths
from app.base.values import dataclass, field
from app.protocol.spec import Effect, ToolSpec

CONDITIONS = ("tool", "effect", "mode", "program", "host", "path", "command", "control")
"""What a rule may name: a text, or a list of texts of which one must fit, with * and ? as in file names."""
_REMOVED = {
    "app": "program", "window": "program", "role": "control", "kind": "effect", "keys": "tool", "flag": "tool",
    "tainted": "tool", "planned": "tool", "secret": "path", "personal": "tool", "local": "program",
}  # fmt: skip
"""Conditions of earlier versions, and what says nearly the same."""
_KNOWN = frozenset((*CONDITIONS, "name", "then", "says"))
_EXACT = {"effect": {effect.value for effect in Effect}, "mode": {mode.value for mode in Mode}}
"""Conditions whose values are written out, without * and ?."""
_TIERS = frozenset(tier.value for tier in Tier) - {Tier.ORDINARY.value}
_DECISIONS = [decision.value for decision in Decision]
_WILD = re.compile(r"[*?\[]")
_HEAD = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_FAMILIES = ("mcp_", "browser_")
"""Tools whose names are known only while Wisp runs: a rule may name any tool that begins so."""
_LONGEST = 300
_MOST = 1000
_NEAR = 60
"""Of 100: how like a word of a rule must be to one that is known, so that it is offered."""
NAME = "policy.toml"
_MOST_BYTES = 256_000
_MENDING = "Until you correct that, Wisp asks you before everything except looking and talking."
_LOOSENS = "{where}: rules in a working folder cannot allow anything, so Wisp ignores the rule {name!r}."


class BadRules(ValueError):
    """A rule file cannot be used. The sentence says where the error is and what to write instead."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `where` is its file and line. `conditions` maps names of `CONDITIONS` to patterns; all must hold."""

    name: str
    then: Decision
    where: str
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    says: str = ""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tool names that a rule may use. If no tool is known, names are not checked."""

    tools: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, specs: Sequence[ToolSpec]) -> Vocabulary:
        return cls(
            frozenset(spec.name for spec in specs),
            {alias: spec.name for spec in specs for alias in spec.aliases},
        )

    def check(self, rule: Rule) -> None:
        """Raise BadRules if the rule can never match: a deny rule with a typing error would deny nothing."""
        for tool in rule.conditions.get("tool", ()) if self.tools else ():
            if not tool.casefold().startswith(_FAMILIES):
                _check_known(tool, self.tools, rule.where, self.aliases)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules that apply, and the person's own names of programs by tier.

    `broken` is a sentence about a rule file that cannot be used, or ""; `problems` are all sentences for the person.
    """

    rules: tuple[Rule, ...] = ()
    programs: Programs = field(default_factory=dict)
    broken: str = ""
    problems: tuple[str, ...] = ()

    def of(self, then: Decision) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.then is then)


def rules_of(text: str, source: Path | str, vocabulary: Vocabulary) -> Rulebook:
    """Raises BadRules at the first error."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRules(f"{source} is not TOML: {error}.") from None
    told = tree.get("rule", [])
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise BadRules(f"{source}: write each rule below a line [[rule]].")
    if strange := next((key for key in tree if key not in ("rule", "programs")), ""):
        raise BadRules(f"{source}: {strange!r} does not belong in a rule file. Write rules below lines [[rule]].")
    if len(told) > _MOST:
        raise BadRules(f"{source}: there are {len(told)} rules, and Wisp reads {_MOST} at most.")
    lines = _lines(text, len(told))
    places = [f"{source}:{line}" if line else f"{source}" for line in lines]
    rules = tuple(_rule(one, where) for one, where in zip(told, places, strict=True))
    for rule in rules:
        vocabulary.check(rule)
    return Rulebook(rules, _programs(tree.get("programs", {}), source))


def _programs(told: object, source: Path | str) -> Programs:
    if not isinstance(told, dict) or (strange := next((name for name in told if name not in _TIERS), "")):
        known = ", ".join(f'"{tier}"' for tier in sorted(_TIERS))
        raise BadRules(f"{source}: [programs] holds lists of names under {known}, not {strange if told else told!r}.")
    return {Tier(name): _list(names, name, f"{source}: [programs]") for name, names in told.items()}


def _lines(text: str, count: int) -> Sequence[int]:
    """The line of each `[[rule]]`, or zeros if a quoted `[[rule]]` makes the count wrong."""
    # Count to the end of the match, because it may begin with the blank lines before the rule.
    found = [text[: match.end()].count("\n") + 1 for match in _HEAD.finditer(text)]
    return found if len(found) == count else [0] * count


def _rule(told: Mapping[str, Any], where: str) -> Rule:
    if strange := next((key for key in told if key not in _KNOWN), ""):
        instead = f" Name a {_REMOVED[strange]} instead." if strange in _REMOVED else _hint(strange, _KNOWN)
        known = ", ".join(sorted(_KNOWN))
        raise BadRules(f"{where}: {strange!r} does not belong in a rule.{instead} Possible are {known}.")
    then = told.get("then")
    if then not in _DECISIONS:
        hint = _hint(then, _DECISIONS) if isinstance(then, str) else ""
        raise BadRules(f'{where}: then must be "deny", "ask" or "allow", not {then!r}.{hint}')
    conditions = {name: _list(told[name], name, where) for name in CONDITIONS if name in told}
    if not conditions and then == Decision.ALLOW.value:
        raise BadRules(f"{where}: a rule may not allow everything. Name at least one tool.")
    name, says = (_short(told.get(key, ""), key, where) for key in ("name", "says"))
    return Rule(name or where, Decision(then), where, conditions, says)


def _list(value: Any, name: str, where: str) -> tuple[str, ...]:
    given: list[str] = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(one, str) and one and len(one) <= _LONGEST for one in given):
        raise BadRules(f"{where}: {name} must be a text or a list of texts, each of 1 to {_LONGEST} characters.")
    known = _EXACT.get(name, set(given))
    if wrong := next((one for one in given if one not in known), ""):
        listed = ", ".join(sorted(known))
        raise BadRules(f"{where}: there is no {name} {wrong!r}.{_hint(wrong, known)} Possible are {listed}.")
    return tuple(given)


def _check_known(pattern: str, known: Collection[str], where: str, aliases: Mapping[str, str]) -> None:
    wanted = pattern.casefold().strip()
    if (wanted in known) if not _WILD.search(wanted) else any(fnmatchcase(one, wanted) for one in known):
        return
    if real := aliases.get(wanted):
        raise BadRules(f"{where}: write {real!r}, the own name of the tool {pattern!r}.")
    if _WILD.search(pattern):
        raise BadRules(f"{where}: no tool fits {pattern!r}.{_hint(pattern, known)}")
    raise BadRules(f"{where}: there is no tool {pattern!r}.{_hint(pattern, known)}")


def _hint(word: str, known: Iterable[str]) -> str:
    from rapidfuzz import process

    found = process.extractOne(word.casefold(), sorted(known), score_cutoff=_NEAR)
    return f" Did you mean {found[0]!r}?" if found else ""


def _short(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise BadRules(f"{where}: {name} must be a text of at most {_LONGEST} characters.")
    return value


def persons_file() -> Path:
    return paths.config_dir() / NAME


def workspace_file(workspace: Path) -> Path:
    return workspace / OWN_FOLDER / NAME


def load(workspace: Path, persons: Path | None, vocabulary: Vocabulary) -> Rulebook:
    """Load the current rules of the person and of the workspace, which can only make things stricter."""
    rules: list[Rule] = []
    problems: list[str] = []
    programs: Programs = {}
    broken = ""
    for source, may_allow in ((persons or persons_file(), True), (workspace_file(workspace), False)):
        try:
            found = _read(source, vocabulary)
        except BadRules as error:
            broken = broken or f"{error} {_MENDING}"
            problems.append(f"{error} {_MENDING}")
            continue
        loose = [] if may_allow else [rule for rule in found.rules if rule.then is Decision.ALLOW]
        problems += [_LOOSENS.format(where=rule.where, name=rule.name) for rule in loose]
        rules += [rule for rule in found.rules if rule not in loose]
        programs = {
            tier: (*programs.get(tier, ()), *found.programs.get(tier, ())) for tier in {*programs, *found.programs}
        }
    return Rulebook(tuple(rules), programs, broken, tuple(problems))


def _read(source: Path, vocabulary: Vocabulary) -> Rulebook:
    """No rules if the file does not exist."""
    try:
        if not source.exists():
            return Rulebook()
        if not source.is_file() or source.stat().st_size > _MOST_BYTES:
            raise BadRules(f"{source} is no file of at most {_MOST_BYTES} bytes.")
        return rules_of(source.read_text(encoding="utf-8"), source, vocabulary)
    except OSError as error:
        raise BadRules(f"{source} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise BadRules(f"{source} is not UTF-8 text.") from None


def described(act: Action) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the values of an action that each condition is compared with, except the mode: each with its spellings."""
    owners = dict.fromkeys(control.window.owner for control in act.controls)
    values = {
        "tool": (act.tool,),
        "effect": tuple(effect.value for effect in act.effects),
        "path": act.paths,
        "host": act.hosts,
        "command": (act.command,) if act.command else (),
        "control": tuple(control.name or control.default for control in act.controls),
    }
    spelled = {name: tuple((value,) for value in found) for name, found in values.items()}
    return {**spelled, "program": tuple((owner.name, *owner.labels) for owner in owners)}
