"""Whether the person needs a Wayland screen now: it is locked, or somebody types or moves the mouse."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from app.base.errors import WispError
from app.desktop.wayland.bus import Place, Refused, SessionBus
from app.desktop.wayland.compositor import IDLE, KDE_IDLE, Compositor
from app.desktop.wayland.listener import watch_idleness
from app.desktop.x11.occupation import SAVERS, is_locked

_LOCKERS = frozenset({"swaylock", "hyprlock", "waylock", "gtklock"})
_IN_USE_MS = 100
_ASKED_AGAIN_S = 1.0


async def why_occupied(environment: Mapping[str, str]) -> str:
    """Return a clause such as `the screen was locked`; "" if the screen may be used.

    A compositor tells from now on only whether somebody is at it, and not for how long nobody was.
    """
    if name := locker():
        return f"the screen was locked ({name})"
    if await is_locked(environment):
        return "the screen was locked"
    try:
        compositor = Compositor(environment)
    except WispError:
        return "there was no display"
    try:
        return "" if _is_idle(compositor) else "somebody typed or moved the mouse"
    finally:
        compositor.close()


def _is_idle(compositor: Compositor) -> bool:
    """True, too, if the compositor does not tell."""
    if not compositor.has(IDLE, KDE_IDLE):
        return True
    rests = list[bool]()
    watch_idleness(compositor, compositor.wire, _IN_USE_MS, lambda: rests.append(True), lambda: None)
    return compositor.wire.wait(lambda: bool(rests), 3 * _IN_USE_MS / 1000)


def once_a_second(known: Callable[[], str]) -> Callable[[], str]:
    """Return a function that asks `known` at most once a second: to go through all processes takes milliseconds."""
    asked_at, told = -_ASKED_AGAIN_S, ""

    def asked() -> str:
        nonlocal asked_at, told
        if time.monotonic() - asked_at >= _ASKED_AGAIN_S:
            asked_at, told = time.monotonic(), known()
        return told

    return asked


def locker() -> str:
    """The name of this person's running screen locker, or "". Lockers run only while the screen is locked."""
    own = Path("/proc/self").stat().st_uid
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and process.stat().st_uid == own:
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                if name in _LOCKERS:
                    return name
        except OSError:  # because it has ended meanwhile
            continue
    return ""


def saver(bus: SessionBus) -> str:
    """Return the name of what locks the screen of a desktop that does so itself; "" if it is not locked."""
    for name, path in SAVERS:
        with suppress(Refused):  # because some desktops have neither
            if bus.has_owner(name) and bus.call(Place(name, path, name), "GetActive"):
                return "by the desktop"
    return ""
