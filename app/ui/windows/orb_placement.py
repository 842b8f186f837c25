"""Where the windows go on the screen: geometry in device-independent pixels, and the file that stores the places."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QScreen

from app.base import own_files, paths
from app.base.geometry import Point, Rect, Size
from app.base.values import dataclass
from app.ui.orb.window import OrbWindow
from app.ui.theme.theme import Theme

_FILE = "places.json"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where the bubble goes: its rectangle `body`. `above`: it grows upwards, and its lower edge stays. `seed` is
    the part next to the orb, from which the bubble grows when it opens."""

    body: Rect
    seed: Rect
    above: bool


def layout_name(screens: Sequence[Rect]) -> str:
    """The same monitors in the same places have the same name."""
    return " ".join(f"{s.width}x{s.height}+{s.x}+{s.y}" for s in sorted(screens, key=lambda s: (s.x, s.y)))


def screen_of(rect: Rect, screens: Sequence[Rect]) -> Rect:
    """Return the screen that contains most of a rectangle, or the nearest one."""

    def shared(screen: Rect) -> int:
        part = screen.overlap(rect)
        return part.size.area if part else 0

    best = max(screens, key=shared)
    return best if shared(best) else min(screens, key=lambda screen: _distance(screen, rect.center))


def _distance(screen: Rect, point: Point) -> int:
    dx = max(screen.x - point.x, 0, point.x - screen.right)
    dy = max(screen.y - point.y, 0, point.y - screen.bottom)
    return dx * dx + dy * dy


def kept_inside(rect: Rect, screen: Rect) -> Rect:
    """Moved as little as possible to be on the screen."""
    x = max(screen.x, min(rect.x, screen.right - rect.width))
    y = max(screen.y, min(rect.y, screen.bottom - rect.height))
    return Rect(x, y, rect.width, rect.height)


def snapped(rect: Rect, screen: Rect, gap: int, reach: int) -> Rect:
    """Return the rectangle, moved to distance `gap` from each screen edge that is closer than `reach`, and inside
    the screen."""
    rect = kept_inside(rect, screen)
    x = _snapped(rect.x, screen.x + gap, screen.right - gap - rect.width, reach)
    y = _snapped(rect.y, screen.y + gap, screen.bottom - gap - rect.height, reach)
    return Rect(x, y, rect.width, rect.height)


def _snapped(value: int, low: int, high: int, reach: int) -> int:
    if value <= low + reach:
        return low
    return high if value >= high - reach else value


def first_place(screen: Rect, size: Size, gap: int, rank: int = 0) -> Rect:
    """Return the place of an orb that was never moved: at the lower right, above the orbs of `rank` other presences."""
    bottom = screen.bottom - gap - rank * (size.height + gap)
    wanted = Rect(screen.right - gap - size.width, bottom - size.height, size.width, size.height)
    return kept_inside(wanted, screen)


def arranged(screen: Rect, orb: Rect, wanted: Size, gap: int) -> Arrangement:
    """Return where a bubble of size `wanted` goes: beside the orb, on the side with more room. If both sides are too
    narrow, it goes above or below the orb.

    One edge is level with the orb and stays there when the height changes. The height is cut to the room on the screen.
    """
    left = orb.center.x > screen.center.x
    above = orb.center.y > screen.center.y
    room = orb.x - screen.x if left else screen.right - orb.right
    beside = room >= wanted.width + gap
    x = orb.x - gap - wanted.width if left else orb.right + gap
    if not beside:
        x = orb.right - wanted.width if left else orb.x
    edge = (orb.bottom if beside else orb.y - gap) if above else (orb.y if beside else orb.bottom + gap)
    height = min(wanted.height, edge - screen.y if above else screen.bottom - edge)
    body = kept_inside(Rect(x, edge - height if above else edge, wanted.width, height), screen)
    side = min(orb.width, body.width, body.height)
    near = body.right - side if left else body.x
    seed = Rect(near, body.bottom - side if above else body.y, side, side)
    return Arrangement(body, seed, above)


def clear_of(window: Rect, taken: Rect, screen: Rect, gap: int) -> Rect | None:
    """Return where a window goes so that it is `gap` away from `taken`, moved sideways as little as possible.

    None if neither side of `taken` has room for it on the screen.
    """
    window = kept_inside(window, screen)
    taken = Rect(taken.x - gap, taken.y - gap, taken.width + 2 * gap, taken.height + 2 * gap)
    if window.overlap(taken) is None:
        return window
    sides = (Rect(x, window.y, window.width, window.height) for x in (taken.x - window.width, taken.right))
    fits = [side for side in sides if screen.x <= side.x and side.right <= screen.right]
    return min(fits, key=lambda side: abs(side.x - window.x), default=None)


def remember(layout: str, place: Point) -> None:
    """Save the orb's place on this set of monitors. Raises OSError."""
    path = paths.state_dir() / _FILE
    with own_files.locked(path):
        own_files.write(path, json.dumps(_read() | {layout: [place.x, place.y]}))


def remembered(layout: str) -> Point | None:
    """Return where the person put the orb on this set of monitors, or None if unknown."""
    match _read().get(layout):
        case [int(x), int(y)]:
            return Point(x, y)
    return None


def _read() -> dict[str, object]:
    try:
        found = json.loads((paths.state_dir() / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_log = logging.getLogger(__name__)


class OrbPlacement:
    """Puts the orb in its place on the current monitors, and remembers the place."""

    def __init__(self, orb: OrbWindow, theme: Theme) -> None:
        self._orb = orb
        self._theme = theme

    def screen(self) -> Rect:
        """Only the part that panels leave free."""
        return screen_of(self._orb.rest_rect(), _screens())

    def take(self) -> None:
        """Put the orb at its last place on this set of monitors; on a new set, at the first place."""
        side, screens = self._theme.size("orb"), _screens()
        known = remembered(layout_name(screens))
        primary = QGuiApplication.primaryScreen()
        if known is not None:
            wanted = Rect(known.x, known.y, side, side)
            self._orb.put(kept_inside(wanted, screen_of(wanted, screens)))
        elif primary is not None:
            gap = self._theme.size("screen_gap")
            self._orb.put(first_place(_rect(primary), Size(side, side), gap, paths.rank()))

    def retake(self) -> None:
        """Put the orb in its place after the monitors changed: the last place on this set, or the nearest visible
        place."""
        screens, now = _screens(), self._orb.rest_rect()
        if not screens:
            return  # because for a moment there may be no monitor while they change
        if remembered(layout_name(screens)) is not None:
            self.take()
            return
        gap, reach = self._theme.size("screen_gap"), self._theme.size("snap")
        self._orb.put(snapped(now, screen_of(now, screens), gap, reach))

    def settle(self, rect: Rect) -> None:
        """Handle the end of a drag: move the orb to a screen edge if one is near, and save its place."""
        screens, gap, reach = _screens(), self._theme.size("screen_gap"), self._theme.size("snap")
        place = snapped(rect, screen_of(rect, screens), gap, reach)
        self._orb.put(place)
        try:
            remember(layout_name(screens), Point(place.x, place.y))
        except OSError as error:
            _log.warning("The orb's place could not be kept: %s", error)


def logical(x: int, y: int) -> Point:
    """Convert a place from screen pixels to device-independent pixels. Distances within a screen are scaled; its
    corner is not."""
    for screen in QGuiApplication.screens():
        box, ratio = screen.geometry(), screen.devicePixelRatio()
        place = Point(box.x() + round((x - box.x()) / ratio), box.y() + round((y - box.y()) / ratio))
        if box.contains(place.x, place.y):
            return place
    return Point(x, y)


def from_pixels(rect: Rect) -> Rect:
    """Convert a rectangle from screen pixels to device-independent pixels."""
    corner, end = logical(rect.x, rect.y), logical(rect.right - 1, rect.bottom - 1)
    return Rect(corner.x, corner.y, end.x - corner.x + 1, end.y - corner.y + 1)


def to_pixels(rect: Rect) -> Rect:
    """Convert a rectangle from device-independent pixels to whole screen pixels, rounded outwards."""
    middle = rect.center
    for screen in QGuiApplication.screens():
        box, ratio = screen.geometry(), screen.devicePixelRatio()
        if box.contains(middle.x, middle.y):
            left, top = math.floor((rect.x - box.x()) * ratio), math.floor((rect.y - box.y()) * ratio)
            right, bottom = math.ceil((rect.right - box.x()) * ratio), math.ceil((rect.bottom - box.y()) * ratio)
            return Rect(box.x() + left, box.y() + top, right - left, bottom - top)
    return rect


def screen_at(place: Point) -> Rect:
    """Return the screen that contains a point, or the nearest one."""
    return screen_of(Rect(place.x, place.y, 1, 1), _screens())


def _screens() -> list[Rect]:
    return [_rect(screen) for screen in QGuiApplication.screens()]


def _rect(screen: QScreen) -> Rect:
    box = screen.availableGeometry()
    return Rect(box.x(), box.y(), box.width(), box.height())


_QUIET_MS = 100
"""One plug changes many things, one after the other."""


class Monitors(QObject):
    """Watches the monitors. `changed` is emitted a moment after the last of several changes."""

    changed = Signal()

    def __init__(self, application: QGuiApplication) -> None:
        super().__init__()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_QUIET_MS)
        self._soon.timeout.connect(self.changed)
        application.screenAdded.connect(self._added)
        application.screenRemoved.connect(lambda _: self._soon.start())
        application.primaryScreenChanged.connect(lambda _: self._soon.start())
        for screen in application.screens():
            self._watch(screen)

    def _added(self, screen: QScreen) -> None:
        self._watch(screen)
        self._soon.start()

    def _watch(self, screen: QScreen) -> None:
        screen.geometryChanged.connect(lambda _: self._soon.start())
        screen.availableGeometryChanged.connect(lambda _: self._soon.start())
