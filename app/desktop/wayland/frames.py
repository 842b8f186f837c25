"""The monitors and their pixels, as PipeWire streams that a portal opened.

https://docs.pipewire.org. A picture comes only when something on its monitor changes, so the last one counts until
then. The mark by which a desktop says that the screen is shared lies in every picture, and never comes or goes.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Frame
from app.desktop.capture import part_of
from app.desktop.wayland.compositor import Compositor, Output
from app.desktop.wayland.portal import Stream
from app.desktop.wayland.screen import Monitors

if TYPE_CHECKING:
    from pipewire_capture import CaptureStream

_FIRST_S, _TRIES, _LOOK_AGAIN_S = 3.0, 4, 0.02
_PIXEL = 4


class PortalScreen(Monitors):
    """The monitors that the person shared. Before a session is open, all of them, without pixels."""

    def __init__(self, compositor: Compositor) -> None:
        super().__init__(compositor)
        self._streams: dict[Rect, CaptureStream] = {}
        self._shown: dict[Rect, Any] = {}

    async def begin(self, connect: Callable[[], int], streams: tuple[Stream, ...]) -> None:
        """Show these streams, each by a connection of its own, and wait for the first picture of each.

        Raises NeedsPerson if none comes.
        """
        for _ in range(_TRIES):
            self._open(connect, streams)
            if await self._has_begun():
                return
            # The first picture of a screen on which nothing moves can be missed.
        why = next((stream.error for stream in self._streams.values() if stream.error), "")
        raise NeedsPerson(f"The desktop shared its screen, but no picture came. {why or ''}".strip())

    def _open(self, connect: Callable[[], int], streams: tuple[Stream, ...]) -> None:
        try:
            from pipewire_capture import CaptureStream  # late, because it brings numpy and needs PipeWire's library
        except ImportError as error:
            raise NeedsPerson(f"The screen cannot be captured ({error}). Install libpipewire-0.3.") from None

        self.end()
        for stream in streams:
            handle = connect()
            shown = self._streams[stream.area] = CaptureStream(
                handle, stream.node, stream.area.width, stream.area.height, 0.0
            )
            os.close(handle)  # it has a copy; while this one is open, PipeWire takes the stream for a living one
            shown.start()

    async def _has_begun(self) -> bool:
        until = time.monotonic() + _FIRST_S
        while not all(self._picture(area) is not None for area in self._streams):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        return True

    def end(self) -> None:
        for stream in self._streams.values():
            stream.stop()
        self._streams.clear()
        self._shown.clear()

    def monitors(self) -> tuple[Rect, ...]:
        shared = tuple(sorted(self._streams, key=lambda area: (area.x, area.y)))
        return shared or super().monitors()

    def shows_pointer(self, at: Point) -> bool:  # noqa: ARG002 - the session asked for pictures without it
        return False

    def _outputs(self) -> list[Output]:
        return [Output(0, area=area) for area in self._streams] or super()._outputs()

    def grab(self, area: Rect) -> Frame:
        return self._joined(area, self._captured)

    def _captured(self, output: Output, area: Rect) -> Frame:
        picture = self._picture(output.area)
        if picture is None:
            raise ToolFailed("The desktop does not share its screen with Wisp now.", transient=True)
        height, width, _ = picture.shape
        if (width, height) == (output.area.width, output.area.height):
            left, top = area.x - output.area.x, area.y - output.area.y
            return Frame(area, picture[top : top + area.height, left : left + area.width].tobytes())
        from PIL import Image

        image = Image.frombytes("RGB", (width, height), picture.tobytes(), "raw", "BGRX")
        image = image.resize((output.area.width, output.area.height), Image.Resampling.BOX)
        return part_of(Frame(output.area, image.tobytes("raw", "BGRX")), area)

    def _picture(self, area: Rect) -> Any:
        """Rows of pixels of blue, green, red and another byte; None if there is no picture."""
        stream = self._streams.get(area)
        if stream is not None and not stream.window_invalid and (new := stream.get_frame()) is not None:
            self._shown[area] = new
        return self._shown.get(area)
