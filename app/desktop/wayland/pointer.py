"""The mouse: as a virtual pointer of the compositor, or as what the desktop's portal gives (`ei.py`).

https://wayland.app/protocols/wlr-virtual-pointer-unstable-v1
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Button, WindowCame
from app.desktop.wayland.compositor import POINTER, Compositor
from app.desktop.wayland.wire import Wire

# https://github.com/torvalds/linux/blob/master/include/uapi/linux/input-event-codes.h
_CODES = {
    Button.LEFT: 0x110, Button.RIGHT: 0x111, Button.MIDDLE: 0x112, Button.BACK: 0x113, Button.FORWARD: 0x114,
}  # fmt: skip
_NEW_PRESS_MS, _NEW_PRESS_PX = 1000, 6
"""GTK 3 takes a release in a menu for the end of the click that opened it, if it comes within 500 ms after that.

MENU_SHELL_TIMEOUT: https://gitlab.gnome.org/GNOME/gtk/-/blob/gtk-3-24/gtk/gtkmenushell.c
"""
_DOUBLE_CLICK_S = 0.4  # the default of GTK and Qt, because a compositor has no setting
_MOTION, _BUTTON, _FRAME, _SOURCE, _NOTCH = 1, 2, 4, 5, 7
_WHEEL, _VERTICAL, _HORIZONTAL = 0, 0, 1
_NOTCH_PX = 15.0  # what libinput reports for one notch of a wheel


def now_ms() -> int:
    """For an event: milliseconds, in 32 bits."""
    return time.monotonic_ns() // 1_000_000 & 0xFFFFFFFF


class Mouse(Protocol):
    """Sends the events of a mouse. `ahead_ms` is how much later than now an event is said to have happened."""

    def move(self, to: Point, ahead_ms: int) -> None: ...

    def button(self, code: int, *, down: bool, ahead_ms: int) -> None:
        """Press or release a button, by the kernel's code of it."""
        ...

    def notch(self, dx: int, dy: int, ahead_ms: int) -> None:
        """Turn the wheel by one notch, right or down."""
        ...

    def sync(self) -> None:
        """Wait until the compositor has handled all that was sent."""
        ...


class VirtualPointer:
    """The mouse of wlr-virtual-pointer. `extent` returns the rectangle of all monitors."""

    def __init__(self, compositor: Compositor, extent: Callable[[], Rect]) -> None:
        self._compositor = compositor
        self._extent = extent
        self._device = 0
        compositor.on_connect(self._connected)

    def _connected(self, wire: Wire) -> None:
        self._device = 0
        if self._compositor.has(POINTER):
            self._device = wire.create(self._compositor.bound(POINTER), 0, "on", self._compositor.seat())

    def move(self, to: Point, ahead_ms: int) -> None:
        extent = self._extent()
        # The middle of the pixel, in halves of a pixel: the compositor computes a fraction of the whole.
        place = (2 * (to.x - extent.x) + 1, 2 * (to.y - extent.y) + 1, 2 * extent.width, 2 * extent.height)
        self._send(_MOTION, "uuuuu", _later(ahead_ms), *place)

    def button(self, code: int, *, down: bool, ahead_ms: int) -> None:
        self._send(_BUTTON, "uuu", _later(ahead_ms), code, down)

    def notch(self, dx: int, dy: int, ahead_ms: int) -> None:
        axis = _HORIZONTAL if dx else _VERTICAL
        self._send(_SOURCE, "u", _WHEEL)
        self._send(_NOTCH, "uufi", _later(ahead_ms), axis, (dx or dy) * _NOTCH_PX, dx or dy)

    def _send(self, opcode: int, signature: str, *arguments: float) -> None:
        wire = self._compositor.wire
        if not self._device:
            raise NeedsPerson(
                "This desktop does not let Wisp move the pointer (wlr-virtual-pointer "
                "is missing). What to do: wisp doctor"
            )
        wire.send(self._device, opcode, signature, *arguments)

    def sync(self) -> None:
        """End the event: programs get nothing before that."""
        self._send(_FRAME, "")
        self._compositor.wire.roundtrip()


def _later(ahead_ms: int) -> int:
    return now_ms() + ahead_ms & 0xFFFFFFFF


class WaylandPointer:
    """The mouse. Few compositors tell where the pointer is: elsewhere, after a hand moved it, nobody knows.

    `where` returns what the compositor tells, `under` the place of the window at a point. `sent` is called for each
    event, and gets whether it may have moved a window.
    """

    def __init__(
        self,
        mouse: Mouse,
        where: Callable[[], Point | None],
        under: Callable[[Point], str],
        sent: Callable[[bool], None],
    ) -> None:
        self._mouse = mouse
        self._where = where
        self._under = under
        self._sent = sent
        self._at: Point | None = None
        self._pressed: tuple[int, Point | None] = (0, None)
        self._ahead_ms = 0

    def moved_by_hand(self) -> None:
        """Note that nobody knows where the pointer is, until the next `move`."""
        self._at = None

    def position(self) -> Point | None:
        return self._at or self._where()

    def double_click_s(self) -> float:
        return _DOUBLE_CLICK_S

    def move(self, to: Point) -> None:
        self._mouse.move(to, self._ahead_ms)
        self._done()
        self._at = to

    @contextmanager
    def only_at(self, place: str) -> Iterator[None]:
        """Look once more which window is there. A compositor cannot be held still, so one may come even after that."""
        if self._at is None:
            raise ToolFailed("Somebody moved the pointer by hand at this moment.", "Look again before you go on.")
        if self._under(self._at) != place:
            raise WindowCame
        yield

    def button(self, button: Button, *, down: bool) -> None:
        if down:
            self._date_press()
        self._mouse.button(_CODES[button], down=down, ahead_ms=self._ahead_ms)
        self._done(may_move=not down)

    def _date_press(self) -> None:
        """Let a press at another place than the last one be as late as a person's: programs judge by the events' time.

        So nobody has to wait. Presses at one place keep their time, because they may be a double click.
        """
        last_ms, place = self._pressed
        if place and self._at and max(abs(self._at.x - place.x), abs(self._at.y - place.y)) > _NEW_PRESS_PX:
            self._ahead_ms += max(last_ms + _NEW_PRESS_MS - _later(self._ahead_ms), 0)
        self._pressed = _later(self._ahead_ms), self._at

    def scroll(self, dx: int, dy: int) -> None:
        for notch in ((0, dy), (dx, 0)):
            if any(notch):
                self._mouse.notch(*notch, self._ahead_ms)
                self._done()

    def _done(self, *, may_move: bool = False) -> None:
        self._sent(may_move)
        self._mouse.sync()
