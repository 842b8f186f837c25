"""Display, capture and input on X11: each is tried for real. A check that captured nothing would prove nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from typing import Any

from app.base.errors import WispError
from app.commands.checks.report import Finding, Verdict, fail, note, ok

_COLOUR = (18, 52, 86)
_SIDE_PX = 8
_SHOWN_LIMIT_S = 2.0
_LOOK_EVERY_S = 0.02


def display(private: str) -> Finding:
    name = "Display"
    if private:
        return note(
            name, f"none; a private desktop works ({private})", "Start Wisp inside a desktop session to use that one."
        )
    if os.environ.get("WAYLAND_DISPLAY") and not os.environ.get("DISPLAY"):
        return fail(name, "Wayland without XWayland: other programs cannot be driven.", "Log in to an X11 session.")
    if os.environ.get("WAYLAND_DISPLAY"):
        return note(
            name,
            "Wayland with XWayland: only X11 programs can be seen and driven.",
            "Log in to an X11 session to drive every program.",
        )
    return ok(name, f"X11 on {os.environ.get('DISPLAY')}")


def capture() -> Finding:
    """Draw a small window of a known colour, grab it, compare."""
    name = "Screen capture"
    import mss
    import mss.exception
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import DisplayError

    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, f"The X server cannot be reached: {error}", "Set DISPLAY to a running X server.")
    try:
        screen = connection.screen()
        window = screen.root.create_window(
            0, 0, _SIDE_PX, _SIDE_PX, 0, screen.root_depth, override_redirect=True, event_mask=X.ExposureMask,
            background_pixel=int.from_bytes(bytes(_COLOUR), "big"),
        )  # fmt: skip
        window.map()
        connection.sync()
        with mss.MSS() as grabber:
            seen = _seen(grabber)
        window.destroy()
        connection.sync()
    except mss.exception.ScreenShotError as error:
        return fail(name, f"The grab failed: {error}", "Run Wisp in an X11 session on a 24-bit screen.")
    finally:
        connection.close()
    if seen != _COLOUR:
        return fail(name, f"It drew {_COLOUR} and captured {seen}.", "Turn off what covers the screen (a locker?).")
    return ok(name, "captured the pixel it drew itself")


def _seen(grabber: Any) -> tuple[int, ...]:
    """The middle of what was drawn; looked for until it shows, since a compositor paints when it comes to it."""
    limit, pause = time.monotonic() + _SHOWN_LIMIT_S, threading.Event()
    area = {"left": 0, "top": 0, "width": _SIDE_PX, "height": _SIDE_PX}
    while True:
        seen: tuple[int, ...] = grabber.grab(area).pixel(_SIDE_PX // 2, _SIDE_PX // 2)
        if seen == _COLOUR or time.monotonic() > limit:
            return seen
        pause.wait(_LOOK_EVERY_S)


def pointer() -> Finding:
    """Move the pointer with XTEST, read it back, put it where it was."""
    name = "Input"
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import DisplayError
    from Xlib.ext import xtest

    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, f"The X server cannot be reached: {error}", "Set DISPLAY to a running X server.")
    try:
        if not connection.has_extension("XTEST"):
            return fail(name, "The X server has no XTEST extension.", "Enable XTEST in the X server.")
        root = connection.screen().root
        before = root.query_pointer()
        there = (before.root_x + (7 if before.root_x < 100 else -7), before.root_y)
        xtest.fake_input(connection, X.MotionNotify, x=there[0], y=there[1])
        connection.sync()
        after = root.query_pointer()
        xtest.fake_input(connection, X.MotionNotify, x=before.root_x, y=before.root_y)
        connection.sync()
    finally:
        connection.close()
    if (after.root_x, after.root_y) != there:
        return fail(
            name, f"The pointer went to {after.root_x},{after.root_y} instead of {there}.", "Use an X11 session."
        )
    return ok(name, "moved the pointer and read it back")


def accessibility() -> Finding:
    """Ask the session for the accessibility bus, as every program does."""
    name = "Accessibility"
    import asyncio

    fix = "Install at-spi2-core and log in again: sudo apt-get install at-spi2-core"
    try:
        address = asyncio.run(asyncio.wait_for(_bus_address(), timeout=3))
    except (OSError, WispError, TimeoutError, ValueError) as error:
        return note(name, f"no accessibility bus ({error or 'no answer'}): clicks by name need it", fix)
    return ok(name, f"bus at {address.partition(',')[0]}")


async def _bus_address() -> str:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus
    from dbus_fast.errors import DBusError, InvalidAddressError

    try:
        bus = await MessageBus().connect()
    except InvalidAddressError as error:
        raise WispError("no D-Bus session") from error
    try:
        reply = await bus.call(
            Message(destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus", member="GetAddress")
        )
    except DBusError as error:
        raise WispError(str(error)) from error
    finally:
        bus.disconnect()
    if reply is None or not reply.body or not isinstance(reply.body[0], str):
        raise WispError("the session's bus knows no accessibility service")
    return reply.body[0]


def fonts() -> Finding:
    """Without fonts the presence shows boxes."""
    name = "Fonts"
    listed = ""
    if shutil.which("fc-list"):
        listed = subprocess.run(
            ["fc-list", ":", "family"], capture_output=True, text=True, check=False, timeout=20
        ).stdout
    families = {line.split(",")[0] for line in listed.splitlines() if line}
    if not families:
        return note(name, "none found", "sudo apt-get install fontconfig fonts-dejavu-core fonts-noto-core")
    return Finding(name, Verdict.OK, f"{len(families)} families")
