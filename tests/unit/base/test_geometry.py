"""Picture pixels and screen pixels: converted in one place, never off by more than the scale allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.geometry import Geometry, Point, Rect, Size

regions = st.builds(
    Rect, st.integers(-4000, 4000), st.integers(-4000, 4000), st.integers(1, 8000), st.integers(1, 5000)
)
sizes = st.builds(Size, st.integers(1, 2576), st.integers(1, 2576))


@given(regions, sizes, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_every_picture_pixel_is_a_pixel_of_the_region(region: Rect, sent: Size, across: float, down: float) -> None:
    geometry = Geometry(region, sent)
    assert region.contains(geometry.to_screen(int(across * sent.width), int(down * sent.height)))


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(-500, 500), st.integers(-500, 500), st.data())
def test_unscaled_pictures_map_one_to_one_and_back(
    width: int, height: int, left: int, top: int, data: st.DataObject
) -> None:
    geometry = Geometry(Rect(left, top, width, height), Size(width, height))
    x, y = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    point = geometry.to_screen(x, y)
    assert (point, geometry.to_picture(point)) == (Point(left + x, top + y), (x, y))


@given(regions, sizes, st.data())
def test_a_screen_point_comes_back_within_one_picture_pixel(region: Rect, sent: Size, data: st.DataObject) -> None:
    geometry = Geometry(region, sent)
    point = Point(
        data.draw(st.integers(region.x, region.right - 1)), data.draw(st.integers(region.y, region.bottom - 1))
    )
    there = geometry.to_screen(*geometry.to_picture(point))
    assert abs(there.x - point.x) <= max(geometry.scale_x, 1)
    assert abs(there.y - point.y) <= max(geometry.scale_y, 1)


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        (Rect(5, 5, 10, 10), Rect(5, 5, 5, 5)),
        (Rect(2, 3, 4, 5), Rect(2, 3, 4, 5)),
        (Rect(10, 0, 5, 5), None),
        (Rect(0, 10, 5, 5), None),
        (Rect(-5, -5, 30, 30), Rect(0, 0, 10, 10)),
    ],
)
def test_rectangles_share_what_both_cover(other: Rect, shared: Rect | None) -> None:
    mine = Rect(0, 0, 10, 10)
    assert (mine.overlap(other), other.overlap(mine)) == (shared, shared)
