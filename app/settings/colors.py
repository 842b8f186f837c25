"""Colours as numbers: read, mixed, how far apart they are for an eye, and mended until they are far enough."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from app.base.clipping import clip_line

_LINEAR_LIMIT = 0.04045
_MEND_STEPS = 50
_SHOWN_CHARS = 40
_HEX = re.compile(r"#[0-9A-Fa-f]{6}(?:[0-9A-Fa-f]{2})?")


class Color(NamedTuple):
    """A colour: red, green, blue and alpha, 0 to 255."""

    red: int
    green: int
    blue: int
    alpha: int = 255

    def faded(self, opacity: float) -> Color:
        """Return the same colour with its alpha multiplied by `opacity`, 0 to 1."""
        return self._replace(alpha=round(self.alpha * max(0.0, min(opacity, 1.0))))

    def mixed(self, other: Color, share: float) -> Color:
        """Return this colour with a `share` (0 to 1) of the other one."""
        return Color(*(round(a + (b - a) * share) for a, b in zip(self, other, strict=True)))

    @property
    def hex(self) -> str:
        """The colour as Qt writes it: alpha first."""
        return f"#{self.alpha:02x}{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def css(self) -> str:
        """The colour as CSS and theme files write it: alpha last, and left out for an opaque colour."""
        opaque = f"#{self.red:02X}{self.green:02X}{self.blue:02X}"
        return opaque if self.alpha == 255 else f"{opaque}{self.alpha:02X}"


_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@lru_cache(maxsize=4096)
def luminance(color: Color) -> float:
    red, green, blue = (_linear(channel / 255) for channel in color[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= _LINEAR_LIMIT else float(((channel + 0.055) / 1.055) ** 2.4)


def parse_color(text: str) -> Color:
    """Parse `#RRGGBB` or `#RRGGBBAA`. Raises ValueError with a sentence."""
    if not _HEX.fullmatch(text):
        raise ValueError(f"{clip_line(text, _SHOWN_CHARS)!r} is not a colour like #1A2B3C.")
    return Color(*bytes.fromhex(text[1:]))


def mended(color: Color, clarity: Callable[[Color], float]) -> Color:
    """Return the colour, or the nearest mix of it with black or white whose `clarity` is at least 1.

    If no mix is clear enough, the clearest one is returned.
    """
    if clarity(color) >= 1:
        return color
    mixes = [color.mixed(end, step / _MEND_STEPS) for step in range(1, _MEND_STEPS + 1) for end in (_BLACK, _WHITE)]
    return next((mix for mix in mixes if clarity(mix) >= 1), None) or max(mixes, key=clarity)
