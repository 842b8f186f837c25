"""What is about to be acted on is marked for the person first, and the mark is gone before the act."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import pytest

from app.base.geometry import Point, Rect
from app.desktop.backends import Backend, Button, Frame, Marked, Pointer
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.headless import HeadlessDesktop, Moved, PressedDown, Released
from app.desktop.takeover import StopFlag
from tests.support.desktop_tools import Tools

_MARK = Rect(280, 180, 40, 40)
_PRESS = [Moved(Point(300, 200)), PressedDown(Button.LEFT), Released(Button.LEFT)]


class _Marker:
    """Paints a white mark onto the screen, and takes it away again. `log` is what was asked of it, and when."""

    def __init__(self, headless: HeadlessDesktop, *, is_busy: bool = False) -> None:
        self.log: list[tuple[Rect, str, Point, int]] = []
        self.asked: list[Future[Marked]] = []
        self.seen: list[bool] = []
        self._headless = headless
        self._is_busy = is_busy
        self.clean = headless.picture

    def covers(self, area: Rect) -> bool:
        return False

    @contextmanager
    def drawn_back(self, area: Rect) -> Iterator[None]:
        yield

    def point_at(self, place: Rect, name: str, came_from: Point) -> Future[Marked]:
        self.log.append((place, name, came_from, len(self._headless.done)))
        shown: Future[Marked] = Future()
        self.asked.append(shown)
        if not self._is_busy:
            shown.set_running_or_notify_cancel()
            self._headless.picture = _with_block(self._headless.picture, _MARK)
            shown.set_result((_MARK,))
        return shown

    def unmark(self) -> None:
        self.seen.append(self._headless.picture.bgrx != self.clean.bgrx)
        self._headless.picture = self.clean


def _with_block(frame: Frame, block: Rect) -> Frame:
    pixels = bytearray(frame.bgrx)
    for y in range(block.y, block.bottom):
        at = (y * frame.area.width + block.x) * 4
        pixels[at : at + block.width * 4] = b"\xff\xff\xff\x00" * block.width
    return replace(frame, bgrx=bytes(pixels))


@pytest.fixture
def headless() -> HeadlessDesktop:
    return HeadlessDesktop()


async def test_the_mark_shows_before_the_press_and_is_no_effect_of_it(headless: HeadlessDesktop) -> None:
    marker = _Marker(headless)
    desktop = Desktop(headless.backend, marker)
    try:
        for _ in range(2):
            result = await Tools(desktop)("computer_click", x=300, y=200)
            assert (result.payload["verdict"], result.payload["proof"]) == ("unchanged", "suspected no-op")
        # The pointer had moved there from the corner, and nothing was pressed.
        assert marker.log[0] == (Rect(300, 200, 1, 1), "", Point(0, 0), 1)
        assert headless.done == _PRESS * 2
        assert marker.seen == [True, True]
    finally:
        desktop.close()


class _Menu:
    """A pointer whose press opens a menu: where the mark was, and nowhere else."""

    def __init__(self, headless: HeadlessDesktop, pointer: Pointer) -> None:
        self._headless = headless
        self._pointer = pointer

    def __getattr__(self, name: str) -> object:
        return getattr(self._pointer, name)

    def button(self, button: Button, *, down: bool) -> None:
        self._pointer.button(button, down=down)
        if not down:
            self._headless.picture = _with_block(self._headless.picture, Rect(290, 190, 20, 20))


async def test_what_an_act_changes_only_where_its_mark_was_is_seen(headless: HeadlessDesktop) -> None:
    def backend(stop: StopFlag) -> Backend:
        made = headless.backend(stop)
        return replace(made, pointer=cast(Pointer, _Menu(headless, made.pointer)))

    desktop = Desktop(backend, _Marker(headless))

    async def glance(controller: DesktopController) -> Frame:
        return await controller.screen_capture.glance(_MARK)

    try:
        result = await Tools(desktop)("computer_click", x=300, y=200)
        assert result.payload["verdict"] == "changed"
        frame = await desktop.run(glance)
        assert bytes(frame.bgrx).count(b"\xff\xff\xff\x00") == 400
    finally:
        desktop.close()


async def test_the_act_does_not_wait_for_a_presence_that_is_busy(headless: HeadlessDesktop) -> None:
    marker = _Marker(headless, is_busy=True)
    desktop = Desktop(headless.backend, marker)
    try:
        await Tools(desktop)("computer_click", x=300, y=200)
        assert headless.done == _PRESS
        assert marker.asked[0].cancelled()
    finally:
        desktop.close()
