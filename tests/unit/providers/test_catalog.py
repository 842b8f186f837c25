"""Who answers, by the person's settings and keys."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from app.base.errors import NeedsPerson
from app.providers.profiles import ModelFacts, choose, default_name, profile_of, remember, takes_pictures
from app.providers.wire_errors import server_address
from app.settings.store import Settings


def settings(**values: str) -> Settings:
    return Settings({f"model.{name}": value for name, value in values.items()}, {})


def keys(*names: str) -> Any:
    return lambda provider: "sk-test" if provider in names else ""


def test_claude_answers_where_there_is_a_key() -> None:
    chosen = choose(settings(), keys("anthropic", "openai"))
    assert (chosen.provider.name, chosen.model) == ("anthropic", "claude-sonnet-5-5")
    assert chosen.profile == profile_of("claude-sonnet-5-5")


def test_without_a_key_the_offline_provider_answers() -> None:
    assert default_name(keys("openai")) == "offline"
    assert choose(settings(), keys()).provider.name == "offline"


def test_what_the_person_chose_counts() -> None:
    chosen = choose(settings(provider="openai", id="qwen3", base_url="http://127.0.0.1:9"), keys("anthropic"))
    assert (chosen.provider.name, chosen.model) == ("openai", "qwen3")


def test_a_script_that_is_missing_is_asked_for() -> None:
    with pytest.raises(NeedsPerson, match="needs a script"):
        choose(settings(provider="scripted"), keys())


def test_choosing_loads_no_sdk() -> None:
    code = (
        "import sys; from app.providers.profiles import choose; from app.settings.store import Settings;"
        "choose(Settings({'model.provider': 'anthropic'}, {})); choose(Settings({'model.provider': 'openai'}, {}));"
        "print({'anthropic', 'openai', 'httpx2', 'pydantic'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("model", "known"), [("claude-sonnet-5-5", True), ("gpt-oss:20b", False), ("some-model", None)]
)
def test_some_models_are_known_to_take_pictures_or_not(model: str, known: bool | None) -> None:
    assert takes_pictures(settings(), model) is known


def test_what_a_run_finds_out_about_pictures_counts_at_once() -> None:
    local = settings(base_url="http://127.0.0.1:11434/v1")
    before = takes_pictures(local, "some-model")
    remember(server_address("http://127.0.0.1:11434/v1"), "some-model", ModelFacts(pictures=False))
    assert (before, takes_pictures(local, "some-model")) == (None, False)
