"""A streamed screen shows Wisp's windows for some moments after they are gone: no capture has them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from app.base.geometry import Rect
from app.desktop.backends import Backend, Frame
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.headless import HeadlessDesktop
from app.desktop.takeover import StopFlag
from tests.unit.desktop.test_marks import _Marker

_LATE_S = 0.12
_AREA = Rect(0, 0, 4, 1)
_ORB = (Frame(_AREA, b"orb 1..........."), Frame(_AREA, b"orb 2..........."))
_BARE = Frame(_AREA, b"................")


class _LateCurtain(_Marker):
    """Draws back at once, and the stream shows a last step of the orb, and only then the program below."""

    def covers(self, area: Rect) -> bool:
        return True

    @contextmanager
    def drawn_back(self, area: Rect) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for after_s, frame in ((_LATE_S, _ORB[1]), (_LATE_S + 0.03, _BARE)):
            loop.call_later(after_s, setattr, self._headless, "picture", frame)
        yield


async def test_a_capture_waits_for_the_picture_that_is_newer_than_the_hiding() -> None:
    headless = HeadlessDesktop()
    headless.picture = _ORB[0]

    def backend(stop: StopFlag) -> Backend:
        return replace(headless.backend(stop), is_streamed=True)

    async def glance(controller: DesktopController) -> Frame:
        return await controller.screen_capture.glance(_AREA)

    desktop = Desktop(backend, _LateCurtain(headless))
    try:
        assert (await desktop.run(glance)).bgrx == _BARE.bgrx
    finally:
        desktop.close()
