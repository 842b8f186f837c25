"""The monitors and their pixels, in logical pixels: a scaled output is captured and scaled down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Frame
from app.desktop.capture import part_of
from app.desktop.wayland.compositor import IMAGE_COPY, IMAGE_SOURCE, Compositor, Output
from app.desktop.wayland.copying import Buffer, Copier

_PIXEL = 4
_POINTER_PX = 16
_MIRRORED = 4


class Monitors(ABC):
    """The monitors of a compositor. What captures one of them comes from the classes below it."""

    def __init__(self, compositor: Compositor) -> None:
        self._compositor = compositor

    def monitors(self) -> tuple[Rect, ...]:
        areas = sorted((output.area for output in self._outputs()), key=lambda area: (area.x, area.y))
        return tuple(areas)

    def extent(self) -> Rect:
        areas = self.monitors()
        left, top = min(area.x for area in areas), min(area.y for area in areas)
        right, bottom = max(area.right for area in areas), max(area.bottom for area in areas)
        return Rect(left, top, right - left, bottom - top)

    @abstractmethod
    def grab(self, area: Rect) -> Frame:
        """Capture a part of the extent."""

    def _joined(self, area: Rect, captured: Callable[[Output, Rect], Frame]) -> Frame:
        """`captured` gives the part on each monitor."""
        if area.overlap(self.extent()) != area:
            raise ToolFailed("That part lies outside of the screen.")
        parts = [(shown, output) for output in self._outputs() if (shown := area.overlap(output.area))]
        frames = [captured(output, shown) for shown, output in parts]
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


class WaylandScreen(Monitors):
    """The monitors and their pixels."""

    def __init__(self, compositor: Compositor, copier: Copier) -> None:
        super().__init__(compositor)
        self._copier = copier
        self._has_pointer: bool | None = None

    def grab(self, area: Rect, *, with_pointer: bool = False) -> Frame:
        return self._joined(area, partial(self._captured, with_pointer=with_pointer))

    def shows_pointer(self, at: Point) -> bool:
        """Return whether captures show the pointer, which is at that point.

        A compositor leaves it out of captures only if the graphics card draws it. Then a capture with the pointer looks
        different. That is looked at once.
        """
        if self._has_pointer is None:
            around = Rect(at.x - _POINTER_PX, at.y - _POINTER_PX, 2 * _POINTER_PX, 2 * _POINTER_PX)
            shown = around.overlap(self.extent()) or around
            self._has_pointer = self.grab(shown).bgrx == self.grab(shown, with_pointer=True).bgrx
        return self._has_pointer

    def _captured(self, output: Output, area: Rect, *, with_pointer: bool) -> Frame:
        """Capture a part of an output."""
        if self._compositor.has(IMAGE_COPY):
            source = self._compositor.wire.create(self._compositor.bound(IMAGE_SOURCE), 0, "no", output.number)
            buffer, transform = self._copier.whole(source, with_pointer=with_pointer)
            return part_of(_upright(buffer, transform, output.area), area)
        inner = Rect(area.x - output.area.x, area.y - output.area.y, area.width, area.height)
        buffer, is_upside_down = self._copier.part_of_output(output.number, inner, with_pointer=with_pointer)
        return _upright(buffer, output.transform, area, is_upside_down=bool(is_upside_down))


def _upright(buffer: Buffer, transform: int, covered: Rect, *, is_upside_down: bool = False) -> Frame:
    """Turned upright, with one pixel for a logical one. It covers `covered`."""
    if not transform and not is_upside_down and buffer.size == (covered.width, covered.height):
        return Frame(covered, buffer.rows())
    from PIL import Image

    image = buffer.image()
    if is_upside_down:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    # A transform is a turn by so many times 90 degrees, of a mirrored picture from 4 on.
    # https://wayland.freedesktop.org/docs/html/apa.html#protocol-spec-wl_output-enum-transform
    by = {1: Image.Transpose.ROTATE_270, 2: Image.Transpose.ROTATE_180, 3: Image.Transpose.ROTATE_90}
    if turn := by.get(transform % _MIRRORED):
        image = image.transpose(turn)
    if transform >= _MIRRORED:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if image.size != (covered.width, covered.height):
        image = image.resize((covered.width, covered.height), Image.Resampling.BOX)
    return Frame(covered, image.tobytes("raw", "BGRX"))
