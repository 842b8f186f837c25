"""Pictures of single windows, and where they lie: a compositor that tells no places still shows them.

https://wayland.app/protocols/ext-foreign-toplevel-list-v1, https://wayland.app/protocols/ext-image-capture-source-v1.
A window lies where its picture is found in the picture of the screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.base.values import dataclass
from app.desktop.backends import Frame
from app.desktop.wayland.compositor import TOPLEVEL_LIST, TOPLEVEL_SOURCE, Compositor
from app.desktop.wayland.copying import Copier
from app.desktop.wayland.wire import Wire

_STRIP_PX = 64
_STRIDE = 37  # a prime, so that the rows that are looked at first are spread over the window
_LEAST_COLOURS = 4
"""A strip of fewer colours lies in many places: a line, a plain area."""
_ENOUGH, _MOST, _TRIED = 3, 16, 120
"""So many strips, each found in one place alone, must agree on where the window lies."""
_RGB = 3


@dataclass(slots=True)
class _Listed:
    title: str = ""
    app: str = ""


class WindowPictures:
    """The pictures of the windows, found by their program and title. `is_possible` says whether there are any."""

    def __init__(self, compositor: Compositor, copier: Copier) -> None:
        self._compositor = compositor
        self._copier = copier
        self._listed: dict[int, _Listed] = {}
        compositor.on_connect(self._connected)

    @property
    def is_possible(self) -> bool:
        return self._compositor.has(TOPLEVEL_LIST) and self._compositor.has(TOPLEVEL_SOURCE)

    def _connected(self, wire: Wire) -> None:
        self._listed.clear()
        if self.is_possible:
            wire.hear(self._compositor.bound(TOPLEVEL_LIST), {0: ("n", self._appeared)})
            wire.roundtrip()

    def _appeared(self, number: int) -> None:
        told = self._listed[number] = _Listed()

        def titled(text: str) -> None:
            told.title = text

        def named(text: str) -> None:
            told.app = text

        def closed() -> None:
            del self._listed[number]
            self._compositor.wire.send(number, 0)
            self._compositor.wire.forget(number)

        self._compositor.wire.hear(number, {0: ("", closed), 2: ("s", titled), 3: ("s", named)})

    def of(self, app: str, title: str) -> Frame | None:
        """A window's pixels, at (0, 0). None if there are none, or several windows have these names."""
        if not self.is_possible:
            return None
        wire = self._compositor.wire
        wire.roundtrip()
        found = [number for number, one in self._listed.items() if (one.app, one.title) == (app, title)]
        if len(found) != 1:
            return None
        source = wire.create(self._compositor.bound(TOPLEVEL_SOURCE), 0, "no", found[0])
        try:
            buffer, _ = self._copier.whole(source)
        except ToolFailed:  # because it closed, or the compositor refuses it
            return None
        return Frame(Rect(0, 0, *buffer.size), buffer.rows())


def found_in(screen: Frame, window: Frame, before: Rect | None = None) -> Rect | None:
    """Return where a window's picture lies in a picture of the screen; None unless that is certain.

    Parts of the window may be covered, or have changed in between. It is looked for where it was `before` first.
    """
    around, inside = _rgb(screen), _rgb(window)
    if before and before.size == window.area.size and _lies_at(screen, around, window, inside, before):
        return before
    votes: Counter[tuple[int, int]] = Counter()
    strips = _strips(inside, window.area.width, window.area.height)
    for x, y, strip in islice(strips, _TRIED):
        at = around.find(strip)
        if at < 0 or at % _RGB or around.find(strip, at + 1) >= 0:
            continue
        row, column = divmod(at // _RGB, screen.area.width)
        votes[(column - x, row - y)] += 1
        if votes.total() == _MOST:
            break
    if not votes:
        return None
    (left, top), count = votes.most_common(1)[0]
    if count < _ENOUGH or 2 * count <= votes.total():
        return None
    return Rect(screen.area.x + left, screen.area.y + top, window.area.width, window.area.height)


def _lies_at(screen: Frame, around: bytes, window: Frame, inside: bytes, place: Rect) -> bool:
    left, top, width = place.x - screen.area.x, place.y - screen.area.y, screen.area.width
    count = 0
    for x, y, strip in islice(_strips(inside, window.area.width, window.area.height), _TRIED):
        start = ((top + y) * width + left + x) * _RGB
        count += left + x >= 0 and left + x + _STRIP_PX <= width and around[start : start + len(strip)] == strip
        if count == _ENOUGH:
            return True
    return False


def _strips(rgb: bytes, width: int, height: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield strips of a picture that are not plain, from all over it: where each begins, and its pixels."""
    for number in range(height):
        y = number * _STRIDE % height
        row = rgb[y * width * _RGB : (y + 1) * width * _RGB]
        if row == row[:_RGB] * width:
            continue
        for x in range(0, width - _STRIP_PX + 1, _STRIP_PX):
            strip = row[x * _RGB : (x + _STRIP_PX) * _RGB]
            colours = len({strip[at : at + _RGB] for at in range(0, len(strip), _RGB)})
            if colours >= _LEAST_COLOURS:
                yield x, y, strip


def _rgb(frame: Frame) -> bytes:
    from PIL import Image

    size = (frame.area.width, frame.area.height)
    return Image.frombuffer("RGB", size, frame.bgrx, "raw", "BGRX", 0, 1).tobytes()
