"""Captures, by wlr-screencopy or by its successor ext-image-copy-capture, in logical pixels.

https://wayland.app/protocols/wlr-screencopy-unstable-v1, https://wayland.app/protocols/ext-image-copy-capture-v1.
A capture comes with the output's next frame: its latency is the time between two frames.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Rect
from app.base.values import dataclass
from app.desktop.backends import Frame
from app.desktop.capture import part_of
from app.desktop.wayland.compositor import IMAGE_COPY, IMAGE_SOURCE, SCREENCOPY, Compositor, Output
from app.desktop.wayland.wire import Events, Wire

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


class _Buffer:
    """A shared picture that the compositor copies into, kept as long as its shape stays the same."""

    def __init__(self, compositor: Compositor, wire: Wire, shape: _Shape) -> None:
        size = shape.stride * shape.height
        self._wire, self.shape = wire, shape
        handle = os.memfd_create("wisp-capture", os.MFD_CLOEXEC)
        try:
            os.ftruncate(handle, size)
            self.pixels = mmap.mmap(handle, size)
            pool = wire.create(compositor.shm(), 0, "nhi", handle, size)
            layout = (0, shape.width, shape.height, shape.stride, shape.format_)
            self.number = wire.create(pool, 0, "niiiiu", *layout)
            wire.send(pool, 1)
            wire.flush()
        finally:
            os.close(handle)

    def drop(self) -> None:
        self._wire.send(self.number, 0)
        self.pixels.close()


class WaylandScreen:
    """The monitors and their pixels. Coordinates are logical pixels: a scaled output is captured and scaled down."""

    def __init__(self, compositor: Compositor) -> None:
        self._compositor = compositor
        self._buffer: _Buffer | None = None
        compositor.on_connect(self._connected)

    def _connected(self, _wire: Wire) -> None:
        self._buffer = None

    def monitors(self) -> tuple[Rect, ...]:
        areas = sorted((output.area for output in self._outputs()), key=lambda area: (area.x, area.y))
        return tuple(areas)

    def extent(self) -> Rect:
        areas = self.monitors()
        left, top = min(area.x for area in areas), min(area.y for area in areas)
        right, bottom = max(area.right for area in areas), max(area.bottom for area in areas)
        return Rect(left, top, right - left, bottom - top)

    def grab(self, area: Rect) -> Frame:
        parts = [(shown, output) for output in self._outputs() if (shown := area.overlap(output.area))]
        frames = [self._captured(output, shown) for shown, output in parts]
        if len(frames) == 1 and frames[0].area == area:
            return frames[0]
        whole = bytearray(area.size.area * _PIXEL)
        for frame in frames:
            row = frame.area.width * _PIXEL
            for line in range(frame.area.height):
                start = ((frame.area.y - area.y + line) * area.width + frame.area.x - area.x) * _PIXEL
                whole[start : start + row] = frame.bgrx[line * row : line * row + row]
        return Frame(area, whole)

    def _outputs(self) -> list[Output]:
        outputs = self._compositor.outputs()
        if not outputs:
            raise NeedsPerson("No monitor is on, so nothing of the screen can be seen. Switch one on, then ask again.")
        return outputs

    def _captured(self, output: Output, area: Rect) -> Frame:
        """Capture a part of an output. Raises ToolFailed if the compositor gives no picture."""
        wire = self._compositor.wire
        by = self._by_session if self._compositor.has(IMAGE_COPY) else self._by_screencopy
        wanted = Rect(area.x - output.area.x, area.y - output.area.y, area.width, area.height)
        buffer, turned, is_whole = by(wire, output, wanted)
        covered = output.area if is_whole else area
        if turned == 0 and (buffer.shape.width, buffer.shape.height) == (covered.width, covered.height):
            return part_of(Frame(covered, _rows(buffer)), area) if is_whole else Frame(area, _rows(buffer))
        return _fitted(buffer, turned, covered, area)

    def _by_screencopy(self, wire: Wire, output: Output, area: Rect) -> tuple[_Buffer, int, bool]:
        """Return the picture of a part of an output, how it is turned, and whether it is the whole output."""
        shape, told, outcome = _Shape(), list[bool](), list[bool]()
        flags = list[int]()

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
        manager = self._compositor.bound(SCREENCOPY)
        frame = wire.create(manager, 1, "nioiiii", 0, output.number, *place, events=events)
        buffer = self._ready(wire, shape, lambda: bool(told or outcome))
        wire.send(frame, 0, "o", buffer.number)
        is_there = wire.wait(lambda: bool(outcome), _LIMIT_S) and outcome[0]
        wire.send(frame, 1)
        if not is_there:
            raise ToolFailed("The compositor gave no picture of the screen. Is the monitor on?", transient=True)
        is_upside_down = bool(flags and flags[0] & _UPSIDE_DOWN)
        return buffer, _turned(output.transform, is_upside_down=is_upside_down), False

    def _by_session(self, wire: Wire, output: Output, _area: Rect) -> tuple[_Buffer, int, bool]:
        shape, told, outcome, turned = _Shape(), list[bool](), list[bool](), list[int]()

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
        source = wire.create(self._compositor.bound(IMAGE_SOURCE), 0, "no", output.number)
        session = wire.create(self._compositor.bound(IMAGE_COPY), 0, "nou", source, 0, events=shapes)
        buffer = self._ready(wire, shape, lambda: bool(told or outcome))
        frame = wire.create(session, 0, "n", events=results)
        wire.send(frame, 1, "o", buffer.number)
        wire.send(frame, 2, "iiii", 0, 0, shape.width, shape.height)
        wire.send(frame, 3)
        is_there = wire.wait(lambda: bool(outcome), _LIMIT_S) and outcome[0]
        for number, opcode in ((frame, 0), (session, 1), (source, 0)):
            wire.send(number, opcode)
        if not is_there:
            raise ToolFailed("The compositor gave no picture of the screen. Is the monitor on?", transient=True)
        return buffer, turned[0] if turned else output.transform, True

    def _ready(self, wire: Wire, shape: _Shape, is_told: Callable[[], bool]) -> _Buffer:
        if not wire.wait(is_told, _LIMIT_S) or shape.format_ is None:
            raise ToolFailed("The compositor offers no picture of the screen that Wisp can read.", transient=True)
        if self._buffer is None or self._buffer.shape != shape:
            if self._buffer:
                self._buffer.drop()
            self._buffer = _Buffer(self._compositor, wire, shape)
        return self._buffer

    def close(self) -> None:
        self._buffer = None


def _turned(transform: int, *, is_upside_down: bool) -> int:
    """Return the transform of a picture that may be upside down: turned by 180 degrees and mirrored."""
    return transform if not is_upside_down else (transform ^ 4) ^ 2 if transform % 2 == 0 else transform ^ 4


def _rows(buffer: _Buffer) -> bytes:
    """Return the pixels as rows of blue, green, red, unused, without padding."""
    shape = buffer.shape
    row = shape.width * _PIXEL
    if shape.stride == row and shape.format_ in _BGRX:
        return buffer.pixels[: row * shape.height]
    from PIL import Image

    order = "BGRX" if shape.format_ in _BGRX else "RGBX"
    size = (shape.width, shape.height)
    image = Image.frombuffer("RGB", size, buffer.pixels[:], "raw", order, shape.stride, 1)
    return image.convert("RGBX").tobytes("raw", "BGRX") if order == "BGRX" else image.tobytes("raw", "BGRX")


def _fitted(buffer: _Buffer, turned: int, covered: Rect, area: Rect) -> Frame:
    """Return the part `area` of a picture that covers `covered`: turned upright, with one pixel for a logical one."""
    from PIL import Image

    shape, order = buffer.shape, "BGRX" if buffer.shape.format_ in _BGRX else "RGBX"
    size = (shape.width, shape.height)
    image = Image.frombuffer("RGB", size, buffer.pixels[:], "raw", order, shape.stride, 1)
    # A transform is a turn by so many times 90 degrees, of a mirrored picture from 4 on.
    # https://wayland.freedesktop.org/docs/html/apa.html#protocol-spec-wl_output-enum-transform
    if turned % 4:
        by = {1: Image.Transpose.ROTATE_270, 2: Image.Transpose.ROTATE_180, 3: Image.Transpose.ROTATE_90}
        image = image.transpose(by[turned % 4])
    if turned >= 4:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if image.size != (covered.width, covered.height):
        image = image.resize((covered.width, covered.height), Image.Resampling.BOX)
    left, top = area.x - covered.x, area.y - covered.y
    image = image.crop((left, top, left + area.width, top + area.height))
    return Frame(area, image.tobytes("raw", "BGRX"))
