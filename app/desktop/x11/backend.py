"""All seams of an X11 desktop over one connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache, partial

from app.base import paths
from app.base.errors import NeedsPerson
from app.base.geometry import Rect
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.backends import Backend, Windows
from app.desktop.keys import Chord
from app.desktop.privacy import Private
from app.desktop.takeover import StopFlag
from app.desktop.x11.apps import DesktopEntries
from app.desktop.x11.connection import Connection, X11Drawing
from app.desktop.x11.keyboard import X11Keyboard
from app.desktop.x11.listener import Listener
from app.desktop.x11.pointer import X11Pointer, X11Screen
from app.desktop.x11.selection import Selection, X11Clipboard, X11ExactTyping
from app.desktop.x11.windows import X11Windows


def make_backend(environment: Mapping[str, str], stop: StopFlag, private: Private) -> Backend:
    """On the desktop thread, inside its running loop. Raises NeedsPerson where the display cannot be opened."""
    connection = Connection(environment)
    screen = X11Screen(connection)
    keyboard = X11Keyboard(connection)
    windows = X11Windows(connection)
    clipboard, primary = Selection(connection, "CLIPBOARD"), Selection(connection, "PRIMARY")
    apps = DesktopEntries(environment)
    accessibility = AtSpi(environment, windows.shown, private, screen.monitors)

    async def close() -> None:
        with ExitStack() as leaving:
            for leave in (connection.close, screen.close, apps.close, keyboard.give_back):
                leaving.callback(leave)
            await accessibility.close()

    def listen(stop_key: Chord, on_stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        return Listener(environment, stop_key, on_stop, touched).close

    return Backend(
        name=f"x11{environment.get('DISPLAY', '')}",
        screen=screen,
        pointer=X11Pointer(connection),
        keyboard=keyboard,
        exact=X11ExactTyping(keyboard, windows, (clipboard, primary), stop),
        windows=windows,
        apps=apps,
        clipboard=X11Clipboard(clipboard),
        accessibility=accessibility,
        close=close,
        listen=listen,
        drawing=X11Drawing(connection),
        reach=partial(_reach, windows, screen, is_wayland=bool(environment.get("WAYLAND_DISPLAY"))),
    )


def _reach(windows: Windows, screen: X11Screen, *, is_wayland: bool) -> None:
    """Raise NeedsPerson where the screen is locked, and where nothing of a Wayland session can be seen."""
    top = next((window for window in windows.shown() if not window.is_own), None)
    if top is not None and not top.ref and top.app.lower() in _lockers() and _covers(top.area, screen.extent()):
        raise NeedsPerson(
            f"The screen is locked ({top.app}). Nothing behind it can be seen or driven. Unlock it, then ask again."
        )
    if is_wayland:
        _reach_through_xwayland(windows)


def _covers(area: Rect, screen: Rect) -> bool:
    return area.overlap(screen) == screen


@cache
def _lockers() -> frozenset[str]:
    text = (paths.resources() / "desktop" / "lockers.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def _reach_through_xwayland(windows: Windows) -> None:
    """Raise NeedsPerson if no X11 program has a window: XWayland then shows a black screen and drops all keys.

    Wayland lets no program see or drive the windows of others: https://wayland.freedesktop.org/architecture.html
    """
    if not windows.all():
        raise NeedsPerson(
            "This is a Wayland session, and Wayland lets Wisp see and drive only X11 programs. None has a window now. "
            "Log out and choose an X11 session (“on Xorg”), or open an X11 program such as xterm first."
        )
