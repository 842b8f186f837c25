"""The windows of X11 programs in a Wayland session, as XWayland tells them: what the compositor's list lacks.

A compositor lists the windows that it manages. XWayland knows besides: menus and tool tips of X11 programs, which lie
above everything, which windows are dialogs, and which belong to a Wisp.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from Xlib import X

from app.base.errors import NeedsPerson
from app.base.geometry import Point
from app.base.ids import KEYBOARD_MARK
from app.desktop.backends import Landing, Window
from app.desktop.x11.connection import Connection, number_of, read_marks
from app.desktop.x11.windows import X11Windows


class XwaylandWindows:
    """The windows of XWayland. It is asked only if it runs: connecting would start it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._connection: Connection | None = None
        self._windows: X11Windows | None = None

    def _asked(self) -> X11Windows | None:
        if self._windows is None and _has_clients(self._environment.get("DISPLAY", "")):
            try:
                self._connection = Connection(self._environment)
            except NeedsPerson:  # because it has just ended
                return None
            self._windows = X11Windows(self._connection)
        return self._windows

    def listed(self) -> dict[int, Window]:
        """Return the windows by their numbers, as X11 programs and their window manager tell them."""
        asked = self._asked()
        return {int(one.ref[1:], 16): one for one in asked.all()} if asked else {}

    def popups(self) -> tuple[Window, ...]:
        """Return the visible menus, tool tips and windows of Wisp that no compositor lists, topmost first."""
        asked = self._asked()
        return tuple(one for one in asked.shown() if one.is_popup) if asked else ()

    def under(self, point: Point) -> Landing:
        """Return what of `popups` takes a press at a point; an empty landing if none does."""
        asked, connection = self._asked(), self._connection
        if asked is None or connection is None:
            return Landing()
        chain = connection.chain_at(point.x, point.y)
        if not chain or not connection.window(chain[0]).get_attributes().override_redirect:
            return Landing()
        return asked.under(point)

    def has_own_keyboard(self) -> bool:
        """True if a window of a Wisp has the keyboard."""
        if self._asked() is None or self._connection is None:
            return False
        # The presence fetches the keyboard past X's focus, and notes so.
        number = number_of(self._connection, int(self._connection.root.id), KEYBOARD_MARK) or self._connection.focused()
        return number > X.PointerRoot and read_marks(self._connection).is_on(number)

    async def answers(self, number: int, limit_s: float, *, whole: bool) -> bool | None:
        asked = self._asked()
        return await asked.answers(f"w{number:x}", limit_s, whole=whole) if asked else None

    def close(self) -> None:
        if self._connection:
            self._connection.close()


def _has_clients(display: str) -> bool:
    """Return whether a program is connected to an X display of this machine, by the kernel's list of sockets.

    https://man7.org/linux/man-pages/man5/proc.5.html, /proc/net/unix: state 03 is connected.
    """
    path = f"/tmp/.X11-unix/X{display.removeprefix(':').partition('.')[0]}"
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # because some systems hide it
        return False
    connected = (line.split() for line in lines if line.rstrip().endswith(path))
    return any(words[5] == "03" for words in connected)
