"""Themes: complete from a few colours, clear where they were faint, and with a handbook each."""

from __future__ import annotations

from itertools import combinations

import pytest

from app.base import resources
from app.settings import tokens
from app.settings.colors import Color, contrast, mended, parse_color

FACES = [(kind, scheme) for kind in tokens.THEMES for scheme in tokens.SCHEMES]


@pytest.mark.parametrize(("kind", "scheme"), FACES)
def test_every_theme_has_all_tokens_and_shows_the_colours_that_it_gives(kind: str, scheme: str) -> None:
    made = tokens.face(kind, scheme)
    plain = tokens.face("", scheme)
    assert {group: set(named) for group, named in made.tree.items()} == {
        group: set(named) for group, named in plain.tree.items()
    }
    assert (made.scheme, made.mended) == (scheme, ())
    assert made.tree["colors"]["paper"] != plain.tree["colors"]["paper"]
    assert made.wallpaper is not None
    assert made.fonts["display"]


def test_no_two_themes_look_alike() -> None:
    """No two have the same colours, and any two differ in three things besides: shape, shadow, the orb, letters."""
    made = [tokens.face(kind, scheme) for kind, scheme in FACES]
    colors = [tuple(face.tree["colors"][name] for name in ("paper", "ink", "accent")) for face in made]
    assert len(set(colors)) == len(FACES)
    for one, other in combinations(tokens.THEMES, 2):
        assert sum(a != b for a, b in zip(_shape(one), _shape(other), strict=True)) >= 3, (one, other)


def _shape(kind: str) -> tuple[object, ...]:
    face = tokens.face(kind, "light")
    sizes, ratios = face.tree["sizes"], face.tree["ratios"]
    own = ("radius", "card_radius", "button_radius", "hairline", "hard_shadow")
    return (*(sizes[name] for name in own), ratios["orb_corner"], ratios["orb_depth"], face.fonts["system"][-3:])


ORDINARY = {f"DejaVu {name}" for name in ("Sans", "Sans Condensed", "Sans Mono", "Serif")} | {
    f"{maker} {name}"
    for maker in ("Liberation", "Noto")
    for name in ("Sans", "Sans Narrow", "Sans Mono", "Mono", "Serif")
}
"""Fonts of which an ordinary Linux desktop has at least some."""


@pytest.mark.parametrize("kind", tokens.THEMES)
def test_every_theme_names_fonts_that_an_ordinary_desktop_has(kind: str) -> None:
    for role, families in tokens.face(kind, "light").fonts.items():
        assert ORDINARY & set(families), role


@pytest.mark.parametrize("kind", [*tokens.THEMES, "default"])
def test_every_theme_has_a_handbook_that_teaches_its_variables(kind: str) -> None:
    text = resources.text(f"guidelines/{kind}.md")
    assert len(text.split()) >= 300
    for heading in ("## Palette", "## Type", "## Spacing", "## Components", "## Motion", "## Do\n", "## Don't"):
        assert heading in text
    for name in ("--paper", "--ink", "--accent", "--font-display", "--radius"):
        assert name in text


@pytest.mark.parametrize("name", ["plain", "", "no-such-theme"])
def test_what_is_no_theme_is_the_plain_one(name: str) -> None:
    assert (tokens.face(name, "dark").theme, tokens.face(name, "dark").scheme) == ("plain", "dark")


@pytest.mark.parametrize("ground", [Color(255, 255, 255), Color(0, 0, 0), Color(120, 120, 120), Color(255, 230, 0)])
@pytest.mark.parametrize("faint", [Color(200, 200, 200), Color(90, 30, 30), Color(250, 240, 10), Color(0, 120, 255)])
def test_a_faint_colour_becomes_clear_and_a_clear_one_stays(faint: Color, ground: Color) -> None:
    made = mended(faint, lambda color: contrast(color, ground) / 4.5)
    assert contrast(made, ground) >= 4.5
    assert mended(made, lambda color: contrast(color, ground) / 4.5) == made


def test_where_nothing_is_clear_enough_the_clearest_is_taken() -> None:
    grounds = (Color(0, 0, 0), Color(255, 255, 255))
    made = mended(Color(10, 10, 10), lambda color: min(contrast(color, ground) for ground in grounds) / 7)
    assert min(contrast(made, ground) for ground in grounds) > 4


def test_a_theme_that_gives_faint_text_is_mended_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "title": "Faint", "about": "faint",
        "light": {"colors": {"paper": "#FFFFFF", "ink": "#777777", "muted": "#DDDDDD", "accent": "#FFEE00"}},
    }  # fmt: skip
    monkeypatch.setattr(tokens, "_given", lambda _theme: given)
    made = tokens._face.__wrapped__("faint", "light", "")
    assert made.mended == ("ink", "muted", "accent")
    colors = {name: parse_color(value) for name, value in made.tree["colors"].items()}
    for text in ("ink", "muted", "link"):
        for ground in ("paper", "raised", "sunken", "accent_soft"):
            assert contrast(colors[text], colors[ground]) >= 4.5


@pytest.mark.parametrize(
    ("theme", "palette", "scheme"),
    [
        ("plain", "paper: #FFF6E5; ink: #3A2418; accent: #B3541E", "light"),
        ("memphis", "paper: #101418; ink: #E8F0F0; accent: #2FD6A8", "dark"),
        ("cyberpunk", "paper: #FFFFFF; ink: #EEEEEE; muted: #FAFAFA", "light"),
    ],
)
def test_a_palette_makes_a_whole_theme_with_clear_texts(theme: str, palette: str, scheme: str) -> None:
    made, plain = tokens.face(theme, "light", palette), tokens.face(theme, "light")
    colors = {name: parse_color(value) for name, value in made.tree["colors"].items()}
    assert made.scheme == scheme
    assert colors["paper"] == parse_color(tokens.palette_of(palette)["paper"])
    assert made.tree["sizes"] == plain.tree["sizes"]
    for text in ("ink", "muted", "link"):
        assert contrast(colors[text], colors["paper"]) >= 4.5
    assert bool(made.mended) == ("#FAFAFA" in palette)


def test_a_palette_without_paper_changes_the_theme_where_it_says_so() -> None:
    made, plain = tokens.face("memphis", "light", "accent: #0057B8"), tokens.face("memphis", "light")
    assert made.tree["colors"]["accent"] == "#0057B8"
    assert made.tree["colors"]["paper"] == plain.tree["colors"]["paper"]


@pytest.mark.parametrize(
    "text", ["", "accent: red", "accent: #FFFFFF00", "ink; #123456", "shadow: #123456", "a}b{: #123456"]
)
def test_what_is_no_colour_of_a_palette_is_left_out(text: str) -> None:
    assert tokens.palette_of(text) == {}
    assert tokens.face("memphis", "light", text) == tokens.face("memphis", "light")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("display: Lora, Georgia; mono: Fira Code", {"display": ("Lora", "Georgia"), "mono": ("Fira Code",)}),
        ('system: "Noto Sans"', {"system": ("Noto Sans",)}),
        ("display: url(x); body: Arial", {"display": ()}),
        ("display: a}b{; system:", {"display": (), "system": ()}),
    ],
)
def test_fonts_are_read_by_their_role_and_only_names_count(text: str, found: dict[str, tuple[str, ...]]) -> None:
    assert tokens.fonts_of(text) == found
