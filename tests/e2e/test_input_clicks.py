"""Clicks land where they were meant, on one monitor or two, whatever the size of the picture and of the program.

`scripts/bench/hands.py` shoots 500 times.
"""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.exactness import FIELDS, Field, shots
from tests.support.fixture_window import FixtureWindow
from tests.support.monitors import split

pytestmark = pytest.mark.long

_CLICKS = 8


@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_random_points_of_a_capture_are_hit_within_a_pixel(field: Field) -> None:
    fired = list(shots(field, _CLICKS))
    assert (len(fired), [shot for shot in fired if shot.miss_px > 1]) == (_CLICKS, [])


def test_each_of_two_monitors_has_its_own_capture_and_points(screen: Screen) -> None:
    split(screen.environment["DISPLAY"], 640, 800)
    options = ("--at", "740,100", "--size", "500x400")
    with (
        FixtureWindow("canvas", *options, environment=screen.environment) as window,
        CoProcess(screen.environment) as wisp,
    ):
        shown = wisp("screen_capture", monitor=2)["payload"]
        assert (shown["region"], shown["width"], shown["height"]) == ([640, 0, 640, 800], 640, 800)
        wisp("computer_click", x=300, y=250)
        hit = window.wait(lambda event: event["event"] == "press")
        assert (hit["x"], hit["y"]) == (940.0, 250.0)
