"""What is particular about a model, as data: `resources/models/profiles.toml`, by the longest beginning of its id."""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.base import paths


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
    pictures: bool | None = None


def profile_of(model_id: str) -> Profile:
    """The model's profile. Every shorter beginning that matches is underneath it; unknown ids get the defaults.

    What gateways write in front of the id (`anthropic/claude-…`, `us.anthropic.claude-…`) does not count.
    """
    name = model_id.rpartition("/")[2].lower()
    return _profile(name[max(name.find("claude-"), 0) :])


def default_model(provider: str) -> str:
    """The model a provider uses where the person chose none; empty where it has none."""
    return str(_table()["choice"].get(provider, ""))


@functools.cache
def _profile(model_id: str) -> Profile:
    table = _table()
    fields: dict[str, Any] = dict(table["default"])
    for beginning in sorted((name for name in table["models"] if model_id.startswith(name)), key=len):
        fields.update(table["models"][beginning])
    known = {field.name for field in dataclasses.fields(Profile)}
    return Profile(**{name: value for name, value in fields.items() if name in known})


@functools.cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((paths.resources() / "models" / "profiles.toml").read_text(encoding="utf-8"))
