"""Whether a rule fits an act. To deny or ask, one thing that fits is enough; to allow, everything must be covered."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from app.agent.policy.chords import is_part, spelled
from app.agent.policy.rules import Rule
from app.agent.policy.values import Act, Decision, Mode, Provenance

_COMPOUND = frozenset(";|&$`()<>\n\r\\{}#")
"""Signs that make one command several, or another: a pattern never allows those."""
_LONGEST_CHARS = 2000


def fits(rule: Rule, act: Act, mode: Mode, provenance: Provenance, workspace: Path) -> bool:
    """Whether all conditions of the rule hold."""
    if rule.tainted is not None and rule.tainted != bool(provenance.tainted_by):
        return False
    if rule.secret is not None and rule.secret != bool(provenance.secrets):
        return False
    if rule.planned is not None and rule.planned != provenance.planned:
        return False
    if rule.personal is not None and rule.personal != bool(provenance.personal):
        return False
    told = _told(act, mode)
    wants_all = rule.then is Decision.ALLOW
    return all(
        _fits(name, patterns, told[name], wants_all=wants_all, workspace=workspace)
        for name, patterns in rule.conditions.items()
    )


def names_hosts(rule: Rule, hosts: tuple[str, ...]) -> bool:
    """Whether the rule names each of these hosts."""
    patterns = rule.conditions.get("host", ())
    return bool(patterns) and all(_one_fits("host", host, patterns, wants_all=True) for host in hosts)


def _told(act: Act, mode: Mode) -> Mapping[str, tuple[str, ...]]:
    """What each condition is held against."""
    return {
        "tool": (act.tool,),
        "effect": tuple(effect.value for effect in act.effects),
        "mode": (mode.value,),
        "kind": tuple(act.kinds),
        "path": act.paths,
        "host": act.hosts,
        "window": tuple(control.window for control in act.controls),
        "app": tuple(control.app for control in act.controls),
        "role": tuple(control.role for control in act.controls),
        "control": tuple(control.name for control in act.controls),
        "keys": act.keys,
        "command": (act.command,) if act.command else (),
        "flag": tuple(name for name, value in act.arguments.items() if value is True),
    }


def _fits(name: str, patterns: tuple[str, ...], values: tuple[str, ...], *, wants_all: bool, workspace: Path) -> bool:
    if name == "path":
        patterns = tuple(_absolute(pattern, workspace) for pattern in patterns)
    if name == "keys":
        patterns = tuple(chord for pattern in patterns for chord in spelled(pattern))
    if not values:
        return False
    found = (_one_fits(name, value, patterns, wants_all=wants_all) for value in values)
    return all(found) if wants_all else any(found)


def _one_fits(name: str, value: str, patterns: Iterable[str], *, wants_all: bool) -> bool:
    if name == "command" and wants_all:
        return value in patterns or (not _COMPOUND & set(value) and any(fnmatchcase(value, one) for one in patterns))
    if name == "keys" and not wants_all and any(is_part(pattern, value) for pattern in patterns):
        return True
    if name == "path":
        below = () if wants_all else tuple(f"{pattern.rstrip('/')}/*" for pattern in patterns)
        return any(fnmatchcase(value, pattern) for pattern in (*patterns, *below))
    return any(fnmatchcase(_plain(value), _plain(pattern)) for pattern in patterns)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_LONGEST_CHARS]).casefold().strip()


def _absolute(pattern: str, workspace: Path) -> str:
    """A pattern of paths, from the home folder or the workspace on."""
    if pattern.startswith("~/"):
        return (Path.home() / pattern[2:]).as_posix()
    return pattern if Path(pattern).is_absolute() else (workspace / pattern).as_posix()
