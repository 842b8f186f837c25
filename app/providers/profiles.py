"""Properties of models, from `resources/models/profiles.toml`. The longest matching beginning of the id wins."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from app.base import own_files, paths, resources
from app.base.errors import NeedsPerson
from app.base.values import dataclass, field, fields, replace
from app.providers.api import Provider
from app.providers.wire_errors import EXAMPLE_ADDRESS, is_address, server_address
from app.settings import store
from app.settings.catalog import BASE_URL, CONTEXT_TOKENS, MODEL, PROVIDER
from app.settings.providers import providers, with_keys
from app.settings.store import Settings


@dataclass(frozen=True, slots=True)
class Profile:
    """The properties of one family of models; the file explains each field. `pictures` is None if unknown."""

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

    @property
    def reads_little(self) -> bool:
        """Whether the model needs the shortest docs of tools, text before pictures, and one tool a pass."""
        return self.context_tokens <= _LITTLE_TOKENS


_LITTLE_TOKENS = 12_000
"""In a context window of 8,192 tokens the usual prompt and an answer leave room for one reading of the screen."""


def profile_of(model_id: str) -> Profile:
    """Return the model's profile. Longer matching beginnings override shorter ones; unknown ids get the defaults.

    A gateway's prefix before the id (`anthropic/claude-…`, `us.anthropic.claude-…`) does not count.
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
    """What earlier requests showed about a model and its server.

    `pictures` and `tools` say whether the model takes them; None if never tried. `declined` are fields of a request
    that the server refuses.
    """

    pictures: bool | None = None
    tools: bool | None = None
    declined: frozenset[str] = field(default_factory=frozenset)

    def without(self, name: str) -> ModelFacts:
        """Return the facts with one more field that the server refuses."""
        return replace(self, declined=self.declined | {name})


def facts_of(address: str, model: str) -> ModelFacts:
    """Empty facts if the file is missing or damaged."""
    return _facts(_read().get(_name(address, model)))


def remember(address: str, model: str, facts: ModelFacts) -> None:
    """Store the facts for the next run. If the folder is not writable, nothing is stored."""
    entry = {"pictures": facts.pictures, "tools": facts.tools, "declined": sorted(facts.declined)}
    path = paths.state_dir() / "models.json"
    try:
        with own_files.locked(path):
            own_files.write(path, json.dumps({**_read(), _name(address, model): entry}, indent=1))
    except OSError as error:
        _log.warning("What was learnt about %s could not be kept: %s", model, error)


def _name(address: str, model: str) -> str:
    return f"{model} at {address}"


def _read() -> dict[str, Any]:
    try:
        found = json.loads((paths.state_dir() / "models.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # because the facts can be found out again
        return {}
    return found if isinstance(found, dict) else {}


def _facts(entry: Any) -> ModelFacts:
    if not isinstance(entry, dict):
        return ModelFacts()
    told = {f.name: entry[f.name] for f in fields(ModelFacts) if isinstance(entry.get(f.name), bool)}
    declined = entry.get("declined")
    return ModelFacts(**told, declined=frozenset(map(str, declined)) if isinstance(declined, list) else frozenset())


OFFLINE, OPENAI = "offline", "openai"

KeyOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ChosenProvider:
    """The provider that answers, the model to request, and the properties of that model."""

    provider: Provider
    model: str
    profile: Profile


def choose(settings: Settings, key_of: KeyOf = store.key_of) -> ChosenProvider:
    """Return the provider and model of these settings, with facts from earlier runs. Raise NeedsPerson.

    An empty model means the first that the server lists.
    """
    name = settings[PROVIDER] or default_name(key_of)
    if settings[BASE_URL] and not is_address(settings[BASE_URL]):
        raise NeedsPerson(f"{settings[BASE_URL]!r} in {BASE_URL.key} is no address. Write one like {EXAMPLE_ADDRESS}.")
    is_elsewhere = name == OPENAI and bool(settings[BASE_URL] or not key_of(OPENAI))
    model = settings[MODEL] or ("" if is_elsewhere else providers()[name].model)
    profile = _tried(profile_of(model), settings[BASE_URL], model)
    if settings[CONTEXT_TOKENS]:
        profile = replace(profile, context_tokens=settings[CONTEXT_TOKENS])
    return ChosenProvider(make(name, settings, key_of), model, profile)


def takes_pictures(settings: Settings, model: str) -> bool | None:
    """None if never tried."""
    return _tried(profile_of(model), settings[BASE_URL], model).pictures


def _tried(profile: Profile, base_url: str, model: str) -> Profile:
    facts = facts_of(server_address(base_url), model)
    dialect = "xml" if facts.tools is False and profile.dialect == "native" else profile.dialect
    pictures = profile.pictures if facts.pictures is None else facts.pictures
    return replace(profile, dialect=dialect, pictures=pictures)


def default_name(key_of: KeyOf = store.key_of) -> str:
    """Return the provider used when the person chose none."""
    return next((row.id for row in with_keys() if row.is_first_choice and key_of(row.id)), OFFLINE)


def make(name: str, settings: Settings, key_of: KeyOf = store.key_of) -> Provider:
    """Loads only that provider's module. Raises NeedsPerson for an unknown name."""
    row = providers().get(name)
    if row is None:
        raise NeedsPerson(f"There is no provider '{name}'; there are {', '.join(providers())}.")
    module, _, function = row.make.partition(":")
    made: Provider = getattr(importlib.import_module(module), function)(settings, key_of(name) if row.key else "")
    return made
