"""Theme tokens: every colour, size and duration of the presence, read from `resources/themes`.

A theme file with errors never stops Wisp: `problems` names each error, and the built-in token is used instead.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from app.base import resources
from app.base.values import dataclass, field

SCHEMES = ("light", "dark")
_LINEAR_LIMIT = 0.04045


class Color(NamedTuple):
    """Red, green, blue and alpha, 0 to 255."""

    red: int
    green: int
    blue: int
    alpha: int = 255

    def faded(self, opacity: float) -> Color:
        """The same colour with its alpha multiplied by `opacity`, 0 to 1."""
        return self._replace(alpha=round(self.alpha * max(0.0, min(opacity, 1.0))))

    def mixed(self, other: Color, share: float) -> Color:
        """`share` (0 to 1) of the other colour in this one."""
        return Color(*(round(a + (b - a) * share) for a, b in zip(self, other, strict=True)))

    @property
    def hex(self) -> str:
        return f"#{self.alpha:02x}{self.red:02x}{self.green:02x}{self.blue:02x}"


class Type(NamedTuple):
    """A text style: size of the letters and of the line, in pixels."""

    size: int
    line: int


@dataclass(frozen=True, slots=True)
class Theme:
    """All tokens of one scheme. Names are those of the files; an unknown name is a bug and raises KeyError."""

    scheme: str
    _colors: Mapping[str, Color]
    _tones: Mapping[str, Color]
    _orb: Mapping[str, tuple[Color, ...]]
    _sizes: Mapping[str, int]
    _ratios: Mapping[str, float]
    _times: Mapping[str, int]
    _types: Mapping[str, Type]
    _pace: Mapping[str, float]
    _tempo: Mapping[str, float]
    scale: float = 1.0
    reduced: bool = False
    problems: tuple[str, ...] = field(default=())

    def color(self, name: str) -> Color:
        return self._colors[name]

    def tone(self, name: str) -> Color:
        """The colour of a tone of voice; an unknown tone is neutral."""
        return self._tones.get(name, self._tones["neutral"])

    def tempo(self, name: str) -> float:
        """Factor on the pace of speech; 0 shows the text at once."""
        return self._tempo.get(name, self._tempo["neutral"])

    def orb(self, state: str) -> tuple[Color, ...]:
        """Lit side, body and far side of the orb in a state."""
        return self._orb[state]

    def size(self, name: str) -> int:
        """Device-independent pixels, grown with the person's font size."""
        return round(self._sizes[name] * self.scale)

    def count(self, name: str) -> int:
        """A number of things (lines): not scaled."""
        return self._sizes[name]

    def ratio(self, name: str) -> float:
        return self._ratios[name]

    def ms(self, name: str) -> int:
        """A duration in milliseconds, as written."""
        return self._times[name]

    def motion_ms(self, name: str) -> int:
        """The duration of a movement; with reduced motion everything is one short fade."""
        return self._times["reduced"] if self.reduced else self._times[name]

    def pace(self, name: str) -> float:
        return self._pace[name]

    def type(self, name: str) -> Type:
        style = self._types[name]
        return Type(round(style.size * self.scale), round(style.line * self.scale))

    @property
    def tones(self) -> tuple[str, ...]:
        return tuple(self._tones)


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (_linear(channel / 255) for channel in color[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= _LINEAR_LIMIT else float(((channel + 0.055) / 1.055) ** 2.4)


def parse_color(text: str) -> Color:
    """`#RRGGBB` or `#RRGGBBAA`; raises ValueError with a sentence."""
    digits = text.removeprefix("#")
    if len(digits) not in (6, 8) or not text.startswith("#"):
        raise ValueError(f"{text!r} is not a colour like #1A2B3C.")
    try:
        return Color(*bytes.fromhex(digits))
    except ValueError:
        raise ValueError(f"{text!r} is not a colour like #1A2B3C.") from None


def load(scheme: str, *, scale: float = 1.0, reduced: bool = False, own: Path | None = None) -> Theme:
    """The theme of a scheme, with the tokens of the person's own file (if any) on top."""
    tree = _built_in(scheme)
    problems: list[str] = []
    if own is not None:
        tree = _merged(tree, _read_own(own, problems), own.name, problems)
    colors = {name: parse_color(value) for name, value in tree["colors"].items()}
    return Theme(
        scheme=scheme,
        _colors=colors,
        _tones={name: parse_color(value) for name, value in tree["tones"].items()},
        _orb={name: _stops(value) for name, value in tree["orb"].items()},
        _sizes=tree["sizes"],
        _ratios=tree["ratios"],
        _times=tree["times"],
        _types={name: Type(*value) for name, value in tree["type"].items()},
        _pace=tree["pace"],
        _tempo=tree["tempo"],
        scale=scale,
        reduced=reduced,
        problems=tuple(problems),
    )


def _stops(value: str | list[str]) -> tuple[Color, ...]:
    return tuple(parse_color(one) for one in ([value] if isinstance(value, str) else value))


@cache
def _built_in(scheme: str) -> dict[str, dict[str, Any]]:
    common = dict(resources.table("themes/common.toml", resources.Table))
    colors = resources.table(f"themes/{scheme}.toml", resources.Table)
    tones = resources.table("speech.toml", resources.Table)["tones"]
    common["tempo"] = {tone: manner["pace"] for tone, manner in tones.items()}
    return {**common, **{name: colors[name] for name in ("colors", "tones", "orb")}}


def _read_own(path: Path, problems: list[str]) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(f"The theme file {path.name} cannot be read ({error}); the built-in theme is used.")
        return {}


def _merged(
    tree: Mapping[str, Mapping[str, Any]], own: Mapping[str, Any], name: str, problems: list[str]
) -> dict[str, dict[str, Any]]:
    merged = {group: dict(tokens) for group, tokens in tree.items()}
    for group, tokens in own.items():
        if group not in merged or not isinstance(tokens, dict):
            problems.append(f"{name}: there is no group {group!r} in a theme.")
            continue
        for token, value in tokens.items():
            problem = _misfit(merged[group].get(token), value)
            if problem:
                problems.append(f"{name}: {group}.{token}: {problem}")
            else:
                merged[group][token] = value
    return merged


def _misfit(known: Any, value: Any) -> str:
    """Why a value cannot stand where `known` stood; empty if it can."""
    if known is None:
        return "there is no such token."
    if isinstance(known, list):
        if not isinstance(value, list) or len(value) != len(known):
            return f"it takes {len(known)} values."
        return next((why for old, new in zip(known, value, strict=True) if (why := _misfit(old, new))), "")
    if isinstance(known, str):
        return _bad_color(value)
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1_000_000
    return "" if fits else f"{value!r} is not a number of 0 or more."


def _bad_color(value: Any) -> str:
    try:
        parse_color(str(value))
    except ValueError as error:
        return str(error)
    return ""
