"""The windows of GNOME without Wisp's extension: which there are, as programs describe them for accessibility.

Nobody tells where they lie, and nobody moves or closes them. A menu's place is as unknown as that of its window.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Point, Rect
from app.base.ids import counter
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.nodes import role_of, states_of
from app.desktop.backends import Landing, Window
from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.windows import Listing

_ADDRESS = Place("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus")
_DAEMON = Place("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_REGISTRY = "org.a11y.atspi.Registry"
_OVERVIEW = Place("org.gnome.Shell", "/org/gnome/Shell", "org.freedesktop.DBus.Properties")
_NO_PLACES = Rect(0, 0, 0, 0)
_LIMIT_S, _PATIENCE_S = 0.1, 5.0
"""How long a program may take to answer, and for how long one that does not is not asked again."""
_FRESH_S = 0.25
_SHELL, _FRAMES = "gnome-shell", "mutter-x11-frames"
_INSTALL = "Wisp's extension of GNOME Shell does. Run: wisp extension"


class DescribedWindows(Listing):
    """The windows by the accessibility bus, the active one first. Their areas have no size: no place is known.

    Programs that are not accessible are missing, and so is what is minimised or on another workspace.
    """

    name = "accessibility"

    def __init__(self, bus: SessionBus, environment: Mapping[str, str]) -> None:
        self._session = bus
        self._is_overview = False
        self._bus = SessionBus(environment, bus.call(_ADDRESS, "GetAddress"))
        self._number = counter("w")
        self._refs: dict[tuple[str, str], str] = {}
        self._silent: dict[str, float] = {}
        self._found: tuple[Window, ...] = ()
        self._found_at = 0.0

    def windows(self) -> tuple[Window, ...]:
        if time.monotonic() - self._found_at > _FRESH_S:
            told = self._session.call(_OVERVIEW, "Get", "ss", "org.gnome.Shell", "OverviewActive")
            self._is_overview = bool(told[1])
            found = [window for name, _ in self._children(_REGISTRY, spi.ROOT) for window in self._of(name)]
            self._found = tuple(sorted(found, key=lambda window: not window.is_active))
            self._found_at = time.monotonic()
        return self._found

    def _of(self, name: str) -> Iterator[Window]:
        """Yield the windows of a program, by its name on the bus."""
        if self._silent.get(name, 0.0) > time.monotonic():
            return
        try:
            pid = self._bus.call(_DAEMON, "GetConnectionUnixProcessID", "s", name)
            app = self._name_of(name, spi.ROOT)
            if pid == os.getpid() or app == _FRAMES:
                return
            for owner, path in self._children(name, spi.ROOT):
                if window := self._window(owner, path, app, pid):
                    yield window
        except ToolFailed:  # because it is busy, or has ended meanwhile
            self._silent[name] = time.monotonic() + _PATIENCE_S

    def _window(self, owner: str, path: str, app: str, pid: int) -> Window | None:
        place = Place(owner, path, spi.ACCESSIBLE)
        role = role_of(self._bus.call(place, "GetRole", limit_s=_LIMIT_S))
        states = states_of(self._bus.call(place, "GetState", limit_s=_LIMIT_S))
        # The Shell describes itself as one window, which is behind all others until its overview takes the keyboard.
        is_shell = app == _SHELL
        is_active = is_shell if self._is_overview else bool(states & spi.BITS["active"])
        if role not in spi.WINDOWS or not states & spi.BITS["showing"] or (is_shell and not is_active):
            return None
        ref = self._refs[owner, path] = self._refs.get((owner, path)) or self._number()
        return Window(
            ref=ref,
            title=self._name_of(owner, path),
            app=app,
            area=_NO_PLACES,
            pid=pid,
            is_active=is_active,
            is_dialog=role in spi.DIALOGS,
        )

    def _children(self, owner: str, path: str) -> list[tuple[str, str]]:
        found = self._bus.call(Place(owner, path, spi.ACCESSIBLE), "GetChildren", limit_s=_LIMIT_S)
        return [(name, child) for name, child in found]

    def _name_of(self, owner: str, path: str) -> str:
        place = Place(owner, path, "org.freedesktop.DBus.Properties")
        told = self._bus.call(place, "Get", "ss", spi.ACCESSIBLE, "Name", limit_s=_LIMIT_S)
        return str(told[1])

    def doubt(self, *, all_of_them: bool) -> None:  # noqa: ARG002 - all of them are asked again
        self._found_at = 0.0

    def at(self, point: Point) -> Landing:  # noqa: ARG002
        """Refuse: a press at a place that was not judged may reach any program."""
        raise NeedsPerson(f"GNOME does not tell Wisp where windows are, so Wisp cannot click at a place. {_INSTALL}")

    def focus(self, ref: str) -> None:  # noqa: ARG002
        self._refuse("brings forward")

    def close(self, ref: str) -> None:  # noqa: ARG002
        self._refuse("closes")

    def place(self, ref: str, area: Rect) -> None:  # noqa: ARG002
        self._refuse("moves")

    def minimise(self, ref: str) -> None:  # noqa: ARG002
        self._refuse("minimises")

    def _refuse(self, what: str) -> NoReturn:
        raise NeedsPerson(f"On GNOME no program {what} the windows of others. {_INSTALL}")

    def follow(self, changed: Callable[[], None]) -> None:
        """Do nothing: what changes is seen at the next look."""

    def leave(self) -> None:
        self._bus.close()
