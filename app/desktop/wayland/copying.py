"""Pictures of outputs and windows, by wlr-screencopy or by its successor ext-image-copy-capture.

https://wayland.app/protocols/wlr-screencopy-unstable-v1, https://wayland.app/protocols/ext-image-copy-capture-v1.
A picture comes with the next frame of the output: its latency is the time between two frames.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.base.values import dataclass
from app.desktop.wayland import kernel
from app.desktop.wayland.compositor import IMAGE_COPY, SCREENCOPY, Compositor
from app.desktop.wayland.wire import Events, Wire

if TYPE_CHECKING:
    from PIL.Image import Image

_LIMIT_S = 2.0
_BGRX, _RGBX = (0, 1, 0x34325241, 0x34325258), (0x34324142, 0x34324258)
"""The formats with 32 bits a pixel: ARGB and XRGB (as 0 and 1, or by their codes), ABGR and XBGR."""
_UPSIDE_DOWN = 1
_PIXEL = 4


@dataclass(slots=True)
class _Shape:
    """A buffer's layout. `format_` is None until one was told that is understood here."""

    format_: int | None = None
    width: int = 0
    height: int = 0
    stride: int = 0


class Buffer:
    """A shared picture that the compositor copies into, kept as long as its shape stays the same."""

    def __init__(self, compositor: Compositor, wire: Wire, shape: _Shape) -> None:
        length = shape.stride * shape.height
        self._wire, self._shape = wire, shape
        self.size = (shape.width, shape.height)
        handle = kernel.memory("wisp-capture", length)
        try:
            self._pixels = mmap.mmap(handle, length)
            pool = wire.create(compositor.shm(), 0, "nhi", handle, length)
            layout = (0, shape.width, shape.height, shape.stride, shape.format_)
            self.number = wire.create(pool, 0, "niiiiu", *layout)
            wire.send(pool, 1)
            wire.flush()
        finally:
            os.close(handle)

    def fits(self, shape: _Shape) -> bool:
        return self._shape == shape

    def drop(self) -> None:
        self._wire.send(self.number, 0)
        self._pixels.close()

    def rows(self) -> bytes:
        """Rows of blue, green, red, unused, without padding."""
        row = self._shape.width * _PIXEL
        if self._shape.stride == row and self._shape.format_ in _BGRX:
            return self._pixels[: row * self._shape.height]
        return self.image().tobytes("raw", "BGRX")

    def image(self) -> Image:
        from PIL import Image

        order = "BGRX" if self._shape.format_ in _BGRX else "RGBX"
        return Image.frombuffer("RGB", self.size, self._pixels[:], "raw", order, self._shape.stride, 1)


class Copier:
    """Asks for pictures, one at a time. Each method returns the picture and how it is turned (wl_output.transform).

    They raise ToolFailed if the compositor gives no picture.
    """

    def __init__(self, compositor: Compositor) -> None:
        self._compositor = compositor
        self._buffer: Buffer | None = None
        compositor.on_connect(self._connected)

    def _connected(self, _wire: Wire) -> None:
        self._buffer = None

    def part_of_output(self, output: int, area: Rect, *, with_pointer: bool = False) -> tuple[Buffer, int]:
        """Copy a part of an output, in its logical pixels, by wlr-screencopy. `with_pointer` draws the pointer, too."""
        wire, shape, told, outcome, flags = self._compositor.wire, _Shape(), list[bool](), list[bool](), list[int]()

        def shaped(format_: int, width: int, height: int, stride: int) -> None:
            if format_ in (*_BGRX, *_RGBX):
                shape.format_, shape.width, shape.height, shape.stride = format_, width, height, stride
            if self._compositor.version(SCREENCOPY) < 3:
                told.append(True)

        events: Events = {
            0: ("uuuu", shaped),
            1: ("u", flags.append),
            2: ("uuu", lambda *_: outcome.append(True)),
            3: ("", lambda: outcome.append(False)),
            6: ("", lambda: told.append(True)),
        }
        place = (area.x, area.y, area.width, area.height)
        frame = wire.create(
            self._compositor.bound(SCREENCOPY), 1, "nioiiii", with_pointer, output, *place, events=events
        )
        buffer = self._ready(wire, shape, lambda: bool(told or outcome))
        wire.send(frame, 0, "o", buffer.number)
        self._wait(wire, outcome)
        wire.send(frame, 1)
        return buffer, _UPSIDE_DOWN if flags and flags[0] & _UPSIDE_DOWN else 0

    def whole(self, source: int, *, with_pointer: bool = False) -> tuple[Buffer, int]:
        """Copy a whole output or window from its source object, by ext-image-copy-capture. Ends the source.

        `with_pointer` draws the pointer, too.
        """
        wire, shape, told, outcome, turned = self._compositor.wire, _Shape(), list[bool](), list[bool](), list[int]()

        def sized(width: int, height: int) -> None:
            shape.width, shape.height, shape.stride = width, height, width * _PIXEL

        def offered(format_: int) -> None:
            if format_ in (*_BGRX, *_RGBX) and shape.format_ not in _BGRX:
                shape.format_ = format_

        shapes: Events = {
            0: ("uu", sized),
            1: ("u", offered),
            4: ("", lambda: told.append(True)),
            5: ("", lambda: outcome.append(False)),
        }
        results: Events = {
            0: ("u", turned.append),
            3: ("", lambda: outcome.append(True)),
            4: ("u", lambda _: outcome.append(False)),
        }
        session = wire.create(self._compositor.bound(IMAGE_COPY), 0, "nou", source, with_pointer, events=shapes)
        try:
            buffer = self._ready(wire, shape, lambda: bool(told or outcome))
            frame = wire.create(session, 0, "n", events=results)
            wire.send(frame, 1, "o", buffer.number)
            wire.send(frame, 2, "iiii", 0, 0, shape.width, shape.height)
            wire.send(frame, 3)
            self._wait(wire, outcome)
            wire.send(frame, 0)
        finally:
            wire.send(session, 1)
            wire.send(source, 0)
        return buffer, turned[0] if turned else 0

    def _ready(self, wire: Wire, shape: _Shape, is_told: Callable[[], bool]) -> Buffer:
        if not wire.wait(is_told, _LIMIT_S) or shape.format_ is None or not shape.width:
            raise ToolFailed("The desktop gives no picture that Wisp can read.", transient=True)
        if self._buffer is None or not self._buffer.fits(shape):
            if self._buffer:
                self._buffer.drop()
            self._buffer = Buffer(self._compositor, wire, shape)
        return self._buffer

    def _wait(self, wire: Wire, outcome: list[bool]) -> None:
        if not wire.wait(lambda: bool(outcome), _LIMIT_S) or not outcome[0]:
            raise ToolFailed(
                "The desktop gave no picture of the screen. Switch the monitor on, then try again.", transient=True
            )
