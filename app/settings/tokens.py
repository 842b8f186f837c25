"""The tokens of every theme: read from `resources/themes`, filled from a base scheme, and mended where text is faint.

A theme gives what makes it different, for light and for dark. The rest is mixed from its own colours or taken from the
plain theme.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from app.base import paths, resources
from app.base.clipping import clip_line
from app.base.values import dataclass
from app.settings.colors import Color, contrast, luminance, mended, parse_color

SCHEMES = ("light", "dark")
SYSTEM = "system"
PLAIN = "plain"
THEMES = (
    "cartoon-brutalist",
    "neo-brutalist",
    "liquid-glass",
    "pixel-crt",
    "risograph",
    "y2k-frutiger",
    "warm-earthy",
    "cyberpunk",
    "memphis",
    "solarpunk",
)
FONT_ROLES = ("display", "system", "mono")
PALETTE = ("paper", "ink", "accent", "muted", "raised", "hairline")
"""The colours that a palette may give. The others are mixed from them."""
_DARK_LUMINANCE = 0.18
_OWN_BYTES = 64_000
_MOST_PROBLEMS = 20
_RANGE = 4
_DECORATION = frozenset(
    {"radius", "card_radius", "button_radius", "hairline", "hard_shadow", "stripe"}
    | {"shadow_opacity", "orb_corner", "orb_depth"}
)
_LEAST_MOST_PX = 24
_SHOWN_CHARS = 40
_FONT = re.compile(r"[\w][\w .+-]{0,62}")
_TONE_GROUND = "tone_ground"

Tree = dict[str, dict[str, Any]]
"""Tokens by group (`colors`, `tones`, `orb`, `sizes`, …) and name, as the files write them."""


@dataclass(frozen=True, slots=True)
class ThemeFace:
    """One theme in one colour scheme. `mended` names the colours of the theme that were too faint and are shown
    stronger.
    """

    theme: str
    scheme: str
    title: str
    about: str
    tree: Tree
    fonts: Mapping[str, tuple[str, ...]]
    mended: tuple[str, ...] = ()

    @property
    def wallpaper(self) -> Path | None:
        """The theme's own background picture in this colour scheme, an SVG; None where it has none."""
        picture = resources.path(f"themes/{self.theme}-{self.scheme}.svg")
        return picture if picture.is_file() else None


def face(theme: str, scheme: str, palette: str = "") -> ThemeFace:
    """Return the theme in this colour scheme. Unknown names give the plain theme.

    A palette (`paper: #FFF8E7; ink: #2B2118`) replaces colours of the theme. One with `paper` replaces all of them,
    and decides the scheme.
    """
    return _face(theme if theme in THEMES else PLAIN, scheme, palette)


@lru_cache(maxsize=64)
def _face(theme: str, scheme: str, palette: str) -> ThemeFace:
    chosen = palette_of(palette)
    if "paper" in chosen:
        scheme = "dark" if luminance(parse_color(chosen["paper"])) < _DARK_LUMINANCE else "light"
    tree, given = _built_in(scheme), _given(theme)
    if theme == PLAIN and not chosen:
        return ThemeFace(theme, scheme, given["title"], given["about"], tree, {})
    own = {"colors": {}, "tones": {}, "orb": {}, **given.get(scheme, {})}
    own = {**own, "colors": chosen, "orb": {}} if "paper" in chosen else {**own, "colors": {**own["colors"], **chosen}}
    tree = {**tree, **{group: {**tree[group], **given.get(group, {})} for group in ("sizes", "ratios", "type")}}
    tree["colors"] = _colors(tree["colors"], own["colors"])
    tree["tones"] = {**tree["tones"], **own["tones"]}
    tree["orb"] = {**tree["orb"], **_orb(tree["colors"]), **own["orb"]}
    clear = _mended_tree(tree)
    faint = tuple(
        name for name, value in own["colors"].items() if parse_color(clear["colors"][name]) != parse_color(value)
    )
    fonts = {role: tuple(given.get("fonts", {}).get(role, ())) for role in FONT_ROLES}
    return ThemeFace(theme, scheme, given["title"], given["about"], clear, fonts, faint)


def _given(theme: str) -> Mapping[str, Any]:
    return resources.table(f"themes/{theme}.toml", resources.Table)


@cache
def _built_in(scheme: str) -> Tree:
    common = dict(resources.table("themes/common.toml", resources.Table))
    colors = resources.table(f"themes/{scheme}.toml", resources.Table)
    tones = resources.table("speech.toml", resources.Table)["tones"]
    common["tempo"] = {tone: manner["pace"] for tone, manner in tones.items()}
    return {**common, **{name: colors[name] for name in ("colors", "tones", "orb")}}


def _colors(base: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    made = {**base, **own}
    for name, mix in _derived()["colors"].items():
        if name not in own:
            made[name] = _mixed(mix, made)
    return made


def _orb(colors: Mapping[str, str]) -> dict[str, list[str]]:
    return {state: [_mixed(mix, colors) for mix in mixes] for state, mixes in _derived()["orb"].items()}


def _mixed(mix: tuple[str, str, float], colors: Mapping[str, str]) -> str:
    one, other, share = mix
    known = {**_derived()["fixed"], **colors}
    return parse_color(known[one]).mixed(parse_color(known[other]), share).css


def _derived() -> Mapping[str, Any]:
    return resources.table("themes/derived.toml", resources.Table)


def _mended_tree(tree: Tree) -> Tree:
    """Return the theme with faint colours made clear. No other function looks for faint colours."""
    rules = resources.table("themes/contrast.toml", resources.Table)
    colors = {name: parse_color(value) for name, value in tree["colors"].items()}
    share, paper = tree["ratios"][_TONE_GROUND], colors["paper"]

    def tone_clarity(tone: Color) -> float:
        return _clarity(tone, (paper, paper.mixed(tone, share)), rules["tone_glyph"])

    tones = {name: mended(parse_color(value), tone_clarity) for name, value in tree["tones"].items()}
    toned = [paper.mixed(tone, share) for tone in tones.values()]
    for rule in rules["rule"]:
        for name in rule["tokens"]:
            grounds = [*(colors[ground] for ground in rule["on"]), *(toned if rule.get("tones") else ())]
            ratio = rule["ratio"]
            colors[name] = mended(colors[name], lambda color, on=grounds, ratio=ratio: _clarity(color, on, ratio))  # type: ignore[misc]
    return {
        **tree,
        "colors": {name: color.css for name, color in colors.items()},
        "tones": {name: color.css for name, color in tones.items()},
        "orb": _mended_orb(tree["orb"], paper, rules["orb_glyph"]),
    }


def _mended_orb(orb: Mapping[str, str | list[str]], paper: Color, ratio: float) -> dict[str, str | list[str]]:
    """Return the orb with mended body colours: clear on the paper, and such that the glyph is clear on them."""
    glyph = parse_color(str(orb["glyph"]))
    made: dict[str, str | list[str]] = dict(orb)
    for state, stops in orb.items():
        if isinstance(stops, list):
            lit, body, far = map(parse_color, stops)
            body = mended(body, lambda color: _clarity(color, (glyph, paper), ratio))
            far = mended(far, lambda color: _clarity(color, (glyph,), ratio))
            made[state] = [lit.css, body.css, far.css]
    return made


def _clarity(color: Color, grounds: Iterable[Color], ratio: float) -> float:
    return min(contrast(color, ground) for ground in grounds) / ratio


def fonts_of(text: str) -> dict[str, tuple[str, ...]]:
    """Read fonts by their role from `display: Lora, Georgia; mono: Fira Code`. Others are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split(";"):
        role, _, names = part.partition(":")
        families = [name.strip().strip("\"'") for name in names.split(",")]
        if role.strip() in FONT_ROLES:
            found[role.strip()] = tuple(name for name in families if _FONT.fullmatch(name))
    return found


def installed(wanted: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    """Return the wanted font families that are among those of a system, whatever their case.

    Qt lists `P052 [urw]` where two makers have a font of this name.
    """
    known = {family.partition(" [")[0].casefold() for family in there}
    return tuple(family for family in wanted if family.casefold() in known)


def palette_of(text: str) -> dict[str, str]:
    """Read opaque colours by their name from `paper: #FFF8E7; accent: #B3541E`. Others are left out."""
    rows = (part.partition(":") for part in text.split(";"))
    found = {name.strip(): value.strip() for name, _, value in rows}
    return {name: found[name] for name in PALETTE if not _bad_color(found.get(name), may_be_clear=False)}


def note_shown(scheme: str) -> None:
    """Save which colour scheme the system shows, because only the presence knows it."""
    place = paths.state_dir() / "scheme"
    if shown_scheme() != scheme:
        place.write_text(scheme, encoding="utf-8")


def shown_scheme() -> str:
    """Return the colour scheme that the system showed when the presence last ran; light if it never ran."""
    try:
        found = (paths.state_dir() / "scheme").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # because it is only a trace of the last start
        return SCHEMES[0]
    return found if found in SCHEMES else SCHEMES[0]


def own_file() -> Path | None:
    """Return the path of the person's own tokens, which replace those of every theme; None if nothing is there."""
    own = paths.config_dir() / "theme.toml"
    return own if os.path.lexists(own) else None


def with_own(tree: Tree, own: Path | None) -> tuple[Tree, tuple[str, ...]]:
    """Return the tree with the person's own tokens in place of the theme's, and a sentence for each error in their
    file, at most twenty. Faint colours are made clear, and named.
    """
    if own is None:
        return tree, ()
    problems: list[str] = []
    given = _read_own(own, problems)
    wanted = _merged(tree, given, own.name, problems)
    own_colors = {name: value for name, value in wanted["colors"].items() if value != tree["colors"][name]}
    if "paper" in own_colors:  # the theme's other colours belong to its own paper
        wanted["colors"] = _colors(wanted["colors"], own_colors)
    clear = _mended_tree(wanted)
    for name, value in own_colors.items():
        if parse_color(clear["colors"][name]) != parse_color(value):
            problems.append(f"{own.name}: colors.{name}: {value} is too faint here. {clear['colors'][name]} is shown.")
    if len(problems) > _MOST_PROBLEMS:
        problems[_MOST_PROBLEMS:] = [f"{own.name}: {len(problems) - _MOST_PROBLEMS} more errors."]
    return clear, tuple(problems)


def _read_own(path: Path, problems: list[str]) -> Mapping[str, Any]:
    try:
        return tomllib.loads(paths.read_own(path, _OWN_BYTES))
    except (OSError, ValueError, RecursionError) as error:  # a number of 5000 digits is a plain ValueError
        why = clip_line(str(error), _SHOWN_CHARS * 3)
        problems.append(f"The theme file {path} cannot be read: {why.rstrip('.')}. The built-in theme is used.")
        return {}


def _merged(tree: Tree, own: Mapping[str, Any], name: str, problems: list[str]) -> Tree:
    plain = _built_in(SCHEMES[0])  # by which a person's values are judged, whatever the theme
    merged = {group: dict(tokens) for group, tokens in tree.items()}
    for group, tokens in own.items():
        if group not in merged or not isinstance(tokens, dict):
            problems.append(f"{name}: there is no group {clip_line(group, _SHOWN_CHARS)!r} in a theme.")
            continue
        for token, value in tokens.items():
            problem = _misfit(token, plain[group].get(token), value)
            if problem:
                problems.append(f"{name}: {group}.{clip_line(token, _SHOWN_CHARS)}: {problem}")
            else:
                merged[group][token] = value
    return merged


def _misfit(token: str, known: Any, value: Any) -> str:
    """Why a token cannot have this value in place of the `known` one of the plain theme; "" if it can."""
    if known is None:
        return "there is no such token."
    if isinstance(known, list):
        if not isinstance(value, list) or len(value) != len(known):
            return f"it takes {len(known)} values."
        return next((why for old, new in zip(known, value, strict=True) if (why := _misfit(token, old, new))), "")
    if isinstance(known, str):
        return _bad_color(value, may_be_clear=parse_color(known).alpha < 255)
    # Decoration may vanish. Everything else keeps a size with which Wisp can be used.
    least = 0 if token in _DECORATION else known / _RANGE
    most = known * _RANGE or _LEAST_MOST_PX
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    shown = clip_line(repr(value), _SHOWN_CHARS)
    return "" if fits else f"{shown} is no number from {least:g} to {most:g}."


def _bad_color(value: Any, *, may_be_clear: bool) -> str:
    try:
        color = parse_color(str(value))
    except ValueError as error:
        return str(error)
    return (
        "" if may_be_clear or color.alpha == 255 else f"{value} lets through what lies behind it; leave the alpha out."
    )
