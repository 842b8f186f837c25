"""Waiting for the screen to come to rest after an action, by looking and never by sleeping a fixed time.

A change keeps us waiting until nothing changed for a moment. Two things must not: a blinking caret (a few pixels
wide), and whatever keeps moving in one place (a spinner, a video), which is given up on after it has moved a few times.
A program that has not worked off its input yet is waited for, whether anything changes or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from app.base.clock import Clock
from app.base.geometry import Rect
from app.desktop.api import Drawing, Frame
from app.desktop.frames import TILE_PX, bounds_of, changed_tiles

_CARET_WIDTH_PX = 4
_CARET_HEIGHT_PX = 48
_RESTLESS_AFTER = 6
_FADE = 14
"""Of 255: a smaller step between two looks is a colour fading (a button let go of), not news."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds: for a first change, for quiet after the last one, and altogether.

    `fades`: wait for colours that fade slowly, too.
    """

    first_s: float = 0.12
    quiet_s: float = 0.034
    limit_s: float = 2.0
    poll_s: float = 0.012
    fades: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """`frame` is the screen at rest; `changed` are the areas that differ from before the action."""

    frame: Frame
    changed: tuple[Rect, ...]
    is_calm: bool


def _never() -> bool:
    return False


class Watch:
    """Looks at one area from before an action until it has settled. `is_mine` tells areas that show our own windows.

    With `drawing`, it looks only when something was drawn.
    """

    def __init__(
        self,
        grab: Callable[[], Frame],
        clock: Clock,
        is_mine: Callable[[Rect], bool],
        drawing: Drawing | None = None,
    ) -> None:
        self._grab = grab
        self._clock = clock
        self._is_mine = is_mine
        self._drawing = drawing if drawing and drawing.begins() else None
        self._before = grab()
        self._moves: dict[tuple[int, int], int] = {}

    async def settle(self, patience: Patience, is_busy: Callable[[], bool] = _never) -> Settled:
        """Return once the screen is at rest and the program acted on is no longer busy, or at the limit."""
        started = calm_since = self._clock.now()
        last, has_changed = self._before, False
        while True:
            frame, busy, now = self._grab(), is_busy(), self._clock.now()
            is_news = self._is_news(last, frame, 1 if patience.fades else _FADE)
            last, has_changed = frame, has_changed or is_news
            if is_news or busy:
                calm_since = now
            left = calm_since + (patience.quiet_s if has_changed else patience.first_s) - now
            limit = started + patience.limit_s - now
            if left <= 0 or limit <= 0:
                return Settled(last, self.differences(last), limit > 0)
            wait_s = min(patience.poll_s if busy else left, limit)
            if not await self._is_drawn(wait_s, patience) and not busy and left <= limit:
                last = last if has_changed else self._grab()
                return Settled(last, self.differences(last), is_calm=True)

    async def _is_drawn(self, wait_s: float, patience: Patience) -> bool:
        """Return when there may be something new to see; False when nothing was drawn for all of `wait_s`."""
        if self._drawing:
            return await self._drawing.drawn(wait_s)
        await asyncio.sleep(min(patience.poll_s, wait_s))
        return True

    def has_changed(self) -> bool:
        """Whether anything, a caret or our own windows apart, differs now from when the watch began."""
        bounds = bounds_of(self.differences(self._grab()))
        return bounds is not None and not is_caret(bounds)

    def differences(self, now: Frame) -> tuple[Rect, ...]:
        """What differs from before the action, our own windows left out."""
        return tuple(tile for tile in changed_tiles(self._before, now) if not self._is_mine(tile))

    def _is_news(self, last: Frame, frame: Frame, at_least: int) -> bool:
        found = changed_tiles(last, frame, at_least=at_least)
        tiles = [tile for tile in found if not self._is_mine(tile)]
        bounds = bounds_of(tiles)
        if bounds is None or is_caret(bounds):
            return False
        return any([self._is_fresh(tile) for tile in tiles])

    def _is_fresh(self, tile: Rect) -> bool:
        place = (tile.x // TILE_PX, tile.y // TILE_PX)
        self._moves[place] = self._moves.get(place, 0) + 1
        return self._moves[place] <= _RESTLESS_AFTER


def is_caret(area: Rect) -> bool:
    """Whether an area that changed is no more than a blinking caret."""
    return area.width <= _CARET_WIDTH_PX and area.height <= _CARET_HEIGHT_PX
