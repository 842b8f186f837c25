"""Coordinates as values, so that pixels of the screen and pixels of a model's picture are never mixed.

There are two spaces. *screen* is the root window in physical pixels, with its origin at the top left (monitors may
start anywhere in it). *capture* is the picture that a model saw. Only `Geometry` converts between the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.base.values import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A position in screen pixels."""

    x: int
    y: int

    def moved(self, dx: int, dy: int) -> Point:
        return Point(self.x + dx, self.y + dy)


@dataclass(frozen=True, slots=True)
class Size:
    """Extents in pixels."""

    width: int
    height: int

    @property
    def area(self) -> int:
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle in screen pixels; `right` and `bottom` are exclusive."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height

    @property
    def size(self) -> Size:
        return Size(self.width, self.height)

    @property
    def center(self) -> Point:
        return Point(self.x + self.width // 2, self.y + self.height // 2)

    def contains(self, point: Point) -> bool:
        return self.x <= point.x < self.right and self.y <= point.y < self.bottom

    def overlap(self, other: Rect) -> Rect | None:
        """None if the two only touch or are apart."""
        left, top = max(self.x, other.x), max(self.y, other.y)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        if right <= left or bottom <= top:
            return None
        return Rect(left, top, right - left, bottom - top)


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a capture's pixels map to the screen: `region` was captured, and a picture of size `sent` was shown."""

    region: Rect
    sent: Size

    @property
    def scale_x(self) -> float:
        return self.region.width / self.sent.width

    @property
    def scale_y(self) -> float:
        return self.region.height / self.sent.height

    def contains(self, x: float, y: float) -> bool:
        """True if a picture coordinate is inside the picture."""
        return 0 <= x < self.sent.width and 0 <= y < self.sent.height

    def to_screen(self, x: float, y: float) -> Point:
        """Return the screen pixel under the middle of picture pixel (x, y)."""
        return Point(
            self.region.x + min(int((x + 0.5) * self.scale_x), self.region.width - 1),
            self.region.y + min(int((y + 0.5) * self.scale_y), self.region.height - 1),
        )

    def to_picture(self, point: Point) -> tuple[int, int]:
        """Return the picture pixel that shows a screen point. Outside the region, it is outside the picture."""
        return int((point.x - self.region.x) // self.scale_x), int((point.y - self.region.y) // self.scale_y)

    def box_in_picture(self, box: Rect) -> Rect:
        """Return the picture pixels that show a part of the screen."""
        left, top = self.to_picture(Point(box.x, box.y))
        right, bottom = self.to_picture(Point(box.right - 1, box.bottom - 1))
        return Rect(left, top, right - left + 1, bottom - top + 1)


_ON_SCREEN = " on the screen"


@dataclass(frozen=True, slots=True)
class ModelSpace:
    """Writes positions as the model uses them in its calls: in pixels of the newest capture.

    Without a capture, and outside of it, positions are screen pixels and say "on the screen".
    """

    geometry: Geometry | None = None
    capture: str = ""

    def point(self, point: Point) -> str:
        if self.geometry is None or not self.geometry.region.contains(point):
            return f"({point.x}, {point.y}){_ON_SCREEN}"
        x, y = self.geometry.to_picture(point)
        return f"({x}, {y})"

    def box(self, box: Rect) -> str:
        """As (x,y,width,height). The `note` for the whole listing is not repeated for each box."""
        if self.geometry is None:
            return _written(box)
        if not self.geometry.region.contains(box.center):
            return _written(box) + _ON_SCREEN
        return _written(self.geometry.box_in_picture(box))

    @property
    def note(self) -> str:
        """The sentence that stands once above a listing and says what its boxes mean."""
        where = f"in pixels of capture {self.capture}" if self.geometry else "in screen pixels"
        return f"Boxes are (x,y,width,height) {where}"


def _written(box: Rect) -> str:
    return f"({box.x},{box.y},{box.width},{box.height})"


def points_along(path: Sequence[Point], step_px: int) -> Iterator[Point]:
    """Yield points along the path, at most `step_px` apart, so that programs see a movement."""
    for start, end in pairwise(path):
        count = max(abs(end.x - start.x), abs(end.y - start.y)) // step_px + 1
        for step in range(1, count + 1):
            yield Point(start.x + (end.x - start.x) * step // count, start.y + (end.y - start.y) * step // count)
