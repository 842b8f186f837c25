"""Settings come from the file, the environment and the command line; a wrong one is told and its default taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.base import paths
from app.settings import store
from app.settings.catalog import MAX_PASSES, MAX_SECONDS, NAME, POINTER_RING, PROVIDER, SCHEME, THEME, Setting, every


def _written(text: str) -> None:
    (paths.config_dir() / "settings.toml").write_text(text, encoding="utf-8")


def test_without_a_file_every_setting_has_its_default() -> None:
    settings = store.load({})
    assert [settings[setting] for setting in every()] == [setting.default for setting in every()]  # type: ignore[type-var]
    assert settings.problems == []


def test_the_environment_wins_over_the_file_and_the_command_line_over_both() -> None:
    _written("[chat]\nmax_passes = 7\n")
    assert store.load({})[MAX_PASSES] == 7
    both = store.load({"WISP_CHAT_MAX_PASSES": "9"})
    assert (both[MAX_PASSES], both.with_values(chat__max_passes="3")[MAX_PASSES]) == (9, 3)


@pytest.mark.parametrize(
    ("setting", "raw", "problem"),
    [
        (MAX_PASSES, "many", "'many' is not a number."),
        (MAX_PASSES, "0", "'0' is below 1."),
        (MAX_PASSES, "1e9", "'1e9' is not a number."),
        (MAX_PASSES, float("inf"), "inf is not a number."),
        (MAX_SECONDS, "nan", "'nan' is not a number."),
        (PROVIDER, "hal", "'hal' is none of '', 'anthropic', 'openai', 'offline', 'scripted'."),
        (POINTER_RING, "maybe", "'maybe' is neither true nor false."),
    ],
)
def test_a_wrong_value_is_told_and_the_default_taken(setting: Setting[Any], raw: str, problem: str) -> None:
    settings = store.Settings({setting.key: raw}, {})
    assert settings[setting] == setting.default
    assert settings.problems == [f"{setting.key} in settings.toml: {problem} Wisp uses {setting.default!r}."]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[chat\n", "cannot be read"),
        ("chat = 3\n", "chat is no section"),
        ("[chat]\nmax_pases = 3\n", "no setting chat.max_pases"),
        ("[chat]\nmax_passes = [1]\n", "is not a number"),
    ],
)
def test_a_file_with_mistakes_is_told_and_never_stops_the_start(text: str, words: str) -> None:
    _written(text)
    settings = store.load({})
    assert settings[MAX_PASSES] == MAX_PASSES.default
    assert len(settings.problems) == 1
    assert words in settings.problems[0]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda place: place.symlink_to("gone.toml")])
def test_what_stands_in_place_of_the_file_is_told_and_nothing_is_written(make: Callable[[Path], object]) -> None:
    make(place := paths.config_dir() / "settings.toml")
    (problem,) = store.load({}).problems
    assert str(place) in problem
    with pytest.raises(OSError, match=r"is in its place|it is a link"):
        store.save(NAME, "Robin")


def test_saving_keeps_what_the_person_wrote() -> None:
    _written('# mine\n[presence]\ntheme = "dark" # at night\n')
    store.save(NAME, "Robin")
    text = (paths.config_dir() / "settings.toml").read_text(encoding="utf-8")
    assert "# mine" in text
    assert "# at night" in text
    assert store.load({})[NAME] == "Robin"


@pytest.mark.parametrize("scheme", SCHEME.choices)
def test_a_file_that_names_a_scheme_as_its_theme_means_the_plain_theme_in_it(scheme: str) -> None:
    _written(f'[presence]\ntheme = "{scheme}" # at night\n')
    now = store.load({})
    assert (now[THEME], now[SCHEME], now.problems) == ("plain", scheme, [])
    store.save(THEME, "memphis")
    now = store.load({})
    assert (now[THEME], now[SCHEME]) == ("memphis", scheme)
    assert "# at night" in (paths.config_dir() / "settings.toml").read_text(encoding="utf-8")


def test_saving_a_wrong_value_changes_nothing() -> None:
    _written("[chat]\nmax_passes = 7\n")
    with pytest.raises(ValueError, match="below 1"):
        store.save(MAX_PASSES, 0)
    assert store.load({})[MAX_PASSES] == 7


def test_a_key_is_kept_where_only_the_owner_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    import keyring.core

    keyring.core.init_backend()
    assert store.keep("anthropic", "sk-1") == "file"
    assert store.key_of("anthropic") == "sk-1"
    assert (paths.config_dir() / "keys.json").stat().st_mode & 0o077 == 0
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-2")
    assert store.key_of("anthropic") == "sk-2"
