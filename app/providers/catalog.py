"""Choose the provider and the model from the person's settings and keys."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from app.base.errors import NeedsPerson
from app.base.values import dataclass, replace
from app.providers.api import Provider
from app.providers.profiles import Profile, facts_of, profile_of
from app.providers.wire_errors import EXAMPLE_ADDRESS, is_address, server_address
from app.settings import store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER
from app.settings.providers import providers, with_keys
from app.settings.store import Settings

OFFLINE, OPENAI = "offline", "openai"

KeyOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ChosenProvider:
    """Who answers: the provider, the model it is asked for, what is particular about that model."""

    provider: Provider
    model: str
    profile: Profile


def choose(settings: Settings, key_of: KeyOf = store.key_of) -> ChosenProvider:
    """The provider and model of these settings, with what earlier runs found out about that model. Raises NeedsPerson.

    An empty model is the first that the server lists.
    """
    name = settings[PROVIDER] or default_name(key_of)
    if settings[BASE_URL] and not is_address(settings[BASE_URL]):
        raise NeedsPerson(f"{settings[BASE_URL]!r} in {BASE_URL.key} is no address. Write one like {EXAMPLE_ADDRESS}.")
    is_elsewhere = name == OPENAI and bool(settings[BASE_URL] or not key_of(OPENAI))
    model = settings[MODEL] or ("" if is_elsewhere else providers()[name].model)
    return ChosenProvider(make(name, settings, key_of), model, _tried(profile_of(model), settings[BASE_URL], model))


def takes_pictures(settings: Settings, model: str) -> bool | None:
    """What is known by now; None where it has not been tried yet."""
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
    """The provider of that name; only its own module is loaded. Raises NeedsPerson."""
    row = providers().get(name)
    if row is None:
        raise NeedsPerson(f"There is no provider '{name}'; there are {', '.join(providers())}.")
    module, _, function = row.make.partition(":")
    made: Provider = getattr(importlib.import_module(module), function)(settings, key_of(name) if row.key else "")
    return made
