"""Where the orb sits: on which screen, at which edge, and the same again next time."""

from __future__ import annotations

import logging

from PySide6.QtGui import QGuiApplication, QScreen

from app.base.geometry import Point, Rect, Size
from app.ui import places
from app.ui.orb.window import OrbWindow
from app.ui.theme import Theme

_log = logging.getLogger(__name__)


class Seat:
    """The orb's place on the monitors that are there now."""

    def __init__(self, orb: OrbWindow, theme: Theme) -> None:
        self._orb = orb
        self._theme = theme

    def screen(self) -> Rect:
        """What the orb's screen has free of panels."""
        return places.screen_of(self._orb.rest_rect(), _screens())

    def take(self) -> None:
        """Put the orb where it was last put on these monitors, or where a new one sits."""
        side, screens = self._theme.size("orb"), _screens()
        known = places.remembered(places.layout_name(screens))
        primary = QGuiApplication.primaryScreen()
        if known is not None:
            wanted = Rect(known.x, known.y, side, side)
            self._orb.put(places.kept_inside(wanted, places.screen_of(wanted, screens)))
        elif primary is not None:
            self._orb.put(places.first_place(_rect(primary), Size(side, side), self._theme.size("screen_gap")))

    def retake(self) -> None:
        """The monitors are others now: where it was last put on these, or else as near as it can to where it is."""
        screens, now = _screens(), self._orb.rest_rect()
        if not screens:
            return  # between two monitors there may be none for a moment
        if places.remembered(places.layout_name(screens)) is not None:
            self.take()
            return
        gap, reach = self._theme.size("screen_gap"), self._theme.size("snap")
        self._orb.put(places.snapped(now, places.screen_of(now, screens), gap, reach))

    def settle(self, rect: Rect) -> None:
        """The orb was let go there: snap it to an edge that is near, and remember."""
        screens, gap, reach = _screens(), self._theme.size("screen_gap"), self._theme.size("snap")
        place = places.snapped(rect, places.screen_of(rect, screens), gap, reach)
        self._orb.put(place)
        try:
            places.remember(places.layout_name(screens), Point(place.x, place.y))
        except OSError as error:
            _log.warning("The orb's place could not be kept: %s", error)


def logical(x: int, y: int) -> Point:
    """A screen pixel in device-independent ones: distances within a screen shrink, its own corner does not."""
    for screen in QGuiApplication.screens():
        box, ratio = screen.geometry(), screen.devicePixelRatio()
        place = Point(box.x() + round((x - box.x()) / ratio), box.y() + round((y - box.y()) / ratio))
        if box.contains(place.x, place.y):
            return place
    return Point(x, y)


def _screens() -> list[Rect]:
    return [_rect(screen) for screen in QGuiApplication.screens()]


def _rect(screen: QScreen) -> Rect:
    box = screen.availableGeometry()
    return Rect(box.x(), box.y(), box.width(), box.height())
