"""The mouse, through XTEST, and screen captures."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import mss
from mss.base import MSS
from mss.exception import ScreenShotError
from Xlib import X
from Xlib.error import XError
from Xlib.ext import xtest

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Button, Frame, WindowCame
from app.desktop.x11.connection import Connection

_NUMBERS = {Button.LEFT: 1, Button.MIDDLE: 2, Button.RIGHT: 3, Button.BACK: 8, Button.FORWARD: 9}
_DOUBLE_CLICK_MS = 400  # the default of GTK and Qt, because a bare X server has no setting
_INTEGER, _STRING = 0, 1
_COLOR_BYTES = 8
_MOST_WORDS = 1 << 16
_DRAWN = Rect(0, 0, 8, 8)
_DRAWN_LOOKS, _DRAWN_LOOK_S = 100, 0.02
_COLOR = 0x123456
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7  # X11 has no events for the wheel: each notch is a press of one of these buttons


class X11Pointer:
    """The mouse. The server has received each event when a method returns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def position(self) -> Point:
        told = self._connection.root.query_pointer()
        return Point(told.root_x, told.root_y)

    def double_click_s(self) -> float:
        """Return the desktop's double-click time, or the default of GTK and Qt."""
        told = _setting(self._connection, "Net/DoubleClickTime")
        return (told or _DOUBLE_CLICK_MS) / 1000

    def move(self, to: Point) -> None:
        self._send(X.MotionNotify, x=to.x, y=to.y)

    @contextmanager
    def only_at(self, place: str) -> Iterator[None]:
        """Grab the server: until the end, it serves no other program, so no window can open in between."""
        connection = self._connection
        connection.display.grab_server()
        try:
            at = connection.root.query_pointer()
            chain = connection.chain_at(at.root_x, at.root_y)
            if place not in ([f"{number:x}" for number in chain] or [""]):
                raise WindowCame
            yield
        finally:
            connection.display.ungrab_server()
            connection.display.sync()

    def button(self, button: Button, *, down: bool) -> None:
        self._send(X.ButtonPress if down else X.ButtonRelease, _NUMBERS[button])
        bit = X.Button1Mask << _NUMBERS[button] - 1
        held = self._connection.held_buttons
        self._connection.held_buttons = held | bit if down else held & ~bit

    def scroll(self, dx: int, dy: int) -> None:
        if dy:
            self._turn(_DOWN if dy > 0 else _UP)
        if dx:
            self._turn(_RIGHT if dx > 0 else _LEFT)

    def _turn(self, number: int) -> None:
        self._send(X.ButtonPress, number)
        self._send(X.ButtonRelease, number)

    def _send(self, kind: int, detail: int = 0, *, x: int = 0, y: int = 0) -> None:
        display = self._connection.display
        xtest.fake_input(display, kind, detail, x=x, y=y)
        display.sync()


class X11Screen:
    """The monitors, as RANDR reports them. A failed capture handle is opened again: a monitor may have changed."""

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
        except ScreenShotError:  # Open a new connection, because one that failed once stays broken.
            self.close()
        try:
            return self._grabbed(area)
        except ScreenShotError as error:
            raise ToolFailed(f"The screen could not be captured: {error}.", transient=True) from None

    def _grabbed(self, area: Rect) -> Frame:
        if self._handle is None:
            name = self._connection.display.get_display_name()
            # A handle of this thread's own, because Xlib crashed where two threads shared one:
            # https://github.com/BoboTiG/python-mss/issues/169
            self._handle = mss.MSS(display=name)
        wanted = {"left": area.x, "top": area.y, "width": area.width, "height": area.height}
        return Frame(area, self._handle.grab(wanted).raw)

    async def shows_drawing(self) -> bool:
        """Draw a small window, and return whether a capture shows it in time: a compositor paints late."""
        place = (_DRAWN.x, _DRAWN.y, _DRAWN.width, _DRAWN.height, 0, X.CopyFromParent)
        window = self._connection.root.create_window(*place, override_redirect=True, background_pixel=_COLOR)
        window.map()
        self._connection.display.sync()
        try:
            for _ in range(_DRAWN_LOOKS):
                if _is_drawn(self.grab(_DRAWN)):
                    return True
                await asyncio.sleep(_DRAWN_LOOK_S)
            return False
        finally:
            window.destroy()
            self._connection.display.sync()

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def _is_drawn(frame: Frame) -> bool:
    """True if the whole frame has the colour of the window that was drawn there."""
    pixel = _COLOR.to_bytes(3, "little")
    return all(frame.bgrx[start : start + 3] == pixel for start in range(0, len(frame.bgrx), 4))


def _setting(connection: Connection, name: str) -> int | None:
    """None if it is not set. See https://specifications.freedesktop.org/xsettings-spec/"""
    number = connection.display.get_default_screen()
    owner = connection.display.get_selection_owner(connection.atom(f"_XSETTINGS_S{number}"))
    if owner == X.NONE:
        return None
    try:
        told = owner.get_property(connection.atom("_XSETTINGS_SETTINGS"), X.AnyPropertyType, 0, _MOST_WORDS)
    except XError:  # because the owner of the settings ended meanwhile
        return None
    return _number(bytes(told.value), name.encode()) if told is not None else None


def _number(data: bytes, wanted: bytes) -> int | None:
    """From XSETTINGS' binary format; None if the number is missing or the data is broken."""
    order = "<" if data[:1] == b"\0" else ">"
    place = 12
    try:
        for _ in range(struct.unpack_from(f"{order}I", data, 8)[0]):
            kind, length = struct.unpack_from(f"{order}BxH", data, place)
            name = data[place + 4 : place + 4 + length]
            place += 4 + _padded(length) + 4
            if kind == _INTEGER:
                value = int(struct.unpack_from(f"{order}i", data, place)[0])
                if name == wanted:
                    return value
                place += 4
            elif kind == _STRING:
                place += 4 + _padded(struct.unpack_from(f"{order}I", data, place)[0])
            else:
                place += _COLOR_BYTES
    except struct.error:
        return None
    return None


def _padded(length: int) -> int:
    return length + -length % 4
