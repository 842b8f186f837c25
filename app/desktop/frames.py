"""What differs between two looks at the same part of the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.base.geometry import Rect
from app.desktop.api import Frame

TILE_PX = 32
_BYTES = 4


def changed_tiles(before: Frame, after: Frame, *, at_least: int = 1) -> list[Rect]:
    """Where pixels differ, at most one rectangle for each tile, in screen pixels; both frames show one area.

    `at_least` (of 255) is the smallest difference of a colour that counts.
    """
    if before.bgrx == after.bgrx:
        return []
    bands = _changed_bands(before, after)
    return [tile for band in bands for tile in _tiles(before, after, band, at_least)]


def _changed_bands(before: Frame, after: Frame) -> Iterator[Rect]:
    area, row = after.area, after.area.width * _BYTES
    for top in range(0, area.height, TILE_PX):
        height = min(TILE_PX, area.height - top)
        part = slice(top * row, (top + height) * row)
        if before.bgrx[part] != after.bgrx[part]:
            yield Rect(area.x, area.y + top, area.width, height)


def _tiles(before: Frame, after: Frame, band: Rect, at_least: int) -> Iterator[Rect]:
    from PIL import Image, ImageChops

    row, first = after.area.width * _BYTES, band.y - after.area.y
    part = slice(first * row, (first + band.height) * row)
    size = (band.width, band.height)
    difference = ImageChops.difference(
        Image.frombytes("RGBX", size, before.bgrx[part]), Image.frombytes("RGBX", size, after.bgrx[part])
    ).convert("RGB")
    if at_least > 1:
        difference = difference.point([level if level >= at_least else 0 for level in range(256)] * 3)
    bounds = difference.getbbox()
    if bounds is None:
        return
    for left in range(bounds[0] - bounds[0] % TILE_PX, bounds[2], TILE_PX):
        right = min(left + TILE_PX, band.width)
        found = difference.crop((left, 0, right, band.height)).getbbox()
        if found:
            x0, y0, x1, y1 = found
            yield Rect(band.x + left + x0, band.y + y0, x1 - x0, y1 - y0)


def bounds_of(areas: Iterable[Rect]) -> Rect | None:
    """The smallest rectangle around all of them."""
    found = list(areas)
    if not found:
        return None
    left, top = min(a.x for a in found), min(a.y for a in found)
    return Rect(left, top, max(a.right for a in found) - left, max(a.bottom for a in found) - top)


def merged(areas: Iterable[Rect], gap: int = TILE_PX) -> list[Rect]:
    """Regions that lie within `gap` pixels of each other as one, from the top left."""
    regions: list[Rect] = []
    for area in areas:
        grown = area
        while near := [r for r in regions if _near(r, grown, gap)]:
            regions = [r for r in regions if r not in near]
            grown = bounds_of([grown, *near]) or grown
        regions.append(grown)
    return sorted(regions, key=lambda r: (r.y, r.x))


def _near(one: Rect, other: Rect, gap: int) -> bool:
    wide = Rect(one.x - gap, one.y - gap, one.width + 2 * gap, one.height + 2 * gap)
    return wide.overlap(other) is not None


def part_of(frame: Frame, area: Rect) -> Frame:
    """The pixels of `area`, which lies inside the frame."""
    if area == frame.area:
        return frame
    row = frame.area.width * _BYTES
    left = (area.x - frame.area.x) * _BYTES
    first = area.y - frame.area.y
    starts = ((first + y) * row + left for y in range(area.height))
    rows = (frame.bgrx[start : start + area.width * _BYTES] for start in starts)
    return Frame(area, b"".join(rows))


def is_black(frame: Frame) -> bool:
    """Whether every pixel is black: what a failed or forbidden grab looks like."""
    if any(frame.bgrx[: _BYTES - 1]):
        return False
    return not any(any(frame.bgrx[channel::_BYTES]) for channel in range(_BYTES - 1))
