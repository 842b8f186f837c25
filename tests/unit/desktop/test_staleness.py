"""A place is clicked only as the model saw it: what counts as the same, and what ends a refusal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.base.geometry import Geometry, Point, Rect
from app.desktop.backends import Frame, Window
from app.desktop.capture import Capture, part_of
from app.desktop.elements import Element
from app.desktop.staleness import StalenessCheck, TargetChanged, is_alike
from tests.support.stage import FakeClock

AREA = Rect(0, 0, 200, 100)
PLACE = Point(100, 50)
GREY = (80, 80, 80)


def _frame(*spots: tuple[Rect, tuple[int, int, int]]) -> Frame:
    """Grey, with rectangles of other colours."""
    rows = [[GREY for _ in range(AREA.width)] for _ in range(AREA.height)]
    for spot, color in spots:
        for y in range(spot.y, spot.y + spot.height):
            for x in range(spot.x, spot.x + spot.width):
                rows[y][x] = color
    return Frame(AREA, b"".join(bytes((*pixel, 0)) for row in rows for pixel in row))


PLAIN = _frame()
WORD = _frame((Rect(90, 44, 20, 10), (250, 250, 250)))
OTHER = _frame((Rect(88, 46, 24, 10), (10, 10, 10)))


class Desk:
    """A screen that shows what it is told to."""

    def __init__(self, shown: Frame) -> None:
        self.shown = shown
        self.windows: Sequence[Window] = (Window("w1", "Letter", "mailer", AREA),)
        self.clock = FakeClock()
        self.staleness = StalenessCheck(self._grab, lambda: self.windows, self._at, self.clock, self._rest)

    def look(self, name: str = "c1") -> Capture:
        capture = Capture(name, Geometry(AREA, AREA.size), b"", "", None, self.clock.now(), "", self.shown)
        self.staleness.captured(capture)
        return capture

    async def _grab(self, area: Rect) -> Frame:
        return part_of(self.shown, area)

    async def _rest(self) -> None:
        return None

    async def _at(self, _point: Point) -> Element | None:
        return None


@pytest.mark.parametrize(
    ("after", "alike"),
    [
        (PLAIN, True),
        (_frame((Rect(100, 40, 2, 20), (0, 0, 0))), True),
        (_frame((Rect(60, 30, 80, 40), (92, 92, 92))), True),
        (WORD, False),
        (_frame((Rect(60, 30, 80, 40), (160, 160, 160))), False),
    ],
    ids=["nothing", "a caret", "a hover", "a word", "a colour"],
)
def test_a_caret_and_a_hover_are_no_change(after: Frame, alike: bool) -> None:
    area = Rect(76, 34, 48, 32)
    assert is_alike(part_of(PLAIN, area), part_of(after, area)) is alike


async def test_what_changed_by_itself_is_not_clicked() -> None:
    desk = Desk(PLAIN)
    capture = desk.look()
    desk.shown = WORD
    with pytest.raises(TargetChanged, match="changed since the capture"):
        await desk.staleness.check(PLACE, capture)
    await desk.staleness.check(Point(20, 20), capture)


async def test_what_an_action_of_ours_changed_counts_as_seen() -> None:
    desk = Desk(PLAIN)
    capture = desk.look()
    desk.shown = WORD
    desk.staleness.acted(WORD)
    await desk.staleness.check(PLACE, capture)
    desk.shown = OTHER
    with pytest.raises(TargetChanged):
        await desk.staleness.check(PLACE, capture)


async def test_another_window_there_is_refused_even_where_it_looks_alike() -> None:
    desk = Desk(PLAIN)
    capture = desk.look()
    desk.windows = (Window("w2", "Allow this?", "trap", AREA), *desk.windows)
    with pytest.raises(TargetChanged, match="'Allow this\\?'"):
        await desk.staleness.check(PLACE, capture)


async def test_a_place_that_keeps_changing_is_clicked_after_a_fresh_look() -> None:
    desk = Desk(PLAIN)
    capture = desk.look()
    desk.shown = WORD
    with pytest.raises(TargetChanged):
        await desk.staleness.check(PLACE, capture)
    desk.clock.advance(1)
    fresh = desk.look("c2")
    desk.shown = OTHER
    await desk.staleness.check(PLACE, fresh)
    with pytest.raises(TargetChanged):
        await desk.staleness.check(PLACE, capture)
