"""Looking: captures with an identity, and coordinates that refer to them. Lives on the desktop thread."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable

from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.geometry import Geometry, ModelSpace, Point, Rect
from app.base.ids import counter
from app.base.texts import clip_line
from app.base.values import dataclass, replace
from app.desktop.backends import Backend, Curtain, Frame, Window
from app.desktop.capture import Capture, PictureBudget, cursor_in, encoded, fitted, is_black, part_of
from app.desktop.verification import Patience, Settled, SettleWatch

_REMEMBERED = 24
_WITH_PIXELS = 2
_TITLE_CHARS = 60
_REST = Patience(first_s=0.05, quiet_s=0.034)
"""Two frames after the last drawing; a program that has said what changed is about to draw it."""
_FREED_LIMIT_S = 0.3
_FREED_POLL_S = 0.01
SCREEN = "screen"


@dataclass(frozen=True, slots=True)
class Spot:
    """A position as a call gives it: in the newest capture, in the one named, or (`space="screen"`) on the screen."""

    x: float
    y: float
    capture: str = ""
    space: str = ""


def _unheard(_capture: Capture) -> None:
    return None


class ScreenCapture:
    """Grabs what is on the screen without our own windows in it."""

    def __init__(self, backend: Backend, curtain: Curtain, clock: Clock) -> None:
        self._backend = backend
        self._curtain = curtain
        self._clock = clock
        self._next_id = counter("c")
        self._captures: OrderedDict[str, tuple[Capture, Rect]] = OrderedDict()
        self._newest = ""
        self._unsettled: tuple[SettleWatch, Callable[[Frame], None]] | None = None
        self.on_capture: Callable[[Capture], None] = _unheard

    # --- captures

    async def capture(self, region: Rect, label: str, budget: PictureBudget, *, is_glance: bool = False) -> Capture:
        """The picture of a region; a glance does not become what coordinates refer to by default.

        NeedsPerson when the system shows nothing but black.
        """
        return self._captured(await self.frame(region), label, budget, is_glance=is_glance)

    async def capture_window(self, window: Window, label: str, budget: PictureBudget) -> Capture:
        """The picture of a window: its own pixels where others cover it, else with a word on what covers it."""
        await self.rest()
        area = window.area.overlap(self._backend.screen.extent()) or window.area
        covers = self._covers(window)
        own = (
            await self._backend.windows.picture(window.ref) if covers and not self._backend.is_private(window) else None
        )
        if not covers:
            return await self.capture(area, label, budget)
        label = f"{label}, which is covered by {covers}; use focus_window before you click in it"
        if own is None:
            return await self.capture(area, f"{label}. What covers it is in the picture", budget)
        return self._captured(own, label, budget)

    def _covers(self, window: Window) -> str:
        """The titles of other programs' windows that hide parts of a window; "" where there are none."""
        above: list[str] = []
        for other in self._backend.windows.shown():
            if other.ref == window.ref and not other.is_popup:
                break
            is_in_the_way = other.pid != os.getpid() and not (other.is_popup and other.pid in (0, window.pid))
            if is_in_the_way and other.area.overlap(window.area):
                above.append(repr(clip_line(other.title or other.app, _TITLE_CHARS)))
        return ", ".join(dict.fromkeys(above))

    def _captured(self, frame: Frame, label: str, budget: PictureBudget, *, is_glance: bool = False) -> Capture:
        region = frame.area
        if is_black(frame) and not self._is_really_black(frame):
            raise NeedsPerson(
                "The screen capture is black: the session may be locked, or screen recording is not allowed for Wisp."
            )
        sent = fitted(region.size, budget)
        geometry = Geometry(region, sent)
        capture = Capture(
            id=self._next_id(),
            geometry=geometry,
            data=encoded(frame, sent),
            media_type="image/jpeg",
            cursor=cursor_in(geometry, self._backend.pointer.position()),
            taken=self._clock.now(),
            label=label,
            frame=frame,
        )
        self._remember(capture)
        if not is_glance:
            self._newest = capture.id
        return capture

    def _is_really_black(self, frame: Frame) -> bool:
        """Whether black is what is there: a small region, a private window, or a desktop without a wallpaper."""
        if frame.hidden:
            return True
        extent = self._backend.screen.extent()
        if frame.area.size.area * 4 < extent.size.area:
            return True
        return not any(w.area.overlap(frame.area) and not w.is_minimised for w in self._backend.windows.all())

    def _remember(self, capture: Capture) -> None:
        self._captures[capture.id] = (capture, self._backend.screen.extent())
        self.on_capture(capture)
        while len(self._captures) > _REMEMBERED:
            oldest = next(name for name in self._captures if name != self._newest)
            del self._captures[oldest]
        for name in list(self._captures)[:-_WITH_PIXELS]:
            older, extent = self._captures[name]
            if older.frame and name != self._newest:
                self._captures[name] = replace(older, frame=None), extent

    async def frame(self, area: Rect) -> Frame:
        """Raw pixels without our own windows, at rest."""
        rested = await self.rest()
        if rested and not rested.hidden and area.overlap(rested.area) == area and not self._curtain.covers(area):
            return part_of(rested, area)
        return await self.glance(area)

    async def glance(self, area: Rect) -> Frame:
        """Raw pixels without our own windows, as they are at this moment."""
        if not self._curtain.covers(area):
            return self._backend.screen.grab(area)
        with self._curtain.drawn_back(area):
            return await self._uncovered(area)

    async def _uncovered(self, area: Rect) -> Frame:
        """What is beneath our windows, once the programs there have drawn it: two equal looks, one poll apart."""
        limit = self._clock.now() + _FREED_LIMIT_S
        last = self._backend.screen.grab(area)
        while self._clock.now() < limit:
            await asyncio.sleep(_FREED_POLL_S)
            frame = self._backend.screen.grab(area)
            if frame.bgrx == last.bgrx:
                return frame
            last = frame
        return last

    # --- coordinates

    def find_capture(self, capture_id: str) -> Capture:
        """A remembered capture. ToolMisuse when it is unknown, too old, or of another screen layout."""
        if capture_id not in self._captures:
            hint = f"The newest is {self._newest}." if self._newest else "None has been taken yet."
            raise ToolMisuse(
                f"There is no capture {capture_id!r} (or it is too old). {hint} Take a new screen_capture."
            )
        capture, extent = self._captures[capture_id]
        if extent != self._backend.screen.extent():
            raise ToolMisuse(f"The screen's layout changed since capture {capture_id}. Take a new screen_capture.")
        return capture

    def newest(self) -> Capture | None:
        """The capture that coordinates refer to by default."""
        return self.find_capture(self._newest) if self._newest else None

    def model_space(self) -> ModelSpace:
        """What places are written in for the model: pixels of the newest capture, while the screen's layout stays."""
        capture, extent = self._captures.get(self._newest, (None, None))
        if capture is None or extent != self._backend.screen.extent():
            return ModelSpace()
        return ModelSpace(capture.geometry, capture.id)

    def referred(self, spot: Spot) -> Capture | None:
        """The capture that shows the model what is at a spot: the one named, or the newest."""
        return self.find_capture(spot.capture) if spot.capture else self.newest()

    def resolve(self, spot: Spot) -> Point:
        """The screen pixel that is meant. ToolMisuse for a point outside, with the size."""
        if spot.space and spot.space != SCREEN:
            raise ToolMisuse(f'space={spot.space!r} is unknown; leave it out, or write space="screen".')
        capture = self.find_capture(spot.capture) if spot.capture else self.newest()
        if spot.space == SCREEN or capture is None:
            return self._on_screen(spot)
        geometry = capture.geometry
        if not geometry.contains(spot.x, spot.y):
            sent = geometry.sent
            raise ToolMisuse(
                f"({spot.x:g}, {spot.y:g}) lies outside capture {capture.id}, which is {sent.width}x{sent.height}."
            )
        return geometry.to_screen(spot.x, spot.y)

    def _on_screen(self, spot: Spot) -> Point:
        extent = self._backend.screen.extent()
        point = Point(int(spot.x // 1), int(spot.y // 1))
        if not extent.contains(point):
            raise ToolMisuse(
                f"({spot.x:g}, {spot.y:g}) lies outside the screen, which is {extent.width}x{extent.height}."
            )
        return point

    # --- rest

    def left_unsettled(self, watch: SettleWatch, at_rest: Callable[[Frame], None]) -> None:
        """An action was proven before the screen was at rest: the next look waits for that, and tells `at_rest`."""
        self._unsettled = (watch, at_rest)

    def came_to_rest(self) -> None:
        """What was left unsettled has settled since."""
        self._unsettled = None

    async def rest(self) -> Frame | None:
        """Let the screen come to rest after an action that was answered before: as it is then, else None."""
        if self._unsettled is None:
            return None
        (watch, at_rest), self._unsettled = self._unsettled, None
        settled = await watch.settle(_REST)
        at_rest(settled.frame)
        return settled.frame if settled.is_calm else None

    def watch(self) -> SettleWatch:
        """Start to watch the whole screen, before an action."""
        screen = self._backend.screen
        return SettleWatch(screen.grab, screen.extent(), self._clock, self._curtain.covers, self._backend.drawing)

    async def settle(self, patience: Patience) -> Settled:
        """Wait until the screen is at rest."""
        return await self.watch().settle(patience)
