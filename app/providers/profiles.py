"""What is particular about a model, as data: `resources/models/profiles.toml`, by the longest beginning of its id."""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import os
from collections.abc import Mapping
from typing import Any

from app.base import paths, resources
from app.base.values import dataclass, field, fields, replace


@dataclass(frozen=True, slots=True)
class Profile:
    """One family of models; the file says what each field means. `pictures` is None where it must be tried."""

    long_edge_px: int
    picture_tokens: int
    advised_width_px: int
    advised_height_px: int
    context_tokens: int
    output_tokens: int
    dialect: str
    computer_tool: str
    thinking: str
    effort: str
    binds_thinking: bool
    cache: bool
    tool_names: Mapping[str, str]
    pictures: bool | None = None


def profile_of(model_id: str) -> Profile:
    """The model's profile. Every shorter beginning that matches is underneath it; unknown ids get the defaults.

    What gateways write in front of the id (`anthropic/claude-…`, `us.anthropic.claude-…`) does not count.
    """
    name = model_id.rpartition("/")[2].lower()
    return _profile(name[max(name.find("claude-"), 0) :])


@functools.cache
def _profile(model_id: str) -> Profile:
    table = _table()
    fields: dict[str, Any] = dict(table["default"])
    for beginning in sorted((name for name in table["models"] if model_id.startswith(name)), key=len):
        fields.update(table["models"][beginning])
    known = {field.name for field in dataclasses.fields(Profile)}
    return Profile(**{name: value for name, value in fields.items() if name in known})


def _table() -> dict[str, dict[str, Any]]:
    return resources.table("models/profiles.toml", dict[str, dict[str, Any]])


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """`pictures` and `tools`: whether the model takes them, None where it was not tried. `declined` are fields of a
    request that its server refuses.
    """

    pictures: bool | None = None
    tools: bool | None = None
    declined: frozenset[str] = field(default_factory=frozenset)

    def without(self, name: str) -> ModelFacts:
        """The same, with one more field that the server refuses."""
        return replace(self, declined=self.declined | {name})


def facts_of(address: str, model: str) -> ModelFacts:
    """What is known; nothing where the file is missing or damaged."""
    return _facts(_read().get(_name(address, model)))


def remember(address: str, model: str, facts: ModelFacts) -> None:
    """Keep it for the next run. A folder that cannot be written to costs only another try then."""
    entry = {"pictures": facts.pictures, "tools": facts.tools, "declined": sorted(facts.declined)}
    path = paths.state_dir() / "models.json"
    beside = path.with_suffix(".new")
    try:
        beside.write_text(json.dumps({**_read(), _name(address, model): entry}, indent=1), encoding="utf-8")
        os.replace(beside, path)  # so that a crash never leaves half a file
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


def _facts(entry: Any) -> ModelFacts:
    if not isinstance(entry, dict):
        return ModelFacts()
    told = {f.name: entry[f.name] for f in fields(ModelFacts) if isinstance(entry.get(f.name), bool)}
    declined = entry.get("declined")
    return ModelFacts(**told, declined=frozenset(map(str, declined)) if isinstance(declined, list) else frozenset())
