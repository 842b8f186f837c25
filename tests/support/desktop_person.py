"""A person at GNOME or KDE without devices: keys, a mouse and a look at the screen, without any question.

GNOME gives that by its own interface below the portal, KDE to a program that its portal knows as allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from PIL import Image

from app.base.geometry import Point
from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.ei import Hands
from app.desktop.wayland.xkb import layouts
from tests.support.compositors import HEIGHT, WIDTH, picture_of
from tests.support.waiting import eventually

_LEFT = 0x110
_LIMIT_S = 30.0
_PORTAL, _PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
_REMOTE = Place(_PORTAL, _PATH, "org.freedesktop.portal.RemoteDesktop")
_STORE_NAME = "org.freedesktop.impl.portal.PermissionStore"
_STORE = Place(_STORE_NAME, "/org/freedesktop/impl/portal/PermissionStore", _STORE_NAME)
_MUTTER = "org.gnome.Mutter.RemoteDesktop"
_SHOTS = Place("org.kde.KWin", "/org/kde/KWin/ScreenShot2", "org.kde.KWin.ScreenShot2")


class DesktopPerson:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._is_gnome = environment["XDG_CURRENT_DESKTOP"] == "GNOME"
        self._bus = SessionBus(environment)
        self._strokes: dict[str, Any] = {}
        self._mouse = _session_of_gnome(self._bus) if self._is_gnome else None
        handle = _hands_of_gnome(self._bus) if self._is_gnome else _hands_of_kde(self._bus)
        self._hands = Hands(handle, self._learn, lambda *_: None, "Person")

    def _learn(self, keymap: str) -> None:
        self._strokes = layouts(keymap)[0]

    def press(self, *names: str) -> None:
        for name in names:
            self._hands.key(self._strokes[name].code, down=True)
        for name in reversed(names):
            self._hands.key(self._strokes[name].code, down=False)
        self._hands.sync()

    def type(self, text: str) -> None:
        for character in text:
            names = ("space",) if character == " " else (character,)
            self.press(*(("Shift_L",) if self._strokes[character].shift else ()), *names)

    def click(self, at: Point) -> None:
        if self._mouse:
            # From the lower right corner, because the upper left one opens the overview.
            for dx, dy in ((0, HEIGHT), (WIDTH, 0), (at.x - WIDTH + 1, at.y - HEIGHT + 1)):
                self._bus.call(self._mouse, "NotifyPointerMotionRelative", "dd", float(dx), float(dy))
            for down in (True, False):
                self._bus.call(self._mouse, "NotifyPointerButton", "ib", _LEFT, down)
            return
        self._hands.move(at)
        self._hands.sync()  # a press of the same moment goes to where the pointer was
        for down in (True, False):
            self._hands.button(_LEFT, down=down)
        self._hands.sync()

    def picture(self) -> Image.Image:
        """Return the whole screen, as the desktop itself sees it."""
        return picture_of("gnome" if self._is_gnome else "kwin", self._environment)

    def sees(self, at: Point) -> object:
        """Return the colour of a pixel."""
        return self.picture().getpixel((at.x, at.y))

    def close(self) -> None:
        self._hands.close()
        self._bus.close()


@contextmanager
def person_at_desktop(environment: Mapping[str, str]) -> Iterator[DesktopPerson]:
    person = DesktopPerson(environment)
    try:
        yield person
    finally:
        person.close()


def _session_of_gnome(bus: SessionBus) -> Place:
    """https://gitlab.gnome.org/GNOME/mutter/-/tree/main/data/dbus-interfaces: one takes calls, or gives a socket."""
    place = Place(_MUTTER, "/org/gnome/Mutter/RemoteDesktop", _MUTTER)
    session = Place(_MUTTER, bus.call(place, "CreateSession", limit_s=_LIMIT_S), f"{_MUTTER}.Session")
    bus.call(session, "Start", limit_s=_LIMIT_S)
    return session


def _hands_of_gnome(bus: SessionBus) -> int:
    return int(bus.call(_session_of_gnome(bus), "ConnectToEIS", "a{sv}", {}).to_raw_fd())


def _hands_of_kde(bus: SessionBus) -> int:
    """https://develop.kde.org/docs/administration/portal-permissions/"""
    allowed = ("kde-authorized", True, "remote-desktop", "", ["yes"])
    bus.call(_STORE, "SetPermission", "sbssas", *allowed, limit_s=_LIMIT_S)
    session = _answer(bus, "CreateSession", "a{sv}", session_handle_token=("s", "person"))["session_handle"][1]
    _answer(bus, "SelectDevices", "oa{sv}", session, types=("u", 3))
    _answer(bus, "Start", "osa{sv}", session, "")
    handle = int(bus.call(_REMOTE, "ConnectToEIS", "oa{sv}", session, {}).to_raw_fd())
    bus.call(_STORE, "DeletePermission", "sss", "kde-authorized", "remote-desktop", "")  # so that Wisp has to ask
    return handle


def _answer(bus: SessionBus, member: str, signature: str, *arguments: str, **options: Any) -> dict[str, Any]:
    found = list[tuple[int, dict[str, Any]]]()
    sender = bus.name[1:].replace(".", "_")
    place = Place("", f"{_PATH}/request/{sender}/{member}", "org.freedesktop.portal.Request")
    bus.hear(place, "Response", lambda code, results: found.append((code, results)))
    options["handle_token"] = ("s", member)
    bus.call(_REMOTE, member, signature, *arguments, options, limit_s=_LIMIT_S)

    def has_come() -> bool:
        bus.pump(0.1)
        return bool(found)

    assert eventually(has_come)
    code, results = found[0]
    assert code == 0, f"{member} was refused"
    return results
