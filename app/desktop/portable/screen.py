"""Seeing, by mss. Sizes come from what was grabbed: on scaled screens the system's own figures may be others."""

from __future__ import annotations

import mss
from mss.base import MSS
from mss.exception import ScreenShotError

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.api import Frame


class PortableScreen:
    """One handle kept open. The first monitor of mss is the rectangle around all of them."""

    def __init__(self) -> None:
        self._handle: MSS | None = None

    def _open(self) -> MSS:
        if self._handle is None:
            self._handle = mss.MSS()
        return self._handle

    def monitors(self) -> tuple[Rect, ...]:
        return tuple(_rect(monitor) for monitor in self._open().monitors[1:])

    def extent(self) -> Rect:
        return _rect(self._open().monitors[0])

    def grab(self, area: Rect) -> Frame:
        wanted = {"left": area.x, "top": area.y, "width": area.width, "height": area.height}
        try:
            shot = self._open().grab(wanted)
        except ScreenShotError as error:
            self.close()
            raise ToolFailed(f"The screen could not be captured: {error}.", transient=True) from None
        if (shot.width, shot.height) == (area.width, area.height):
            return Frame(area, bytes(shot.raw))
        return Frame(area, _resized(bytes(shot.raw), (shot.width, shot.height), (area.width, area.height)))

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def _rect(monitor: dict[str, int]) -> Rect:
    return Rect(monitor["left"], monitor["top"], monitor["width"], monitor["height"])


def _resized(bgrx: bytes, size: tuple[int, int], wanted: tuple[int, int]) -> bytes:
    """Retina grabs have more pixels than the points that the pointer moves in; frames are in the pointer's."""
    from PIL import Image

    return Image.frombytes("RGBX", size, bgrx).resize(wanted, Image.Resampling.BOX).tobytes()
