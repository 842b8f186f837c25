"""Choose the provider and the model from the person's settings and keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.base.errors import NeedsPerson
from app.providers.api import Provider
from app.providers.profiles import Profile, default_model, facts_of, profile_of
from app.providers.wire_errors import EXAMPLE_ADDRESS, is_address, server_address
from app.settings import store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER, SCRIPT, STREAM_IDLE_MS
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
    model = settings[MODEL] or ("" if is_elsewhere else default_model(name))
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
    return "anthropic" if key_of("anthropic") else OFFLINE


def make(name: str, settings: Settings, key_of: KeyOf = store.key_of) -> Provider:
    """The provider of that name; only its own module is loaded. Raises NeedsPerson."""
    try:
        return _MAKERS[name](settings, key_of)
    except KeyError:
        raise NeedsPerson(f"There is no provider '{name}'; there are {', '.join(_MAKERS)}.") from None


def _idle_s(settings: Settings) -> float:
    return settings[STREAM_IDLE_MS] / 1000


def _anthropic(settings: Settings, key_of: KeyOf) -> Provider:
    from app.providers.anthropic.provider import AnthropicProvider

    return AnthropicProvider(key_of("anthropic"), base_url=settings[BASE_URL], idle_s=_idle_s(settings))


def _openai(settings: Settings, key_of: KeyOf) -> Provider:
    from app.providers.openai_compatible.provider import OpenAICompatibleProvider

    return OpenAICompatibleProvider(key_of(OPENAI), base_url=settings[BASE_URL], idle_s=_idle_s(settings))


def _offline(_settings: Settings, _key_of: KeyOf) -> Provider:
    from app.providers.offline.provider import OfflineProvider

    return OfflineProvider()


def _scripted(settings: Settings, _key_of: KeyOf) -> Provider:
    from app.providers import scripted

    if not settings[SCRIPT]:
        raise NeedsPerson("The scripted provider needs a script: --script FILE, or model.script in the settings.")
    return scripted.load(Path(settings[SCRIPT]))


_MAKERS: dict[str, Callable[[Settings, KeyOf], Provider]] = {
    "anthropic": _anthropic,
    OPENAI: _openai,
    OFFLINE: _offline,
    "scripted": _scripted,
}
