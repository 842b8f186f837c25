"""Picture pixels and screen pixels: converted in one place, never off by more than the scale allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.geometry import Geometry, ModelSpace, Point, Rect, Size

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


_HALF = ModelSpace(Geometry(Rect(0, 0, 1920, 1200), Size(1280, 800)), "c1")
_CROP = ModelSpace(Geometry(Rect(600, 300, 400, 200), Size(400, 200)), "c2")


@pytest.mark.parametrize(
    ("space", "point", "told"),
    [
        (_HALF, Point(191, 303), "(127, 202)"),
        (_HALF, Point(960, 568), "(640, 378)"),
        (_CROP, Point(610, 310), "(10, 10)"),
        (_CROP, Point(10, 10), "(10, 10) on the screen"),
        (ModelSpace(), Point(960, 568), "(960, 568) on the screen"),
    ],
)
def test_a_point_is_told_in_the_pixels_of_the_newest_capture(space: ModelSpace, point: Point, told: str) -> None:
    assert space.point(point) == told


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (_HALF, "(400,200,200,100)"),
        (_CROP, "(0,0,300,150)"),
        (ModelSpace(), "(600,300,300,150)"),
        (ModelSpace(Geometry(Rect(0, 0, 100, 100), Size(100, 100)), "c3"), "(600,300,300,150) on the screen"),
    ],
)
def test_a_box_is_told_in_the_pixels_of_the_newest_capture(space: ModelSpace, told: str) -> None:
    assert space.box(Rect(600, 300, 300, 150)) == told
