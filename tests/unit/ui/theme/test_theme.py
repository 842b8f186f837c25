"""Tokens: complete, readable, and robust against a person's own file."""

from __future__ import annotations

import colorsys
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.base import paths
from app.settings import tokens
from app.ui.orb.state import Orb
from app.ui.theme import theme
from app.ui.theme.theme import Color

AA_TEXT = 4.5
AA_GRAPHICS = 3.0
ORB_STATES = [state.value for state in Orb]
WORST_BEHIND = {"light": Color(0, 0, 0), "dark": Color(255, 255, 255)}


FACES = [("", scheme) for scheme in theme.SCHEMES] + [
    (kind, scheme) for kind in tokens.THEMES for scheme in theme.SCHEMES
]


@pytest.fixture(params=FACES, ids="-".join)
def look(request: pytest.FixtureRequest) -> theme.Theme:
    kind, scheme = request.param
    return theme.load(scheme, kind=kind)


_GROUNDS = ("paper", "raised", "sunken", "accent_soft")
_TEXTS = [(text, ground) for text in ("ink", "muted", "link") for ground in _GROUNDS] + [
    *((coloured, ground) for coloured in ("ok", "warn", "bad") for ground in ("paper", "raised")),
    ("paper", "ink"),
    ("accent_ink", "accent_fill"),
    ("added", "added_soft"),
    ("removed", "removed_soft"),
    ("code_ink", "sunken"),
    ("accent_ink", "bad"),
    ("accent_ink", "warn"),
    ("selection_ink", "selection"),
]
_GLYPHS = [(glyph, ground) for glyph in ("muted", "accent", "ok", "warn", "bad") for ground in _GROUNDS]


def _faint(look: theme.Theme, pairs: list[tuple[str, str]], least: float) -> list[tuple[str, str]]:
    return [(one, other) for one, other in pairs if theme.contrast(look.color(one), look.color(other)) < least]


def test_texts_and_glyphs_are_readable_on_every_ground(look: theme.Theme) -> None:
    assert _faint(look, _TEXTS, AA_TEXT) == []
    assert _faint(look, _GLYPHS, AA_GRAPHICS) == []


def test_the_orbs_glyph_and_its_dot_in_the_bar_can_be_seen_in_every_state(look: theme.Theme) -> None:
    (glyph,) = look.orb("glyph")
    for state in ORB_STATES:
        _, body, far = look.orb(state)
        assert min(theme.contrast(glyph, body), theme.contrast(glyph, far)) >= AA_GRAPHICS, state
        assert theme.contrast(body, look.color("paper")) >= AA_GRAPHICS, state


def test_no_state_of_the_orb_is_red(look: theme.Theme) -> None:
    """Red is for harm, and no state is: a failure is told with what mends it, a question waits."""
    for state in ORB_STATES:
        if state != Orb.IDLE.value:  # which has the accent that the theme or the person chose
            hue, _, vividness = colorsys.rgb_to_hls(*(channel / 255 for channel in look.orb(state)[1][:3]))
            assert vividness < 0.3 or 20 <= hue * 360 <= 330, state


def test_the_sign_of_running_without_asking_can_be_seen(look: theme.Theme) -> None:
    assert theme.contrast(look.color("accent_ink"), look.tone("urgent")) >= AA_GRAPHICS


def test_speech_and_its_glyph_are_readable_on_the_ground_of_its_tone(look: theme.Theme) -> None:
    assert 0.08 <= look.ratio("tone_ground") <= 0.10
    for tone in look.tones:
        ground = look.color("paper").mixed(look.tone(tone), look.ratio("tone_ground"))
        for text in ("ink", "muted", "link"):
            assert theme.contrast(look.color(text), ground) >= AA_TEXT
        assert theme.contrast(look.tone(tone), ground) >= AA_GRAPHICS


def test_no_two_tones_are_alike(look: theme.Theme) -> None:
    """Told apart by hue, 15 degrees at least, or else by how much colour they have."""
    for one, other in itertools.combinations(look.tones, 2):
        (hue, _, full), (other_hue, _, other_full) = (_hls(look.tone(tone)) for tone in (one, other))
        apart = abs(hue - other_hue)
        assert min(apart, 360 - apart) >= 15 or abs(full - other_full) >= 0.3, (one, other)


def _hls(color: Color) -> tuple[float, float, float]:
    hue, light, full = colorsys.rgb_to_hls(*(channel / 255 for channel in color[:3]))
    return hue * 360, light, full


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


HOSTILE: dict[str, str | Callable[[Path], object]] = {
    "no colour": '[colors]\naccent = "red"',
    "a colour with blanks": '[colors]\nink = "#1 2 3 4 5 6"',
    "a colour that is not there": '[colors]\nink = "#00000000"',
    "a colour behind which one sees": '[colors]\npaper = "#FFFFFF40"',
    "a colour that is a command": '[colors]\naccent = "#000000; } * { background: url(http://x) "',
    "no such token": '[colors]\nnothing = "#000000"',
    "no such group": "[moods]\na = 1",
    "a group that is a number": "colors = 7",
    "a word for a number": '[sizes]\norb = "big"',
    "no orb": "[sizes]\norb = 0",
    "an orb over all screens": "[sizes]\norb = 900000",
    "a negative size": "[sizes]\npadding = -1",
    "no number": "[sizes]\npadding = nan",
    "endless": "[sizes]\npadding = inf",
    "a yes for a number": "[sizes]\npadding = true",
    "letters without a size": "[type]\ntext = [0, 0]",
    "a clock without a pause": "[times]\nframe = 0",
    "too few values": '[orb]\nidle = ["#000000"]',
    "a list in a list": "[type]\ntext = [[14], [20]]",
    "text on its own colour": '[colors]\npaper = "#999999"\nink = "#999999"',
    "a number of 5000 digits": "[sizes]\norb = " + "9" * 5000,
    "100,000 brackets": "x = " + "[" * 60_000,
    "no end": "[colors",
    "the same twice": "[colors]\n[colors]",
    "larger than a theme is": "#" * 70_000,
    "20,000 tokens": "[colors]\n" + "".join(f"a{number} = 1\n" for number in range(5_000)),
    "no text": lambda own: own.write_bytes(b"\xff\xfe[colors]"),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to nothing": lambda own: own.symlink_to("gone.toml"),
    "a link to itself": lambda own: own.symlink_to(own),
    "a device": lambda own: own.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_errors_in_a_theme_file_are_told_and_wisp_stays_usable(case: str) -> None:
    hostile, place = HOSTILE[case], paths.config_dir() / "theme.toml"
    hostile(place) if callable(hostile) else place.write_text(hostile)
    own = tokens.own_file()
    look, built_in = theme.load("light", own=own), theme.load("light")
    assert 1 <= len(look.problems) <= 21
    assert all("theme.toml" in problem and len(problem) < 250 + len(str(place)) for problem in look.problems)
    assert theme.contrast(look.color("ink"), look.color("paper")) >= 4.5
    for same in ("padding", "orb"):
        assert look.size(same) == built_in.size(same)
    assert (look.type("text"), look.ms("frame")) == (built_in.type("text"), built_in.ms("frame"))


def test_a_paper_of_ones_own_takes_what_is_mixed_from_it_along(tmp_path: Path) -> None:
    own = tmp_path / "theme.toml"
    own.write_bytes(b'\xef\xbb\xbf[colors]\npaper = "#203040"\nink = "#FFFFFF"\n')
    look = theme.load("light", own=own)
    assert (look.color("ink"), look.problems) == (Color(255, 255, 255), ())
    assert theme.contrast(look.color("ink"), look.color("raised")) >= 4.5


def test_faint_colours_of_ones_own_are_made_clear_and_named(tmp_path: Path) -> None:
    own = tmp_path / "theme.toml"
    own.write_text('[colors]\nmuted = "#DDDDDD"\n')
    look = theme.load("light", own=own)
    assert theme.contrast(look.color("muted"), look.color("paper")) >= 4.5
    assert ["colors.muted" in problem for problem in look.problems] == [True]


def test_black_on_white_has_the_greatest_contrast() -> None:
    assert round(theme.contrast(Color(0, 0, 0), Color(255, 255, 255)), 2) == 21.0
    assert theme.contrast(Color(10, 20, 30), Color(10, 20, 30)) == 1.0
