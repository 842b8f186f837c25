"""Whether the person needs the screen now: it is locked, or somebody types or moves the mouse.

Scheduled tasks that use the screen ask this. It opens its own connections, so no desktop needs to be open. If there is
no answer, the screen counts as free, because the desktop checks again before each act.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping

from app.base import resources
from app.base.errors import NeedsPerson
from app.base.geometry import Rect
from app.desktop.backends import Windows
from app.desktop.x11.connection import Connection
from app.desktop.x11.pointer import X11Screen
from app.desktop.x11.windows import X11Windows

_IN_USE_S = 20.0
_LIMIT_S = 2.0
SAVERS = (
    ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
    ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
)
"""Who answers `GetActive` where the desktop itself locks the screen, with no window of a locker."""


async def why_occupied(environment: Mapping[str, str]) -> str:
    """Return a clause such as `the screen was locked`; "" if the screen may be used."""
    try:
        connection = Connection(environment)
    except NeedsPerson:
        return "there was no display"
    screen = X11Screen(connection)
    try:
        if locker := locker_of(X11Windows(connection), screen.extent()):
            return f"the screen was locked ({locker})"
        if await is_locked(environment):
            return "the screen was locked"
        return "somebody typed or moved the mouse" if idle_s(connection) < _IN_USE_S else ""
    finally:
        screen.close()
        connection.close()


def locker_of(windows: Windows, screen: Rect) -> str:
    """Return the name of the screen locker whose window covers the whole screen; "" if none does."""
    top = next((window for window in windows.shown() if not window.is_own), None)
    if top is None or top.ref or top.app.lower() not in resources.words("desktop/lockers.txt"):
        return ""
    return top.app if top.area.overlap(screen) == screen else ""


def idle_s(connection: Connection) -> float:
    """Return the seconds since the last input by anyone; infinite if the server does not report it."""
    from Xlib.ext import screensaver

    if not connection.display.has_extension(screensaver.extname):
        return float("inf")
    return float(screensaver.query_info(connection.root).idle) / 1000


async def is_locked(environment: Mapping[str, str]) -> bool:
    """True if either logind or the desktop itself says so."""
    return await _is_session_locked(environment) or await _is_saver_active(environment)


async def _is_session_locked(environment: Mapping[str, str]) -> bool:
    """Return whether logind says that the session is locked; most screen lockers report to it.

    https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.login1.html
    """
    program = shutil.which("loginctl", path=environment.get("PATH", os.defpath))
    if not program:
        return False
    asked = ("show-session", environment.get("XDG_SESSION_ID", "auto"), "--property=LockedHint", "--value")
    process = await asyncio.create_subprocess_exec(
        program, *asked, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=dict(environment)
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _LIMIT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return said.strip() == b"yes"


async def _is_saver_active(environment: Mapping[str, str]) -> bool:
    address = environment.get("DBUS_SESSION_BUS_ADDRESS")
    if not address:
        return False
    from dbus_fast import Message, MessageFlag, MessageType
    from dbus_fast.aio import MessageBus
    from dbus_fast.errors import AuthError, InvalidAddressError

    bus = None
    try:
        async with asyncio.timeout(_LIMIT_S):
            bus = await MessageBus(bus_address=address).connect()
            for name, path in SAVERS:
                # because asking must not start a screen saver
                asked = Message(name, path, name, "GetActive", flags=MessageFlag.NO_AUTOSTART)
                answer = await bus.call(asked)
                if answer and answer.message_type is MessageType.METHOD_RETURN and answer.body == [True]:
                    return True
    except (AuthError, InvalidAddressError, OSError, EOFError, TimeoutError):  # because the bus may be gone
        return False
    finally:
        if bus:
            bus.disconnect()
    return False
