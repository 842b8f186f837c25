"""All rules that count: Wisp's own, the person's, and those of the workspace, which may only make things stricter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.agent.policy.reading import OWN_FOLDER
from app.agent.policy.rules import BadRules, Rule, Vocabulary, rules_of
from app.agent.policy.tables import table
from app.agent.policy.values import Decision
from app.base import paths

NAME = "policy.toml"
_MOST_BYTES = 256_000
_MENDING = "Until that is mended, everything but looking and talking asks first."
_LOOSENS = "{where}: a workspace's rules cannot allow anything; the rule {name!r} is passed over."


@dataclass(frozen=True, slots=True)
class Rulebook:
    """`modes` is the table of Wisp's own file. `broken` is the sentence about a file that cannot be used, or empty;
    `problems` are all sentences for the person.
    """

    rules: tuple[Rule, ...]
    modes: Mapping[str, Any]
    broken: str = ""
    problems: tuple[str, ...] = ()

    def of(self, then: Decision) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.then is then)


def persons_file() -> Path:
    """Where the person's own rules stand."""
    return paths.config_dir() / NAME


def workspace_file(workspace: Path) -> Path:
    """Where a workspace's rules stand."""
    return workspace / OWN_FOLDER / NAME


def shipped_file() -> Path:
    return paths.resources() / "policy" / "default.toml"


def load(workspace: Path, persons: Path | None = None, vocabulary: Vocabulary | None = None) -> Rulebook:
    """The rules as they are now. Raises OSError or ValueError only where Wisp's own file is damaged."""
    shipped = shipped_file()
    rules = rules_of(shipped.read_text(encoding="utf-8"), shipped.name, is_ours=True, vocabulary=vocabulary)
    problems: list[str] = []
    broken = ""
    for source, may_allow in ((persons or persons_file(), True), (workspace_file(workspace), False)):
        try:
            found = _read(source, vocabulary)
        except BadRules as error:
            broken = broken or f"{error} {_MENDING}"
            problems.append(f"{error} {_MENDING}")
            continue
        loose = [] if may_allow else [rule for rule in found if rule.then is Decision.ALLOW]
        problems += [_LOOSENS.format(where=rule.where, name=rule.name) for rule in loose]
        rules += [rule for rule in found if rule not in loose]
    return Rulebook(tuple(rules), table("default")["modes"], broken, tuple(problems))


def _read(source: Path, vocabulary: Vocabulary | None) -> list[Rule]:
    """The rules of a file, none where there is no file."""
    try:
        if not source.exists():
            return []
        if not source.is_file() or source.stat().st_size > _MOST_BYTES:
            raise BadRules(f"{source} is no file of at most {_MOST_BYTES} bytes.")
        return rules_of(source.read_text(encoding="utf-8"), source, vocabulary=vocabulary)
    except OSError as error:
        raise BadRules(f"{source} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise BadRules(f"{source} is not UTF-8 text.") from None
