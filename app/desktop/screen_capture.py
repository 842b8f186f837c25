"""Capture the screen, and convert coordinates that refer to a capture. Runs on the desktop thread."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.geometry import Geometry, ModelSpace, Point, Rect
from app.base.ids import counter
from app.base.values import dataclass, replace
from app.desktop.backends import Backend, Curtain, Frame, Marked, Window
from app.desktop.capture import Capture, PictureBudget, cursor_in, encoded, fitted, is_black, part_of
from app.desktop.targets import Aim
from app.desktop.verification import Patience, Settled, SettleWatch

_REMEMBERED = 24
_WITH_PIXELS = 2
_TITLE_CHARS = 60
_REST = Patience(first_s=0.05, quiet_s=0.034)
"""Wait for two frames after the last drawing, because a program that reported a change is about to draw it."""
_FREED_LIMIT_S = 0.3
_FREED_POLL_S = 0.01
_STREAMED_LIMIT_S, _STREAMED_CALM_S = 0.5, 0.05
"""The same for a stream. Three of its pictures fit into the calm at 60 a second."""
_POINTED_S = 0.08
"""An act waits so long for its mark to be seen. Later the mark does not show at all."""
_RINGED_PX = (640, 200)
"""A control larger than this is not marked as a whole, but where it is pressed."""
_AROUND_PX = 240
"""A mark and its name reach at most so far from what they mark."""
SCREEN = "screen"


@dataclass(frozen=True, slots=True)
class Spot:
    """A position in a call. It refers to the newest capture, to the one named, or to the screen (`space="screen"`)."""

    x: float
    y: float
    capture: str = ""
    space: str = ""


def _unheard(_capture: Capture) -> None:
    return None


class ScreenCapture:
    """Captures the screen without Wisp's own windows."""

    def __init__(self, backend: Backend, curtain: Curtain, clock: Clock) -> None:
        self._backend = backend
        self._curtain = curtain
        self._clock = clock
        self._next_id = counter("c")
        self._captures: OrderedDict[str, tuple[Capture, Rect]] = OrderedDict()
        self._newest = ""
        self._shows_drawing = False
        self._unsettled: tuple[SettleWatch, Callable[[Frame], None]] | None = None
        self.on_capture: Callable[[Capture], None] = _unheard

    # --- captures

    async def capture(self, region: Rect, label: str, budget: PictureBudget, *, is_glance: bool = False) -> Capture:
        """Capture a region. With `is_glance`, later coordinates still refer to the capture before.

        Raises NeedsPerson if the system shows nothing but black.
        """
        return await self._captured(await self.frame(region), label, budget, is_glance=is_glance)

    async def capture_window(self, window: Window, label: str, budget: PictureBudget) -> Capture:
        """Capture a window. If others cover it: its own pixels or, without these, the screen and a note on them."""
        await self.rest()
        area = window.area.overlap(self._backend.screen.extent()) or window.area
        covers = self._covers(window)
        own = (
            await self._backend.windows.picture(window.ref) if covers and not self._backend.is_private(window) else None
        )
        if covers:
            label = f"{label}, which is covered by {covers}; use focus_window before you click in it"
        if covers and own is None:
            label = f"{label}. What covers it is in the picture"
        return await self._captured(own or await self.frame(area), label, budget, window=window.ref)

    def _covers(self, window: Window) -> str:
        """The titles of other programs' windows that hide parts of a window, or "" if there are none."""
        above: list[str] = []
        for other in self._backend.windows.shown():
            if other.ref == window.ref and not other.is_popup:
                break
            is_in_the_way = other.pid != os.getpid() and not (other.is_popup and other.pid in (0, window.pid))
            if is_in_the_way and other.area.overlap(window.area):
                above.append(repr(clip_line(other.title or other.app, _TITLE_CHARS)))
        return ", ".join(dict.fromkeys(above))

    async def _captured(
        self, frame: Frame, label: str, budget: PictureBudget, *, is_glance: bool = False, window: str = ""
    ) -> Capture:
        region = frame.area
        if is_black(frame) and not await self._is_really_black(frame):
            raise NeedsPerson(
                "The picture of the screen is black. Unlock the screen, or allow Wisp "
                "to record it in the system's settings."
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
            window=window or self._window_at(region),
        )
        self._remember(capture)
        if not is_glance:
            self._newest = capture.id
        return capture

    def _window_at(self, area: Rect) -> str:
        """The ref of the window that fills an area which is not the whole screen; "" if none does."""
        extent = self._backend.screen.extent()
        windows = self._backend.windows.shown() if area != extent else ()
        return next((one.ref for one in windows if one.area.overlap(extent) == area and not one.is_popup), "")

    async def _is_really_black(self, frame: Frame) -> bool:
        """Return whether a black capture may be true: a small region, a private window, an empty or a black desktop.

        That captures show what is drawn is tried once.
        """
        if frame.hidden or self._shows_drawing:
            return True
        extent = self._backend.screen.extent()
        if frame.area.size.area * 4 < extent.size.area:
            return True
        if not any(w.area.overlap(frame.area) and not w.is_minimised for w in self._backend.windows.all()):
            return True
        if self._backend.shows_drawing is not None:
            self._shows_drawing = await self._backend.shows_drawing()
        return self._shows_drawing

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
        """Return raw pixels without Wisp's windows, once the screen is at rest."""
        rested = await self.rest()
        if rested and not rested.hidden and area.overlap(rested.area) == area and not self._curtain.covers(area):
            return part_of(rested, area)
        return await self.glance(area)

    async def glance(self, area: Rect) -> Frame:
        """Return raw pixels without Wisp's windows, as they are at this moment."""
        if not self._curtain.covers(area):
            return self._backend.screen.grab(area)
        covered = self._backend.screen.grab(area) if self._backend.is_streamed else None
        with self._curtain.drawn_back(area):
            return await self._uncovered(area, covered)

    async def _uncovered(self, area: Rect, covered: Frame | None) -> Frame:
        """Capture an area without Wisp's windows, once captures stay equal: programs first redraw there.

        `covered` is what a stream showed before: it shows that for a while yet, and then pictures of before.
        """
        limit = self._clock.now() + (_FREED_LIMIT_S if covered is None else _STREAMED_LIMIT_S)
        calm_s = _FREED_POLL_S if covered is None else _STREAMED_CALM_S
        last, since = self._backend.screen.grab(area), self._clock.now()
        while self._clock.now() < limit:
            await asyncio.sleep(_FREED_POLL_S)
            frame, now = self._backend.screen.grab(area), self._clock.now()
            if frame.bgrx != last.bgrx:
                last, since = frame, now
            elif now - since >= calm_s and (covered is None or frame.bgrx != covered.bgrx):
                return frame
        return last

    # --- coordinates

    def find_capture(self, capture_id: str) -> Capture:
        """Raises ToolMisuse if the capture is unknown, too old, or of another screen layout."""
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
        """Return the capture that coordinates refer to by default."""
        return self.find_capture(self._newest) if self._newest else None

    def model_space(self) -> ModelSpace:
        """Return the coordinate space of the model: pixels of the newest capture.

        Screen pixels if the screen layout is another now, or the window in the capture is gone.
        """
        capture, extent = self._captures.get(self._newest, (None, None))
        if capture is None or extent != self._backend.screen.extent() or not self._is_there(capture):
            return ModelSpace()
        return ModelSpace(capture.geometry, capture.id)

    def _is_there(self, capture: Capture) -> bool:
        return not capture.window or any(one.ref == capture.window for one in self._backend.windows.all())

    def referred(self, spot: Spot) -> Capture | None:
        """Return the capture to which a position refers: the one it names, or the newest. None if there is none.

        None too if the newest shows a window that is gone.
        """
        if spot.capture:
            return self.find_capture(spot.capture)
        newest = self.newest()
        return newest if newest and self._is_there(newest) else None

    def resolve(self, spot: Spot) -> Point:
        """The position in screen pixels. Raises ToolMisuse with the capture's size if it is outside."""
        if spot.space and spot.space != SCREEN:
            raise ToolMisuse(f'space={spot.space!r} is unknown; leave it out, or write space="screen".')
        capture = self.find_capture(spot.capture) if spot.capture else self.newest()
        if spot.space == SCREEN or capture is None:
            return self._on_screen(spot)
        if not spot.capture and not self._is_there(capture):
            raise ToolMisuse(
                f"Capture {capture.id} shows a window that is gone, so a point is none of its pixels. "
                f'For a pixel of the screen, add space="{SCREEN}".'
            )
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
        """Note that the screen may still change after an action. The next capture waits, then calls `at_rest`."""
        self._unsettled = (watch, at_rest)

    def came_to_rest(self) -> None:
        """Note that the screen is at rest after the last action, so the next capture need not wait."""
        self._unsettled = None

    async def rest(self) -> Frame | None:
        """If an action left the screen unsettled, wait until it rests. Returns its frame; None if there is none."""
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

    # --- marks

    async def point_out(self, aim: Aim, came_from: Point | None = None) -> None:
        """Mark for a moment what Wisp is about to act on. Returns once the mark is gone from the screen.

        `came_from` is where the pointer was before; None if it is still there, or nobody knows.
        """
        place, name = aim.place, aim.element.name if aim.element else ""
        if place.width > _RINGED_PX[0] or place.height > _RINGED_PX[1]:
            place = Rect(aim.point.x, aim.point.y, 1, 1)
        with suppress(ToolFailed):  # because an act needs no mark
            await self._mark_shortly(place, name, came_from or self._backend.pointer.position() or aim.point)

    async def _mark_shortly(self, place: Rect, name: str, came_from: Point) -> None:
        reach, wide, high = _AROUND_PX, place.width + 2 * _AROUND_PX, place.height + 2 * _AROUND_PX
        around = Rect(place.x - reach, place.y - reach, wide, high).overlap(self._backend.screen.extent())
        if around is None:
            return
        beneath, until = self._backend.screen.grab(around), self._clock.now() + _POINTED_S
        if (asked := self._curtain.point_at(place, name, came_from)) is None:
            return
        try:
            await asyncio.wait({asyncio.wrap_future(asked)}, timeout=_POINTED_S)
            await asyncio.sleep(max(until - self._clock.now(), 0))
        finally:
            asked.cancel()
            self._curtain.unmark()
        if asked.done() and not asked.cancelled():
            await self._redrawn(asked.result(), beneath)

    async def _redrawn(self, marked: Marked, beneath: Frame) -> None:
        """Wait until programs have redrawn what the mark covered: it looks as before, or no longer changes."""
        parts = [part for area in marked if (part := area.overlap(beneath.area))]
        before = [part_of(beneath, part).bgrx for part in parts]
        calm_since = self._clock.now()
        limit, last = calm_since + _FREED_LIMIT_S, before
        while self._clock.now() < limit:
            frame = self._backend.screen.grab(beneath.area)
            now = [part_of(frame, part).bgrx for part in parts]
            if now == before or (now == last and self._clock.now() - calm_since >= _REST.quiet_s):
                return
            if now != last:
                calm_since, last = self._clock.now(), now
            await asyncio.sleep(_FREED_POLL_S)
