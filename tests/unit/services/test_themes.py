"""The theme that holds now, and its changes: made, kept over a restart, taken back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.base import paths
from app.base.errors import ToolFailed, ToolMisuse
from app.services import themes
from app.services.themes import Appearance, active_theme
from app.settings import store, tokens
from app.settings.catalog import ATMOSPHERE, BACKDROP, FONTS, PALETTE, SCHEME, THEME
from app.settings.store import Settings


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:{os.environ['PATH']}")


@pytest.mark.parametrize("kind", tokens.THEMES)
def test_a_theme_has_everything_that_a_surface_needs(kind: str) -> None:
    found = active_theme(Settings({"presence.theme": kind}, {}))
    assert (found.id, found.backdrop, found.picture is not None) == (kind, found.palette["sunken"], True)
    assert found.handbook.startswith(f"# {found.title}\n")
    assert {"paper", "ink", "muted", "accent", "accent-ink", "accent-fill", "hairline", "bad"} <= set(found.palette)
    assert set(found.fonts) == {"display", "system", "mono"}
    assert f"--paper:{found.palette['paper']};" in found.css
    assert "--font-display:" in found.css
    assert "url(" not in found.css


@pytest.mark.parametrize("kind", ["plain", "solarpunk"])
def test_every_theme_is_light_or_dark_by_choice_or_as_the_system_showed_last(kind: str) -> None:
    def found(scheme: str) -> tuple[str, str]:
        now = active_theme(Settings({"presence.theme": kind, "presence.scheme": scheme}, {}))
        return now.id, now.scheme

    assert [found(scheme) for scheme in SCHEME.choices] == [(kind, "light"), (kind, "light"), (kind, "dark")]
    tokens.note_shown("dark")
    assert [found(scheme) for scheme in SCHEME.choices] == [(kind, "dark"), (kind, "light"), (kind, "dark")]
    assert "the plain theme" in active_theme().handbook


def test_fonts_background_and_mood_of_the_person_go_before_those_of_the_theme(tmp_path: Path) -> None:
    own = {"presence.theme": "memphis", "presence.fonts": "display: Lora", "presence.atmosphere": "rainy"}
    found = active_theme(Settings({**own, "presence.backdrop": "linear-gradient(90deg, #112233, #445566)"}, {}))
    assert found.fonts["display"].startswith('"Lora", "Righteous"')
    assert (found.backdrop, found.picture) == ("linear-gradient(90deg, #112233, #445566)", None)
    assert found.handbook.endswith("The person wants this mood in apps and pictures: rainy\n")
    picture = tmp_path / "hill.png"
    picture.write_bytes(b"\x89PNG")
    assert active_theme(Settings({**own, "presence.backdrop": str(picture)}, {})).picture == picture


@pytest.mark.parametrize("css", ["url(https://example.com/a.png)", "bananas", "linear-gradient(red, blue", "var(--x)"])
def test_what_is_no_background_in_the_settings_is_left_out_and_told(css: str) -> None:
    found = active_theme(Settings({"presence.backdrop": css}, {}))
    assert found.backdrop == found.palette["sunken"]
    store.save(BACKDROP, css)
    (problem,) = themes.look_problems()
    assert problem.startswith("presence.backdrop: ")


def test_what_cannot_be_shown_of_a_look_is_told(tmp_path: Path) -> None:
    _with_fonts(tmp_path, "DejaVu Sans")
    (paths.config_dir() / "theme.toml").mkdir()
    store.save(PALETTE, "accent: red; ink: #112233")
    store.save(FONTS, "display: Lora, dejavu sans, Hack; mono: No Such")
    store.save(BACKDROP, "/no/such/picture.png")
    file, color, backdrop, display, mono = themes.look_problems()
    assert "move the folder away" in file
    assert color == "presence.palette: 'accent: red' is no opaque colour, such as accent: #B3541E."
    assert backdrop == "presence.backdrop: there is no picture /no/such/picture.png."
    assert display == "presence.fonts: display: this system has no Lora, so dejavu sans is shown."
    assert mono == "presence.fonts: mono: this system has no No Such, so the system's font is shown."


def test_nothing_is_said_of_fonts_that_are_there_or_where_no_fontconfig_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_fonts(tmp_path, "Lora,Lora Medium", "P052")
    store.save(FONTS, "display: Lora Medium, Hack; system: P052; mono: monospace")
    assert themes.missing_fonts() == ()
    monkeypatch.setenv("PATH", "/nonexistent")
    store.save(FONTS, "display: Hack")
    assert themes.missing_fonts() == ()


def _with_fonts(folder: Path, *families: str) -> None:
    """Let fontconfig know these families only."""
    (program := folder / "programs" / "fc-list").parent.mkdir()
    program.write_text("#!/bin/sh\ncat <<END\n" + "".join(f"{family}\n" for family in families) + "END\n")
    program.chmod(0o755)


def test_a_change_is_written_to_the_settings_and_taken_back_by_the_newest() -> None:
    looks = Appearance()
    looks.choose({THEME: "cyberpunk"}, "turn-1/call")
    looks.choose({THEME: "memphis", FONTS: "mono: Hack", BACKDROP: "teal", ATMOSPHERE: "loud"}, "turn-2/call")
    now = store.load()
    assert (now[THEME], now[FONTS], now[BACKDROP], now[ATMOSPHERE]) == ("memphis", "mono: Hack", "teal", "loud")
    assert Appearance().undo_newest(None) == "Took back the change of the theme: it is Cyberpunk (as the system) again."
    now = store.load()
    assert (now[THEME], now[FONTS], now[BACKDROP], now[ATMOSPHERE]) == ("cyberpunk", "", "", "")
    assert looks.undo_newest({"turn-1"}) == "Took back the change of the theme: it is Plain (as the system) again."
    with pytest.raises(ToolFailed, match="no change of the theme"):
        looks.undo_newest(None)


def test_a_turns_changes_are_taken_back_together_and_others_stay() -> None:
    looks = Appearance()
    looks.choose({THEME: "risograph"}, "turn-1/a")
    looks.choose({THEME: "memphis"}, "turn-2/a")
    looks.choose({THEME: "solarpunk"}, "turn-2/b")
    assert looks.take_back("turn-9") == []
    assert looks.take_back("turn-2") == ["The theme is Risograph (as the system) again."]
    assert store.load()[THEME] == "risograph"


def test_what_the_person_has_chosen_since_stays_and_the_rest_is_taken_back() -> None:
    looks = Appearance()
    looks.choose({THEME: "cyberpunk", FONTS: "mono: Hack"}, "turn-1")
    store.save(THEME, "memphis")
    assert "it is Memphis" in looks.undo_newest(None)
    assert _now() == ("memphis", "system", "")
    looks.choose({THEME: "cyberpunk"}, "turn-2")
    store.save(THEME, "risograph")
    with pytest.raises(ToolFailed, match="changed by somebody else since"):
        looks.undo_newest(None)
    (told,) = looks.take_back("turn-2")
    assert "changed by somebody else since" in told
    assert _now()[0] == "risograph"


def test_reset_is_a_change_like_others() -> None:
    looks = Appearance()
    looks.choose({THEME: "risograph", SCHEME: "dark", FONTS: "mono: Hack"}, "turn-1")
    looks.reset("turn-2")
    assert _now() == ("plain", "system", "")
    looks.undo_newest(None)
    assert _now() == ("risograph", "dark", "mono: Hack")


def _now() -> tuple[str, str, str]:
    now = store.load()
    return now[THEME], now[SCHEME], now[FONTS]


def test_a_chosen_scheme_goes_before_a_paper_of_ones_own_which_would_decide_it() -> None:
    looks = Appearance()
    looks.choose({THEME: "memphis", PALETTE: "accent: #B3541E"}, "turn-1")
    looks.choose({SCHEME: "dark"}, "turn-2")
    assert (store.load()[THEME], store.load()[PALETTE]) == ("memphis", "accent: #B3541E")
    looks.choose({PALETTE: "paper: #FFF6E5"}, "turn-3")
    looks.choose({SCHEME: "dark"}, "turn-4")
    assert (active_theme().scheme, store.load()[PALETTE]) == ("dark", "")
    looks.undo_newest(None)
    assert (active_theme().scheme, store.load()[PALETTE]) == ("light", "paper: #FFF6E5")


@pytest.mark.parametrize("scheme", SCHEME.choices)
def test_a_change_that_was_noted_when_a_scheme_was_a_theme_is_taken_back_to_it(tmp_path: Path, scheme: str) -> None:
    looks = Appearance()
    looks.choose({THEME: "memphis"}, "turn-1")
    row = '{"turn": "turn-1", "at": 1.0, "before": {"presence.theme": "%s"}, "after": {"presence.theme": "memphis"}}'
    (tmp_path / "data" / "appearance.json").write_text(f"[{row % scheme}]")
    assert looks.undo_newest(None).endswith(f"it is Plain ({'as the system' if scheme == 'system' else scheme}) again.")
    assert _now() == ("plain", scheme, "")


def test_what_changes_nothing_is_nothing_to_undo() -> None:
    looks = Appearance()
    looks.choose({THEME: "plain", SCHEME: "system"}, "turn-1")
    assert looks.newest_at(None) == 0.0


def test_a_damaged_list_of_changes_costs_the_undo_only(tmp_path: Path) -> None:
    looks = Appearance()
    looks.choose({THEME: "memphis"}, "turn-1")
    (tmp_path / "data" / "appearance.json").write_text('[{"turn": 1}]')
    assert looks.newest_at(None) == 0.0
    looks.choose({THEME: "cyberpunk"}, "turn-2")
    assert looks.newest_at({"turn-2"}) > 0


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("cyberpunk", ("cyberpunk", None)),
        ("Cyberpunk", ("cyberpunk", None)),
        ("the Neo Brutalist theme", ("neo-brutalist", None)),
        ("neo_brutalist", ("neo-brutalist", None)),
        ("liquid glass", ("liquid-glass", None)),
        ("crt", ("pixel-crt", None)),
        ("y2k", ("y2k-frutiger", None)),
        ("earthy", ("warm-earthy", None)),
        ("cyberpunk-dark", ("cyberpunk", "dark")),
        ("dark cyberpunk", ("cyberpunk", "dark")),
        ("cyberpunk in dark", ("cyberpunk", "dark")),
        ("light cyber", ("cyberpunk", "light")),
        ("plain dark", ("plain", "dark")),
        ("normal", ("plain", None)),
        ("dark", (None, "dark")),
        ("the dark theme", (None, "dark")),
        ("light mode", (None, "light")),
        ("system", (None, "system")),
    ],
)
def test_a_theme_and_its_scheme_are_found_by_the_names_that_people_use(
    said: str, meant: tuple[str | None, str | None]
) -> None:
    found = themes.look_named(said)
    assert (found.get(THEME), found.get(SCHEME)) == meant
    assert (PALETTE in found) is (THEME in found)  # a scheme alone keeps what one's own is


@pytest.mark.parametrize("said", ["", "the theme", "brutalist", "vaporwave", "dark vaporwave", "light dark", "; drop"])
def test_a_name_that_means_no_theme_or_two_is_answered_with_all(said: str) -> None:
    with pytest.raises(ToolMisuse, match="there is no theme") as refused:
        themes.look_named(said)
    assert str(refused.value).count("\n- ") == 11
