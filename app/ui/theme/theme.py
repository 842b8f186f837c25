"""Theme tokens: every colour, size and duration of the presence, read from `resources/themes`.

A theme file with errors never stops Wisp: `problems` names each error, and the built-in token is used instead.
"""

from __future__ import annotations

import colorsys
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from app.base.values import dataclass, field
from app.settings import tokens
from app.settings.colors import Color as Color  # noqa: PLC0414
from app.settings.colors import contrast as contrast  # noqa: PLC0414
from app.settings.colors import parse_color as parse_color  # noqa: PLC0414
from app.settings.tokens import SCHEMES as SCHEMES  # noqa: PLC0414 - drawing knows the theme by this module


class Type(NamedTuple):
    """A text style: the size of the letters and the height of a line, in pixels."""

    size: int
    line: int


@dataclass(frozen=True, slots=True)
class Theme:
    """All tokens of one scheme, by the names in the theme file. Asking for an unknown name is a bug and raises
    KeyError."""

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
    name: str = ""
    _fonts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wallpaper: Path | None = None

    def families(self, role: str) -> tuple[str, ...]:
        """Return the fonts for a role (`display`, `system`, `mono`), the best first; () means the system's font."""
        return self._fonts.get(role, ())

    def color(self, name: str) -> Color:
        return self._colors[name]

    def tone(self, name: str) -> Color:
        """Return the colour of a tone of voice. An unknown tone is neutral."""
        return self._tones.get(name, self._tones["neutral"])

    def tempo(self, name: str) -> float:
        """Return how fast text in this tone appears, as a factor on the usual pace; 0 shows the text at once."""
        return self._tempo.get(name, self._tempo["neutral"])

    def orb(self, state: str) -> tuple[Color, ...]:
        """Return the orb's colours in a state: those of its lit side, its body and its far side."""
        return self._orb[state]

    def size(self, name: str) -> int:
        """Return a size in device-independent pixels, scaled with the person's font size."""
        return round(self._sizes[name] * self.scale)

    def count(self, name: str) -> int:
        """Return a number of things, such as lines. It is not scaled."""
        return self._sizes[name]

    def ratio(self, name: str) -> float:
        return self._ratios[name]

    def ms(self, name: str) -> int:
        """Return a duration in milliseconds. Reduced motion does not change it."""
        return self._times[name]

    def motion_ms(self, name: str) -> int:
        """Return the duration of an animation in milliseconds. With reduced motion, all have the same short one."""
        return self._times["reduced"] if self.reduced else self._times[name]

    def pace(self, name: str) -> float:
        return self._pace[name]

    def type(self, name: str) -> Type:
        style = self._types[name]
        return Type(round(style.size * self.scale), round(style.line * self.scale))

    @property
    def tones(self) -> tuple[str, ...]:
        return tuple(self._tones)


def load(
    scheme: str,
    *,
    kind: str = "",
    scale: float = 1.0,
    reduced: bool = False,
    own: Path | None = None,
    fonts: Mapping[str, tuple[str, ...]] | None = None,
    palette: str = "",
    avatar: str = "",
) -> Theme:
    """Load the theme `kind` (the plain one for "") in a scheme. Tokens of the person's own file replace its tokens.

    `fonts` are tried before the theme's own, and the colours of `palette` replace the theme's. `avatar` is any word,
    which gives the resting orb a hue of its own. The other states keep their hues, because these say what the orb does.
    """
    found = tokens.face(kind, scheme, palette)
    tree, problems = tokens.with_own(found.tree, own)
    first = fonts or {}
    return Theme(
        scheme=found.scheme,
        _colors={name: parse_color(value) for name, value in tree["colors"].items()},
        _tones={name: parse_color(value) for name, value in tree["tones"].items()},
        _orb={
            name: _turned(_stops(value), avatar) if avatar and name in _RESTING else _stops(value)
            for name, value in tree["orb"].items()
        },
        _sizes=tree["sizes"],
        _ratios=tree["ratios"],
        _times=tree["times"],
        _types={name: Type(*value) for name, value in tree["type"].items()},
        _pace=tree["pace"],
        _tempo=tree["tempo"],
        scale=scale,
        reduced=reduced,
        problems=problems,
        name=found.theme,
        _fonts={role: (*first.get(role, ()), *found.fonts.get(role, ())) for role in tokens.FONT_ROLES},
        wallpaper=found.wallpaper,
    )


def _stops(value: str | list[str]) -> tuple[Color, ...]:
    return tuple(parse_color(one) for one in ([value] if isinstance(value, str) else value))


_RESTING = frozenset({"idle", "sleep"})


def _turned(stops: tuple[Color, ...], word: str) -> tuple[Color, ...]:
    """Shifts the hue. The word alone decides how far, so the same word gives the same colours."""
    angle = hashlib.sha256(word.encode()).digest()[0] / 256
    turned = []
    for stop in stops:
        hue, light, depth = colorsys.rgb_to_hls(*(channel / 255 for channel in stop[:3]))
        red, green, blue = (round(channel * 255) for channel in colorsys.hls_to_rgb((hue + angle) % 1, light, depth))
        turned.append(Color(red, green, blue, stop.alpha))
    return tuple(turned)
