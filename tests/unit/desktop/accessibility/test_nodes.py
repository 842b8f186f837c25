"""How a window's own coordinates become pixels of the screen. The figures were measured on real windows."""

from __future__ import annotations

import pytest

from app.base.geometry import Point, Rect
from app.desktop.accessibility.nodes import AS_TOLD, Scale, pane_scale, scale_of


@pytest.mark.parametrize(
    ("told", "area", "scale"),
    [
        pytest.param(Rect(153, 350, 333, 379), Rect(153, 350, 333, 379), AS_TOLD, id="GTK 3"),
        pytest.param(Rect(234, 67, 332, 366), Rect(468, 134, 664, 731), Scale(2.0), id="GTK 3 at 2"),
        pytest.param(Rect(600, 254, 400, 508), Rect(599, 232, 402, 535), AS_TOLD, id="Qt, frame around it"),
        pytest.param(Rect(300, 127, 200, 254), Rect(599, 232, 402, 535), Scale(2.0), id="Qt at 2"),
        pytest.param(Rect(540, 279, 200, 254), Rect(674, 327, 252, 345), Scale(1.25), id="Qt at 1.25"),
        pytest.param(Rect(10, 10, 700, 400), Rect(20, 20, 1400, 800), Scale(2.0), id="Chromium at 2"),
        pytest.param(Rect(0, 0, 400, 300), Rect(99, 178, 402, 323), Scale(1.0, 100, 200), id="positions in the window"),
        pytest.param(Rect(0, 0, 1280, 800), Rect(0, 0, 1280, 800), AS_TOLD, id="maximised"),
        pytest.param(Rect(5, 5, 10, 10), Rect(500, 500, 300, 300), AS_TOLD, id="another window's area"),
    ],
)
def test_a_window_laid_over_its_area_shows_how_it_tells_coordinates(told: Rect, area: Rect, scale: Scale) -> None:
    assert scale_of(told, [area]) == scale


def test_nothing_known_of_windows_leaves_coordinates_as_they_are_told() -> None:
    assert scale_of(Rect(0, 0, 10, 10), []) == AS_TOLD


def test_positions_may_be_counted_from_the_corner_of_a_monitor() -> None:
    scale = scale_of(Rect(1200, 50, 200, 100), [Rect(1400, 80, 400, 220)], [Point(0, 0), Point(1000, 0)])
    assert scale.on_screen(Rect(1250, 60, 20, 10)) == Rect(1500, 120, 40, 20)


def test_edges_that_touch_still_touch_when_scaled() -> None:
    left, right = Scale(1.25).on_screen(Rect(3, 0, 7, 1)), Scale(1.25).on_screen(Rect(10, 0, 7, 1))
    assert left.right == right.x


def test_what_has_no_area_gets_none() -> None:
    assert Scale(2.0, 50, 50).on_screen(Rect(0, 0, 0, 0)) == Rect(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("pane", "around", "scale"),
    [
        pytest.param(Rect(0, 21, 1280, 752), Rect(0, 48, 1280, 752), Scale(1.0, 0, 27), id="over the menu bar"),
        pytest.param(Rect(0, 48, 1280, 752), Rect(0, 48, 1280, 752), AS_TOLD, id="corrected by its program"),
        pytest.param(Rect(4, 24, 792, 572), Rect(0, 0, 800, 600), AS_TOLD, id="smaller than its window, as in Swing"),
    ],
)
def test_a_pane_lies_where_that_lies_which_it_fills(pane: Rect, around: Rect, scale: Scale) -> None:
    assert pane_scale(AS_TOLD, pane, around) == scale
