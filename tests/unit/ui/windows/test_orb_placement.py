"""Where the orb, the bubble and the composer stand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
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
    found = orb_placement.arranged(LEFT, orb, Size(400, 500), 8)
    assert (found.body.right < orb.x, found.above) == (left, above)
    assert (found.body.bottom if above else found.body.y) == (orb.bottom if above else orb.y)


SIZES = st.sampled_from([(640, 480), (800, 600), (1024, 768), (1366, 768), (1920, 1080), (1080, 1920), (3440, 1440)])


@settings(max_examples=200, derandomize=True)
@given(SIZES, st.floats(0, 1), st.floats(0, 1), st.integers(78, 1200), st.integers(78, 1200))
def test_wherever_the_orb_is_the_surface_covers_neither_it_nor_the_edges_and_its_field_stays(
    size: tuple[int, int], right: float, down: float, height: int, other: int
) -> None:
    screen = Rect(100, 50, *size)
    orb = Rect(100 + round(right * (size[0] - ORB)), 50 + round(down * (size[1] - ORB)), ORB, ORB)
    found, grown = (orb_placement.arranged(screen, orb, Size(400, high), 8) for high in (height, other))
    for one in (found, grown):
        assert one.body.overlap(orb) is None
        assert one.body.overlap(screen) == one.body
        assert one.body.overlap(one.seed) == one.seed
    anchors = [(one.body.x, one.body.bottom if one.above else one.body.y) for one in (found, grown)]
    assert anchors[0] == anchors[1]


@given(
    st.integers(-3000, 5000),
    st.integers(-3000, 5000),
    st.integers(1, 900),
)
def test_nothing_ever_leaves_the_screen(x: int, y: int, height: int) -> None:
    orb = orb_placement.snapped(Rect(x, y, ORB, ORB), RIGHT, 16, 24)
    found = orb_placement.arranged(RIGHT, orb, Size(400, min(height, 560)), 8)
    for rect in (orb, found.body):
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
