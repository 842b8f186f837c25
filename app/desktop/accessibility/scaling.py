"""From the coordinates a program tells to pixels of the screen: at a scale above 1 they are not the same.

Measured on X11: GTK 3 and Qt tell everything in logical pixels, positions included; Qt counts them from the corner of
the monitor that the window is on. Chromium does as GTK for its own controls and tells physical pixels for what is in a
page. GTK 4 does not know where its windows are and tells positions within them. What a window is like is seen by laying
its box over the area that the X server knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.base.geometry import Point, Rect

_FACTORS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 4.0)
_BORDER_PX = 16
"""What a window manager's frame may add on the left, the right and at the bottom."""
_TITLE_PX = 96


@dataclass(frozen=True, slots=True)
class Scale:
    """Screen pixels are told pixels times `factor` plus (`dx`, `dy`)."""

    factor: float = 1.0
    dx: int = 0
    dy: int = 0

    def on_screen(self, box: Rect) -> Rect:
        if self == AS_TOLD or box.size.area == 0:
            return box
        left, top = round(box.x * self.factor), round(box.y * self.factor)
        right, bottom = round(box.right * self.factor), round(box.bottom * self.factor)
        return Rect(left + self.dx, top + self.dy, right - left, bottom - top)


AS_TOLD = Scale()
NOWHERE = Scale(0.0)
"""Of what is not on the screen yet: a menu that is just opening."""


def scale_of(told: Rect, areas: Sequence[Rect], corners: Sequence[Point] = (Point(0, 0),)) -> Scale:
    """How a window tells coordinates, from its own box and the areas (frame included) that it may have.

    `corners` are those of the monitors.
    """
    if told.size.area == 0:
        return AS_TOLD
    scales = [_counted_from(corner, factor) for factor in _FACTORS for corner in (Point(0, 0), *corners)]
    if (told.x, told.y) == (0, 0):
        scales += [_moved(told, area, factor) for factor in _FACTORS for area in areas]
    fitting = (scale for scale in scales if any(_lies_in(scale.on_screen(told), area) for area in areas))
    return next(fitting, AS_TOLD)


def _counted_from(corner: Point, factor: float) -> Scale:
    return Scale(factor, round(corner.x * (1 - factor)), round(corner.y * (1 - factor)))


def _moved(told: Rect, area: Rect, factor: float) -> Scale:
    """For a window that tells positions within itself: a frame is as wide at the sides as below, the rest is title."""
    width, height = round(told.width * factor), round(told.height * factor)
    border = (area.width - width) // 2
    return Scale(factor, area.x + border, area.bottom - border - height)


def _lies_in(box: Rect, area: Rect) -> bool:
    """Whether a box fills an area but for a frame."""
    sides = (box.x - area.x, area.right - box.right, area.bottom - box.bottom)
    return all(-2 <= side <= _BORDER_PX for side in sides) and -2 <= box.y - area.y <= _TITLE_PX
