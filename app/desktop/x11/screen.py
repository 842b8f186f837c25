"""Seeing: mss with its shared-memory backend, one handle kept open."""

from __future__ import annotations

import mss
from mss.base import MSS
from mss.exception import ScreenShotError

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.api import Frame
from app.desktop.x11.connection import Connection


class X11Screen:
    """The monitors as RANDR tells them; a handle that fails once (a monitor was plugged in) is opened anew."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._handle: MSS | None = None

    def monitors(self) -> tuple[Rect, ...]:
        root = self._connection.root
        if not self._connection.display.has_extension("RANDR"):
            return (self.extent(),)
        told = root.xrandr_get_monitors(is_active=True).monitors
        found = sorted(told, key=lambda m: (not m.primary, m.x, m.y))
        areas = tuple(Rect(m.x, m.y, m.width_in_pixels, m.height_in_pixels) for m in found)
        return areas or (self.extent(),)

    def extent(self) -> Rect:
        shape = self._connection.root.get_geometry()
        return Rect(0, 0, shape.width, shape.height)

    def grab(self, area: Rect) -> Frame:
        try:
            return self._grabbed(area)
        except ScreenShotError:
            self.close()
        try:
            return self._grabbed(area)
        except ScreenShotError as error:
            raise ToolFailed(f"The screen could not be captured: {error}.", transient=True) from None

    def _grabbed(self, area: Rect) -> Frame:
        if self._handle is None:
            name = self._connection.display.get_display_name()
            self._handle = mss.MSS(display=name)
        wanted = {"left": area.x, "top": area.y, "width": area.width, "height": area.height}
        return Frame(area, self._handle.grab(wanted).raw)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None
