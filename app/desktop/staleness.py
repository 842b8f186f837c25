"""Check that a place still looks as the model saw it, so that no click hits something that appeared in between.

Changes by Wisp's own action count as seen, because the result reports them. A place that keeps changing by itself (a
video) is clicked after a fresh capture if the same window and control are there. Runs on the desktop thread.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from app.base import resources
from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.texts import clip_line
from app.base.values import dataclass
from app.desktop.backends import Frame, Window
from app.desktop.capture import Capture, part_of
from app.desktop.elements import Element
from app.desktop.verification import is_caret

_REMEMBERED = 24
_TITLE_CHARS = 60

Grab = Callable[[Rect], Awaitable[Frame]]
At = Callable[[Point], Awaitable[Element | None]]


class TargetChanged(ToolFailed):
    """The place does not look any more as the model saw it. Nothing was clicked."""


@dataclass(frozen=True, slots=True)
class _Limits:
    half_width_px: int
    half_height_px: int
    least_difference: int
    share: float
    near_px: int


@dataclass(frozen=True, slots=True)
class _Refused:
    """A click that was not made: where, when, and what was there then."""

    point: Point
    at: float
    window: str
    control: tuple[str, str]


class StalenessCheck:
    """`grab` looks without our own windows, `windows` lists the top-level ones, `control_at` asks programs. `rest`
    waits for what Wisp's last action still changes.
    """

    def __init__(
        self,
        grab: Grab,
        windows: Callable[[], Sequence[Window]],
        control_at: At,
        clock: Clock,
        rest: Callable[[], Awaitable[object]],
    ) -> None:
        self._grab = grab
        self._rest = rest
        self._windows = windows
        self._control_at = control_at
        self._clock = clock
        self._stacks: OrderedDict[str, tuple[Window, ...]] = OrderedDict()
        self._after_us: tuple[float, Frame] | None = None
        self._refused: _Refused | None = None

    def captured(self, capture: Capture) -> None:
        """The model is shown this now."""
        self._stacks[capture.id] = tuple(self._windows())
        while len(self._stacks) > _REMEMBERED:
            self._stacks.popitem(last=False)

    def acted(self, frame: Frame) -> None:
        """This is the screen after an action of ours, which its result tells of."""
        self._after_us = (self._clock.now(), frame)

    async def check(self, point: Point, capture: Capture) -> None:
        """Raises TargetChanged where what is at the point is not what the capture shows there."""
        now = _ref_at(self._windows(), point)
        before = _ref_at(self._stacks.get(capture.id, ()), point)
        if capture.id in self._stacks and now[0] != before[0]:
            await self._refuse(point, now[0])
            raise TargetChanged(
                f"Another window is there now, {clip_line(now[1], _TITLE_CHARS)!r}. Nothing was clicked."
            )
        area = _patch(point).overlap(capture.geometry.region)
        if area is None:
            return
        if await self._is_known(capture, area):
            return
        await self._rest()
        if await self._is_known(capture, area):
            return
        if not await self._keeps_changing(point, capture, now[0]):
            await self._refuse(point, now[0])
            raise TargetChanged("What is at that point has changed since the capture. Nothing was clicked.")

    async def _is_known(self, capture: Capture, area: Rect) -> bool:
        present = await self._grab(area)
        return any(is_alike(part_of(known, area), present) for known in self._known(capture, area))

    def _known(self, capture: Capture, area: Rect) -> list[Frame]:
        """Return the frames of the area that the model knows: the capture, and the one after Wisp's last action."""
        found = [capture.pixels]
        if self._after_us and self._after_us[0] >= capture.taken:
            found.append(self._after_us[1])
        return [frame for frame in found if area.overlap(frame.area) == area]

    async def _keeps_changing(self, point: Point, capture: Capture, window: str) -> bool:
        """Whether a fresh look was taken after a click here was refused, and the same thing is here still."""
        last = self._refused
        if last is None or capture.taken <= last.at or window != last.window:
            return False
        near = _limits().near_px
        if abs(last.point.x - point.x) > near or abs(last.point.y - point.y) > near:
            return False
        return _told(await self._control_at(point)) == last.control

    async def _refuse(self, point: Point, window: str) -> None:
        self._refused = _Refused(point, self._clock.now(), window, _told(await self._control_at(point)))


def is_alike(before: Frame, after: Frame) -> bool:
    """Whether two looks at one area differ by no more than a caret, a hover or noise."""
    if before.bgrx == after.bgrx:
        return True
    from PIL import Image, ImageChops

    size, limits = (after.area.width, after.area.height), _limits()
    pictures = [Image.frombytes("RGBX", size, frame.bgrx).convert("RGB") for frame in (before, after)]
    bands = ImageChops.difference(*pictures).split()
    strongest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    counted = strongest.point([255 if level > limits.least_difference else 0 for level in range(256)])
    bounds = counted.getbbox()
    if bounds is None:
        return True
    left, top, right, bottom = bounds
    changed = counted.histogram()[255]
    return is_caret(Rect(left, top, right - left, bottom - top)) or changed <= limits.share * size[0] * size[1]


def _patch(point: Point) -> Rect:
    limits = _limits()
    return Rect(
        point.x - limits.half_width_px,
        point.y - limits.half_height_px,
        2 * limits.half_width_px,
        2 * limits.half_height_px,
    )


def _ref_at(windows: Sequence[Window], point: Point) -> tuple[str, str]:
    """The topmost window at a point, by ref and title; empty where only the desktop is."""
    top = next((window for window in windows if not window.is_minimised and window.area.contains(point)), None)
    return (top.ref, top.title) if top else ("", "the desktop")


def _told(element: Element | None) -> tuple[str, str]:
    return (element.role, element.name) if element else ("", "")


def _limits() -> _Limits:
    return resources.table("desktop/seen.toml", _Limits)
