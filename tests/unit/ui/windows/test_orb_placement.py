"""Where the orb, the bubble and the composer stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import paths
from app.base.geometry import Point, Rect, Size
from app.ui.windows import orb_placement

LEFT = Rect(0, 0, 1920, 1080)
RIGHT = Rect(1920, 0, 1280, 800)
ORB = 56


def test_the_screen_that_holds_most_of_it_is_its_screen() -> None:
    assert orb_placement.screen_of(Rect(1900, 10, 56, 56), [LEFT, RIGHT]) == RIGHT
    assert orb_placement.screen_of(Rect(1880, 10, 56, 56), [LEFT, RIGHT]) == LEFT


def test_what_lies_on_no_screen_belongs_to_the_nearest() -> None:
    assert orb_placement.screen_of(Rect(5000, 900, 56, 56), [LEFT, RIGHT]) == RIGHT


def test_near_an_edge_it_snaps_to_a_gap_from_it() -> None:
    assert orb_placement.snapped(Rect(1850, 500, ORB, ORB), LEFT, 16, 24) == Rect(1848, 500, ORB, ORB)
    assert orb_placement.snapped(Rect(3, 2, ORB, ORB), LEFT, 16, 24) == Rect(16, 16, ORB, ORB)


def test_away_from_the_edges_it_stays_where_it_was_let_go() -> None:
    assert orb_placement.snapped(Rect(700, 500, ORB, ORB), LEFT, 16, 24) == Rect(700, 500, ORB, ORB)


@pytest.mark.parametrize(
    ("orb", "left", "above"),
    [
        (Rect(1848, 1008, ORB, ORB), True, True),
        (Rect(16, 1008, ORB, ORB), False, True),
        (Rect(1848, 16, ORB, ORB), True, False),
        (Rect(16, 16, ORB, ORB), False, False),
    ],
)
def test_the_bubble_opens_to_the_free_side(orb: Rect, left: bool, above: bool) -> None:
    found = orb_placement.arranged(LEFT, orb, Size(400, 500), Size(400, 48), 8)
    assert (found.left, found.above) == (left, above)
    assert found.bubble.overlap(orb) is None
    assert found.composer.overlap(orb) is None
    assert found.bubble.overlap(found.composer) is None


def test_without_a_composer_the_bubble_takes_its_place() -> None:
    found = orb_placement.arranged(LEFT, Rect(1848, 1008, ORB, ORB), Size(400, 500), Size(400, 0), 8)
    assert found.bubble.bottom == 1064


@given(
    st.integers(-3000, 5000),
    st.integers(-3000, 5000),
    st.integers(1, 900),
)
def test_nothing_ever_leaves_the_screen(x: int, y: int, height: int) -> None:
    orb = orb_placement.snapped(Rect(x, y, ORB, ORB), RIGHT, 16, 24)
    found = orb_placement.arranged(RIGHT, orb, Size(400, min(height, 560)), Size(400, 48), 8)
    for rect in (orb, found.bubble, found.composer):
        assert rect.overlap(RIGHT) == rect


def test_a_place_is_remembered_for_its_monitors_only() -> None:
    both, one = orb_placement.layout_name([RIGHT, LEFT]), orb_placement.layout_name([LEFT])
    orb_placement.remember(both, Point(2000, 10))
    orb_placement.remember(one, Point(5, 6))
    assert (orb_placement.remembered(both), orb_placement.remembered(one)) == (Point(2000, 10), Point(5, 6))
    assert orb_placement.remembered(orb_placement.layout_name([RIGHT])) is None


def test_the_same_monitors_have_one_name_in_any_order() -> None:
    assert orb_placement.layout_name([RIGHT, LEFT]) == orb_placement.layout_name([LEFT, RIGHT])


@pytest.mark.parametrize("content", ["", "[]", "{", '{"1920x1080+0+0": "left"}', '{"1920x1080+0+0": [1, "2"]}'])
def test_a_broken_file_means_that_nobody_knows(content: str) -> None:
    (paths.state_dir() / "places.json").write_text(content)
    assert orb_placement.remembered(orb_placement.layout_name([LEFT])) is None
