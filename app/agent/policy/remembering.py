"""Turns what the person allowed always into a rule of theirs: as narrow as what they were shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import tomlkit

from app.agent.policy.rules import BadRules, Vocabulary, rules_of
from app.agent.policy.values import Act, Decision
from app.base.errors import NeedsPerson

_FIELDS = ("kind", "command", "path", "host", "app", "role", "control", "keys")
_TELLING = ("command", "path", "host", "control", "keys")
_PASSING = frozenset({"new host", "new words"})
"""Kinds that a host has only until the person names it."""
_LONGEST = 300
_MENDABLE = "Mend it, or allow this once."


def can(act: Act) -> bool:
    """Whether a rule could say what this is. What is typed, opened or run in a terminal is another thing each time."""
    if act.text or act.kinds & {"terminal", "launches"}:
        return False
    told = _conditions(act)
    is_short = all(len(text) <= _LONGEST for texts in told.values() for text in texts)
    return is_short and any(name in told for name in _TELLING)


def write(act: Act, file: Path, vocabulary: Vocabulary | None = None) -> str:
    """Add an allow rule to the person's file; the sentence says what was written where. Raises NeedsPerson."""
    conditions = _conditions(act)
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        rules_of(text, file, vocabulary=vocabulary)
        document = tomlkit.parse(text)
        rules = document.setdefault("rule", tomlkit.aot())
        rules.append(_rule(act, conditions))
        written = tomlkit.dumps(document)
        rules_of(written, file, vocabulary=vocabulary)
        _replace(file, written)
    except (BadRules, OSError, UnicodeDecodeError) as error:
        raise NeedsPerson(f"The rule could not be written: {error} {_MENDABLE}") from None
    return f"{file} allows this from now on."


def _rule(act: Act, conditions: Mapping[str, list[str]]) -> tomlkit.items.Table:
    rule = tomlkit.table()
    rule["name"] = f"always {act.tool}"
    rule["then"] = Decision.ALLOW.value
    rule["tool"] = act.tool
    for name, values in conditions.items():
        rule[name] = values
    return rule


def _conditions(act: Act) -> dict[str, list[str]]:
    """All that is known of the act, word for word."""
    known = {
        "kind": sorted(act.kinds - _PASSING),
        "command": (act.command,) if act.command else (),
        "path": act.paths,
        "host": act.hosts,
        "keys": act.keys,
        "app": [control.app for control in act.controls],
        "role": [control.role for control in act.controls],
        "control": [control.name or control.default for control in act.controls],
    }
    return {name: [_literal(one) for one in known[name]] for name in _FIELDS if known[name] and all(known[name])}


def _literal(text: str) -> str:
    """A pattern that fits only this text."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)


def _replace(file: Path, text: str) -> None:
    beside = file.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(0o600)
    os.replace(beside, file)
