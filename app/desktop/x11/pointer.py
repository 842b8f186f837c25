"""The mouse, through XTEST."""

from __future__ import annotations

from Xlib import X
from Xlib.ext import xtest

from app.base.geometry import Point
from app.desktop.api import Button
from app.desktop.x11.connection import Connection
from app.desktop.x11.xsettings import setting

_NUMBERS = {Button.LEFT: 1, Button.MIDDLE: 2, Button.RIGHT: 3, Button.BACK: 8, Button.FORWARD: 9}
_DOUBLE_CLICK_MS = 400
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7


class X11Pointer:
    """Each event has reached the server when a method returns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def position(self) -> Point:
        told = self._connection.root.query_pointer()
        return Point(told.root_x, told.root_y)

    def double_click_s(self) -> float:
        """As the desktop's settings have it, else what GTK and Qt take without them."""
        told = setting(self._connection, "Net/DoubleClickTime")
        return (told or _DOUBLE_CLICK_MS) / 1000

    def move(self, to: Point) -> None:
        self._send(X.MotionNotify, x=to.x, y=to.y)

    def button(self, button: Button, *, down: bool) -> None:
        self._send(X.ButtonPress if down else X.ButtonRelease, _NUMBERS[button])

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
