"""Windows of GNOME as programs describe them: what is known without Wisp's extension, and what is refused."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app.base.errors import NeedsPerson
from app.base.geometry import Point, Rect
from app.desktop.accessibility import constants as spi
from app.desktop.wayland import described
from app.desktop.wayland.bus import Place, Refused, SessionBus

_SHOWING, _ACTIVE = spi.BITS["showing"], spi.BITS["active"]
_PROGRAMS = {
    ":1.1": ("gnome-shell", 10, "window", "Main stage", _SHOWING),
    ":1.2": ("mousepad", 20, "frame", "Letter", _SHOWING | _ACTIVE),
    ":1.3": ("zenity", 30, "dialog", "Question", _SHOWING),
    ":1.4": ("gedit", 40, "frame", "Put away", 0),
    ":1.5": ("hung", 50, "frame", "Hung", _SHOWING),
    ":1.6": ("mutter-x11-frames", 60, "frame", "Letter", _SHOWING),
}


class Bus:
    """Both buses: that of the session, and that of accessibility."""

    is_overview = False

    def call(self, place: Place, member: str, _signature: str = "", *body: Any, limit_s: float = 0.0) -> Any:
        if member == "GetAddress":
            return "unix:path=/nowhere"
        if place.owner == "org.gnome.Shell":
            return "b", self.is_overview
        if place.owner == "org.a11y.atspi.Registry":
            return [(name, spi.ROOT) for name in _PROGRAMS]
        app, pid, role, title, states = _PROGRAMS[body[0] if member == "GetConnectionUnixProcessID" else place.owner]
        if app == "hung":
            raise Refused("org.freedesktop.DBus.Error.NoReply", "")
        return {
            "GetConnectionUnixProcessID": pid,
            "GetChildren": [(place.owner, "/window")],
            "GetRole": spi.ROLES.index(role),
            "GetState": [states & 0xFFFFFFFF, states >> 32],
            "Get": ("s", app if place.path == spi.ROOT else title),
        }[member]


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Bus:
    bus = Bus()
    monkeypatch.setattr(described, "SessionBus", lambda *_where: bus)
    return bus


@pytest.fixture
def windows(bus: Bus) -> described.DescribedWindows:
    return described.DescribedWindows(cast(SessionBus, bus), {})


def test_what_shows_is_listed_without_places_the_active_one_first(windows: described.DescribedWindows) -> None:
    found = windows.windows()
    assert [(one.ref, one.title, one.app, one.pid) for one in found] == [
        ("w1", "Letter", "mousepad", 20),
        ("w2", "Question", "zenity", 30),
    ]
    assert [(one.is_active, one.is_dialog) for one in found] == [(True, False), (False, True)]
    assert {one.area for one in found} == {Rect(0, 0, 0, 0)}


def test_the_overview_takes_the_keyboard(windows: described.DescribedWindows, bus: Bus) -> None:
    bus.is_overview = True
    assert [(one.title, one.is_active) for one in windows.windows()] == [
        ("Main stage", True),
        ("Letter", False),
        ("Question", False),
    ]


def test_what_needs_a_place_is_refused_with_the_way_to_get_it(windows: described.DescribedWindows) -> None:
    with pytest.raises(NeedsPerson, match=r"cannot click at a place.*wisp extension"):
        windows.at(Point(1, 1))
    with pytest.raises(NeedsPerson, match=r"closes the windows of others.*wisp extension"):
        windows.close("w1")
