"""Check that a place still looks as the model saw it, so that no click hits something that has appeared since.

Changes by Wisp's own action count as seen, because the result reports them. A place that keeps changing by itself (a
video) is clicked after a new capture, if the same window and control are still there. Runs on the desktop thread.

The target of the next key is checked again at every step of a sequence. Reading a program's whole tree takes tens of
milliseconds. If nothing in the window changed, one question to the program is enough: whether the control that had the
keyboard still has it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from app.base import resources
from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.desktop.backends import Backend, Frame, Landing, Window
from app.desktop.capture import Capture, part_of
from app.desktop.elements import Element
from app.desktop.keys import Taker
from app.desktop.verification import is_caret

_REMEMBERED = 24
_TITLE_CHARS = 60
_LIMIT_S = 0.4
"""How long to wait for a program's answer. After that, the focused control is unknown."""
_TAKING_S = 0.04
"""How long a program's answer may take while it fetches a text. Qt and Chromium answer nothing until they have it."""
_LATE_S = 0.06
_LATE_LOOKS = 4
_REMEMBERED_CALLS = 64
_MULTI_LINE = "multi-line"
_TERMINAL = "terminal"
_FIELDS = frozenset({"entry", "text"})
_BUTTONS = frozenset({"button", "push button", "toggle button"})
_HOLDERS = frozenset(
    {
        "check box", "combo box", "date editor", "editbar", "entry", "paragraph", "password text", "push button",
        "radio button", "slider", "spin button", "terminal", "text", "toggle button",
    }
)  # fmt: skip
"""Roles that keep their focus in one place; in lists and menus it moves while the list reports it."""

Grab = Callable[[Rect], Awaitable[Frame]]
At = Callable[[Point], Awaitable[Element | None]]


class TargetChanged(ToolFailed):
    """Raised instead of a click: the place no longer looks as the model saw it."""


@dataclass(frozen=True, slots=True)
class _Limits:
    half_width_px: int
    half_height_px: int
    least_difference: int
    share: float
    near_px: int


@dataclass(frozen=True, slots=True)
class _Refused:
    """A click that Wisp refused to make: where it was meant, when, and what was at that place then."""

    point: Point
    at: float
    window: str
    control: tuple[str, str]


class StalenessCheck:
    """Compares a place on the screen with the capture that the model saw.

    `grab` captures without Wisp's own windows, `windows` lists the top-level ones, `control_at` asks programs. `rest`
    waits until the effects of Wisp's last action are over.
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
        """Note that the model now gets this capture."""
        self._stacks[capture.id] = tuple(self._windows())
        while len(self._stacks) > _REMEMBERED:
            self._stacks.popitem(last=False)

    def acted(self, frame: Frame) -> None:
        """Note the screen after an action of Wisp, which the action's result describes."""
        self._after_us = (self._clock.now(), frame)

    async def check(self, point: Point, capture: Capture) -> None:
        """Raise TargetChanged if what is at the point is not what the capture shows there."""
        now = _ref_at(self._windows(), point)
        before = _ref_at(self._stacks.get(capture.id, ()), point)
        if capture.id in self._stacks and now[0] != before[0]:
            await self._refuse(point, now[0])
            title = clip_line(now[1], _TITLE_CHARS)
            raise TargetChanged(
                Phrase("Another window is there now, {title!r}. Nothing was clicked.", {"title": title})
            )
        area = _patch(point).overlap(capture.geometry.region)
        if area is None:
            return
        if await self._is_known(capture, area):
            return
        await self._rest()  # Look again at rest, because the last action may still be changing this place.
        if await self._is_known(capture, area):
            return
        if not await self._keeps_changing(point, capture, now[0]):
            await self._refuse(point, now[0])
            raise TargetChanged("What is at that point has changed since the capture. Nothing was clicked.")

    async def _is_known(self, capture: Capture, area: Rect) -> bool:
        present = await self._grab(area)
        return any(is_alike(part_of(known, area), present) for known in self._known(capture, area))

    def _known(self, capture: Capture, area: Rect) -> list[Frame]:
        """The frames of the area that the model knows: the capture, and the one after Wisp's last action."""
        found = [capture.pixels]
        if self._after_us and self._after_us[0] >= capture.taken:
            found.append(self._after_us[1])
        return [frame for frame in found if area.overlap(frame.area) == area]

    async def _keeps_changing(self, point: Point, capture: Capture, window: str) -> bool:
        """Return whether the screen changes near the point all the time, so that no new capture would help.

        This is so if a click there was refused before the capture, and the same control is still there.
        """
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
    """True if the frames of one area differ by no more than a caret, a hover effect or noise."""
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
    """Ref and title of the topmost window; an empty ref if only the desktop is there."""
    top = next((window for window in windows if not window.is_minimised and window.area.contains(point)), None)
    return (top.ref, top.title) if top else ("", "the desktop")


def _told(element: Element | None) -> tuple[str, str]:
    return (element.role, element.name) if element else ("", "")


def _limits() -> _Limits:
    return resources.table("desktop/seen.toml", _Limits)


@dataclass(frozen=True, slots=True)
class KeyTarget:
    """What the next key would reach.

    `title` is the window's. `control` is the ref, role and name of the focused control, or None if the program reports
    none. `is_known`: the program has answered. `takes_lines`: a line break there adds a line. `is_field`: it is a text
    field whose content can be read and changed.
    """

    landing: Landing
    title: str = ""
    control: tuple[str, str, str] | None = None
    is_known: bool = True
    takes_lines: bool = False
    is_field: bool = False

    @property
    def taker(self) -> Taker:
        """The kind of control that receives a text there."""
        role = self.control[1] if self.control else ""
        if role in _BUTTONS or (role in _FIELDS and not self.is_field):
            return Taker.BUTTONS
        if self.takes_lines:
            return Taker.LINES
        return Taker.ENTRY if role in _HOLDERS and role != _TERMINAL else Taker.OTHER

    def is_elsewhere(self, other: KeyTarget) -> bool:
        """True if `other` is in another window."""
        return self.landing.window != other.landing.window


class KeyTargets:
    """Finds the target of the next key, and keeps for each call the one that the policy judged."""

    def __init__(self, backend: Backend, worked_off: Callable[[], Awaitable[bool]]) -> None:
        self._backend = backend
        self._worked_off = worked_off
        self._kept: OrderedDict[str, KeyTarget] = OrderedDict()

    def keep(
        self, call_id: str, element: Element | None, landing: Landing | None = None, *, is_known: bool = True
    ) -> None:
        """Keep the control by which the policy judged a call, and where keys went then (None: where they go now).

        `is_known`: the program has answered which control that is.
        """
        self._kept[call_id] = self._target(element, landing, is_known=is_known)
        while len(self._kept) > _REMEMBERED_CALLS:
            self._kept.popitem(last=False)

    def take(self, call_id: str) -> KeyTarget | None:
        """The control by which the policy judged the call, which is then forgotten; None if nothing was kept."""
        return self._kept.pop(call_id, None)

    async def now(self, before: KeyTarget | None = None) -> KeyTarget:
        """Return the control that the next key would reach; not known while sent keys are unhandled.

        Returns `before` itself if that control still has the keyboard.
        """
        if not await self._worked_off():
            return self._target(None, is_known=False)
        if before is not None and self._is_window_of(before) and await self._still_holds(before):
            return before
        try:
            async with asyncio.timeout(_LIMIT_S):
                found = await self._backend.accessibility.focused()
        except (ToolFailed, TimeoutError):  # so that the policy judges an unknown target as unknown
            return self._target(None, is_known=False)
        return self._target(found, is_known=True)

    async def left(self, before: KeyTarget) -> KeyTarget:
        """Wait a moment for a key to move the focus, because programs report it late. Returns the target then."""
        for _ in range(_LATE_LOOKS):
            now = await self.now(before)
            if now != before:
                return now
            await asyncio.sleep(_LATE_S / _LATE_LOOKS)
        return before

    def is_still(self, target: KeyTarget) -> bool:
        """True if the same window has the keyboard at this moment."""
        return self._backend.windows.keyboard() == target.landing

    async def may_take(self, judged: KeyTarget) -> bool:
        """Return whether a control that fetches a text is still the one that the keys were sent to.

        A program that answers nothing is waiting for the text, and so cannot have changed the control meanwhile.
        """
        if not self.is_still(judged) or judged.control is None or judged.control[1] not in _HOLDERS:
            return self.is_still(judged)
        try:
            async with asyncio.timeout(_TAKING_S):
                if await self._backend.accessibility.has_keyboard(judged.control[0], judged.control[1:]):
                    return True
                found = await self._backend.accessibility.focused()
        except (ToolFailed, TimeoutError):
            return True
        return self._target(found, is_known=True) == judged

    async def _still_holds(self, before: KeyTarget) -> bool:
        if before.control is None or before.control[1] not in _HOLDERS:
            return False
        try:
            async with asyncio.timeout(_LIMIT_S):
                has_it = await self._backend.accessibility.has_keyboard(before.control[0], before.control[1:])
        except (ToolFailed, TimeoutError):  # so that the target is read again
            return False
        return has_it and self._is_window_of(before)

    def _is_window_of(self, before: KeyTarget) -> bool:
        landing = self._backend.windows.keyboard()
        window = self._window(landing)
        return landing == before.landing and (window.title if window else "") == before.title

    def _target(self, element: Element | None, landing: Landing | None = None, *, is_known: bool) -> KeyTarget:
        landing = landing or self._backend.windows.keyboard()
        window = self._window(landing)
        if element is not None and window is not None and element.pid not in (0, window.pid):
            element = None
        control = (element.ref, element.role, element.name) if element else None
        takes_lines = element is not None and _MULTI_LINE in element.states
        is_field = element is not None and element.is_("editable") and element.role in _FIELDS
        return KeyTarget(landing, window.title if window else "", control, is_known, takes_lines, is_field)

    def _window(self, landing: Landing) -> Window | None:
        return next((window for window in self._backend.windows.all() if window.ref == landing.window), None)
