"""What was found out about models by trying, kept between runs: `models.json` in the state folder."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.base import paths

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Facts:
    """`pictures` and `tools`: whether the model takes them, None where it was not tried. `declined` are fields of a
    request that its server refuses.
    """

    pictures: bool | None = None
    tools: bool | None = None
    declined: frozenset[str] = field(default_factory=frozenset)

    def without(self, name: str) -> Facts:
        """The same, with one more field that the server refuses."""
        return replace(self, declined=self.declined | {name})


def facts_of(address: str, model: str) -> Facts:
    """What is known; nothing where the file is missing or damaged."""
    return _facts(_read().get(_name(address, model)))


def remember(address: str, model: str, facts: Facts) -> None:
    """Keep it for the next run. A folder that cannot be written to costs only another try then."""
    entry = {"pictures": facts.pictures, "tools": facts.tools, "declined": sorted(facts.declined)}
    path = paths.state_dir() / "models.json"
    beside = path.with_suffix(".new")
    try:
        beside.write_text(json.dumps({**_read(), _name(address, model): entry}, indent=1), encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        _log.warning("What was learnt about %s could not be kept: %s", model, error)


def _name(address: str, model: str) -> str:
    return f"{model} at {address}"


def _read() -> dict[str, Any]:
    try:
        found = json.loads((paths.state_dir() / "models.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _facts(entry: Any) -> Facts:
    if not isinstance(entry, dict):
        return Facts()
    told = {f.name: entry[f.name] for f in fields(Facts) if isinstance(entry.get(f.name), bool)}
    declined = entry.get("declined")
    return Facts(**told, declined=frozenset(map(str, declined)) if isinstance(declined, list) else frozenset())
