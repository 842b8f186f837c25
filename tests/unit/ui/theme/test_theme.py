"""Tokens: complete, readable, and robust against a person's own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.ui.theme import theme
from app.ui.theme.theme import Color

AA_TEXT = 4.5
AA_GRAPHICS = 3.0
WORST_BEHIND = {"light": Color(0, 0, 0), "dark": Color(255, 255, 255)}


@pytest.fixture(params=theme.SCHEMES)
def look(request: pytest.FixtureRequest) -> theme.Theme:
    return theme.load(request.param)


@pytest.mark.parametrize("ground", ["paper", "raised", "sunken", "accent_soft"])
@pytest.mark.parametrize("text", ["ink", "muted", "link"])
def test_text_is_readable_on_every_ground(look: theme.Theme, text: str, ground: str) -> None:
    assert theme.contrast(look.color(text), look.color(ground)) >= AA_TEXT


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("ok", "paper"),
        ("warn", "paper"),
        ("bad", "raised"),
        ("added", "added_soft"),
        ("removed", "removed_soft"),
        ("code_ink", "sunken"),
        ("accent_ink", "accent_fill"),
        ("accent_ink", "bad"),
        ("selection_ink", "selection"),
    ],
)
def test_coloured_text_is_readable_where_it_stands(look: theme.Theme, text: str, ground: str) -> None:
    assert theme.contrast(look.color(text), look.color(ground)) >= AA_TEXT


def test_speech_is_readable_on_the_ground_of_its_tone(look: theme.Theme) -> None:
    for tone in look.tones:
        ground = look.color("paper").mixed(look.tone(tone), look.ratio("tone_ground"))
        assert theme.contrast(look.color("ink"), ground) >= AA_TEXT


def test_every_tone_has_a_stripe_that_can_be_seen_and_a_tempo(look: theme.Theme) -> None:
    assert set(look.tones) == {
        "warm", "neutral", "excited", "calm", "serious", "playful", "apologetic", "urgent",
    }  # fmt: skip
    for tone in look.tones:
        assert theme.contrast(look.tone(tone), look.color("paper")) >= AA_GRAPHICS
    assert look.tempo("urgent") == 0
    assert look.tempo("calm") < look.tempo("neutral") < look.tempo("excited")


def test_an_unknown_tone_is_neutral(look: theme.Theme) -> None:
    assert look.tone("sarcastic") == look.tone("neutral")
    assert look.tempo("sarcastic") == look.tempo("neutral")


def test_sizes_and_letters_grow_with_the_persons_font_and_durations_do_not() -> None:
    larger = theme.load("light", scale=1.5)
    assert (larger.size("orb"), larger.type("text"), larger.ms("open")) == (84, theme.Type(21, 30), 180)


def test_with_reduced_motion_every_movement_is_one_short_fade() -> None:
    still = theme.load("light", reduced=True)
    assert (still.motion_ms("open"), still.motion_ms("close"), still.ms("open")) == (80, 80, 180)


def test_a_theme_file_of_ones_own_changes_what_it_names(tmp_path: Path) -> None:
    own = tmp_path / "theme.toml"
    own.write_text('[colors]\naccent = "#FF0000"\n[sizes]\norb = 64\n')
    look = theme.load("dark", own=own)
    assert (look.color("accent"), look.size("orb"), look.problems) == (Color(255, 0, 0), 64, ())
    assert look.color("ink") == theme.load("dark").color("ink")


def test_errors_in_a_theme_file_are_told_and_the_built_in_tokens_used(tmp_path: Path) -> None:
    own = tmp_path / "theme.toml"
    own.write_text(
        '[colors]\naccent = "red"\nnothing = "#000000"\n[sizes]\norb = "big"\n'
        '[orb]\nidle = ["#000000"]\n[tones]\nwarm = "#12345"\n[moods]\na = 1\n'
    )
    look = theme.load("light", own=own)
    assert look.problems == (
        "theme.toml: colors.accent: 'red' is not a colour like #1A2B3C.",
        "theme.toml: colors.nothing: there is no such token.",
        "theme.toml: sizes.orb: 'big' is not a number of 0 or more.",
        "theme.toml: orb.idle: it takes 3 values.",
        "theme.toml: tones.warm: '#12345' is not a colour like #1A2B3C.",
        "theme.toml: there is no group 'moods' in a theme.",
    )
    built_in = theme.load("light")
    assert (look.color("accent"), look.size("orb")) == (built_in.color("accent"), built_in.size("orb"))


def test_a_theme_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    own = tmp_path / "theme.toml"
    own.write_text("[colors\n")
    (problem,) = theme.load("light", own=own).problems
    assert problem.startswith("The theme file theme.toml cannot be read")


def test_black_on_white_has_the_greatest_contrast() -> None:
    assert round(theme.contrast(Color(0, 0, 0), Color(255, 255, 255)), 2) == 21.0
    assert theme.contrast(Color(10, 20, 30), Color(10, 20, 30)) == 1.0
