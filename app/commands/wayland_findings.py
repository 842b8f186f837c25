"""What `wisp doctor` finds in a Wayland session: each ability is tried, and what the compositor lacks is named."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path

from app.base.errors import WispError
from app.base.findings import Finding, fail, note, ok
from app.desktop.capture import is_black
from app.desktop.wayland import xkb
from app.desktop.wayland.backend import desktop_listing, is_driven_by_portals, listing_of, portals_of
from app.desktop.wayland.bus import SessionBus
from app.desktop.wayland.clipboard import WaylandClipboard
from app.desktop.wayland.compositor import CLIPBOARDS, IDLE, KDE_IDLE, Compositor
from app.desktop.wayland.copying import Copier
from app.desktop.wayland.described import DescribedWindows
from app.desktop.wayland.keyboard import WaylandKeyboard
from app.desktop.wayland.pictures import WindowPictures
from app.desktop.wayland.pointer import VirtualPointer
from app.desktop.wayland.portal import NEEDED_VERSION, versions
from app.desktop.wayland.screen import WaylandScreen
from app.desktop.wayland.toplevels import Toplevels

_PORTALS = "Install your desktop's portal (xdg-desktop-portal-gnome or -kde), then log out and in."
_ELSEWHERE = "Use sway, labwc, Hyprland, Wayfire or river, or an X11 session (“on Xorg”)."


def _found(name: str) -> Callable[[Callable[[Compositor], Finding]], Callable[[], Finding]]:
    """Try with a connection of its own. What goes wrong is the finding."""

    def around(check: Callable[[Compositor], Finding]) -> Callable[[], Finding]:
        @wraps(check)
        def checked() -> Finding:
            try:
                compositor = Compositor(os.environ)
            except WispError as error:
                return fail(name, error.for_people(), "Set WAYLAND_DISPLAY to a running compositor.")
            try:
                return check(compositor)
            except WispError as error:
                return fail(name, error.for_people(), _ELSEWHERE)
            finally:
                compositor.close()

        return checked

    return around


def _portals(compositor: Compositor) -> dict[str, int]:
    """Return the versions of the desktop's portals, if they are what Wisp works by; else nothing."""
    bus = portals_of(os.environ) if is_driven_by_portals(compositor) else None
    if bus is None:
        return {}
    try:
        return versions(bus)
    finally:
        bus.close()


@_found("Display")
def display(compositor: Compositor) -> Finding:
    lacking = compositor.missing()
    if portals := _portals(compositor):
        names = ", ".join(f"{name} {version}" for name, version in portals.items() if version)
        desktop = os.environ.get("XDG_CURRENT_DESKTOP", "a desktop")
        return ok("Display", f"Wayland on {compositor.path.name}, {desktop}, by its portals: {names}")
    if lacking:
        return fail("Display", f"Wayland on {compositor.path.name}; it lacks {', '.join(lacking)}.", _ELSEWHERE)
    seen = "other programs may capture the screen, Wisp's windows too"
    return ok("Display", f"Wayland on {compositor.path.name}; {seen}")


@_found("Screen capture")
def capture(compositor: Compositor) -> Finding:
    if portals := _portals(compositor):
        return _capture_by_portal(portals["ScreenCast"])
    screen = WaylandScreen(compositor, Copier(compositor))
    extent = screen.extent()
    if is_black(screen.grab(extent)):
        return note("Screen capture", "The whole screen is black in a capture.", "Is a monitor on, and unlocked?")
    return ok("Screen capture", f"captured {extent.width}x{extent.height} pixels")


def _capture_by_portal(version: int) -> Finding:
    """Check what the pictures need. They are not asked for: that is the desktop's question, with the first task."""
    if not version:
        return fail("Screen capture", "the desktop has no ScreenCast portal", _PORTALS)
    try:
        import pipewire_capture  # noqa: F401
    except ImportError as error:
        return fail("Screen capture", f"PipeWire's library does not load ({error})", "Install libpipewire-0.3-0.")
    if not Path(os.environ.get("XDG_RUNTIME_DIR", ""), "pipewire-0").exists():
        return fail("Screen capture", "PipeWire does not run", "Install pipewire and wireplumber, then log out and in.")
    return ok("Screen capture", f"ScreenCast {version} and PipeWire; the desktop asks you once, with the first task")


@_found("Input")
def pointer(compositor: Compositor) -> Finding:
    """Make a pointer and a keyboard, and press nothing. A compositor tells no program what became of its input."""
    if portals := _portals(compositor):
        if portals["RemoteDesktop"] < NEEDED_VERSION:
            return fail("Input", "the desktop has no RemoteDesktop portal of version 2", _PORTALS)
        xkb.load()
        by = "by the compositor" if compositor.has(IDLE) else "by GNOME's idle monitor"
        return ok("Input", f"RemoteDesktop {portals['RemoteDesktop']}; your hands are noticed {by}")
    VirtualPointer(compositor, WaylandScreen(compositor, Copier(compositor)).extent)
    WaylandKeyboard(compositor, lambda: "", lambda _: None)
    compositor.wire.roundtrip()
    if compositor.missing():
        return fail("Input", f"it lacks {', '.join(compositor.missing())}", _ELSEWHERE)
    if not compositor.has(IDLE, KDE_IDLE):
        return note("Input", "made a pointer and a keyboard; your own hands are not noticed", "Stop with `wisp stop`.")
    return ok("Input", "made a pointer and a keyboard, and notices your hands")


@_found("Windows")
def windows(compositor: Compositor) -> Finding:
    """Check that windows are listed, with their places."""
    if is_driven_by_portals(compositor) and (bus := portals_of(os.environ)):
        return _windows_of_desktop(bus)
    if "windows" in compositor.missing():
        return fail("Windows", "the compositor lists them to no program", _ELSEWHERE)
    copier = Copier(compositor)
    pictures = WindowPictures(compositor, copier)
    listing = listing_of(os.environ, compositor, pictures, WaylandScreen(compositor, copier))
    try:
        count = len(listing.windows())
    finally:
        listing.leave()
    if isinstance(listing, Toplevels) and not pictures.is_possible:
        lacks = "the compositor tells no places: controls are pressed by name, or found by sight"
        return note("Windows", f"{count} listed; {lacks}", "sway and Hyprland tell the places.")
    if isinstance(listing, Toplevels):
        return ok("Windows", f"{count} listed; they are found on the screen by their pictures")
    return ok("Windows", f"{listing.name} lists {count}")


def _windows_of_desktop(bus: SessionBus) -> Finding:
    listing = desktop_listing(os.environ, bus)
    try:
        count = len(listing.windows())
    finally:
        listing.leave()
        bus.close()
    if isinstance(listing, DescribedWindows):
        lacks = "without their places: what needs one is refused, controls are pressed by name"
        return note("Windows", f"{count} listed by accessibility, {lacks}", "`wisp extension` tells Wisp the places.")
    return ok("Windows", f"{listing.name} lists {count}")


@_found("Clipboard")
def clipboard(compositor: Compositor) -> Finding:
    if not compositor.has(*CLIPBOARDS) and (portals := _portals(compositor)):
        if not portals["Clipboard"]:
            return fail("Clipboard", "the desktop has no Clipboard portal", _PORTALS)
        return ok("Clipboard", f"Clipboard {portals['Clipboard']}; allowed with the screen")
    asyncio.run(WaylandClipboard(compositor).read())
    return ok("Clipboard", "read it")
