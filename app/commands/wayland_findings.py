"""What `wisp doctor` finds in a Wayland session: each ability is tried, and what the compositor lacks is named."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path

from app.base.errors import WispError
from app.base.findings import Finding, fail, note, ok
from app.base.phrases import Phrase
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

_PORTALS = "Install xdg-desktop-portal-gnome or xdg-desktop-portal-kde, then log out and in."
_ELSEWHERE = "Log in to an X11 session (“on Xorg”), or to sway, labwc, Hyprland, Wayfire or river."


def _found(name: str) -> Callable[[Callable[[Compositor], Finding]], Callable[[], Finding]]:
    """Try with a connection of its own. What goes wrong is the finding."""

    def around(check: Callable[[Compositor], Finding]) -> Callable[[], Finding]:
        @wraps(check)
        def checked() -> Finding:
            try:
                compositor = Compositor(os.environ)
            except WispError as error:
                return fail(
                    name, error.phrase, "Log in to a desktop and start Wisp there, or set WAYLAND_DISPLAY to its name."
                )
            try:
                return check(compositor)
            except WispError as error:
                return fail(name, error.phrase, _ELSEWHERE)
            finally:
                compositor.close()

        return checked

    return around


def _portals(compositor: Compositor) -> dict[str, int]:
    """The versions of the desktop's portals; empty if they are not what Wisp works by."""
    bus = portals_of(os.environ) if is_driven_by_portals(compositor) else None
    if bus is None:
        return {}
    try:
        return versions(bus)
    finally:
        bus.close()


@_found("Screen")
def display(compositor: Compositor) -> Finding:
    lacking, where = compositor.missing(), {"name": compositor.path.name}
    if portals := _portals(compositor):
        names = ", ".join(f"{name} {version}" for name, version in portals.items() if version)
        desktop = os.environ.get("XDG_CURRENT_DESKTOP", "a desktop")
        return ok(
            "Screen",
            Phrase(
                "Wisp uses {name} (Wayland) of {desktop}, through its portals: {portals}.",
                {**where, "desktop": desktop, "portals": names},
            ),
        )
    if lacking:
        told = Phrase(
            "On {name} (Wayland), programs cannot use these: {lacking}.", {**where, "lacking": ", ".join(lacking)}
        )
        return fail("Screen", told, _ELSEWHERE)
    told = Phrase(
        "Wisp uses {name} (Wayland). Other programs can take pictures of all windows here, Wisp's too.", where
    )
    return ok("Screen", told)


@_found("Screen pictures")
def capture(compositor: Compositor) -> Finding:
    if portals := _portals(compositor):
        return _capture_by_portal(portals["ScreenCast"])
    screen = WaylandScreen(compositor, Copier(compositor))
    extent = screen.extent()
    if is_black(screen.grab(extent)):
        return note(
            "Screen pictures", "A picture of the screen is all black.", "Switch the monitor on and unlock the screen."
        )
    size = {"width": extent.width, "height": extent.height}
    return ok("Screen pictures", Phrase("Wisp took a picture of {width} × {height} pixels.", size))


def _capture_by_portal(version: int) -> Finding:
    """Check what the pictures need. They are not asked for: that is the desktop's question, with the first task."""
    if not version:
        return fail(
            "Screen pictures", "The desktop lets no program see the screen: its portal ScreenCast is missing.", _PORTALS
        )
    try:
        import pipewire_capture  # noqa: F401
    except ImportError as error:
        return fail(
            "Screen pictures",
            Phrase("The library of PipeWire does not load ({why}).", {"why": str(error)}),
            "Install libpipewire-0.3-0.",
        )
    if not Path(os.environ.get("XDG_RUNTIME_DIR", ""), "pipewire-0").exists():
        return fail(
            "Screen pictures", "PipeWire does not run.", "Install pipewire and wireplumber, then log out and in."
        )
    return ok("Screen pictures", "Your desktop asks you once, at the first task, whether Wisp may see the screen.")


_NOTICES = "Wisp can use them, and notices when you use them."


@_found("Mouse and keyboard")
def pointer(compositor: Compositor) -> Finding:
    """Make a pointer and a keyboard, and press nothing. A compositor tells no program what became of its input."""
    if portals := _portals(compositor):
        if portals["RemoteDesktop"] < NEEDED_VERSION:
            return fail(
                "Mouse and keyboard",
                "The desktop does not let programs use the mouse and the keyboard: its portal RemoteDesktop 2 "
                "is missing.",
                _PORTALS,
            )
        xkb.load()
        return ok("Mouse and keyboard", _NOTICES)
    VirtualPointer(compositor, WaylandScreen(compositor, Copier(compositor)).extent)
    WaylandKeyboard(compositor, lambda: "", lambda _: None)
    compositor.wire.roundtrip()
    if compositor.missing():
        lacking = {"lacking": ", ".join(compositor.missing())}
        return fail(
            "Mouse and keyboard", Phrase("On this desktop, programs cannot use these: {lacking}.", lacking), _ELSEWHERE
        )
    if not compositor.has(IDLE, KDE_IDLE):
        return note(
            "Mouse and keyboard", "Wisp can use them, but does not notice when you use them.", "To stop Wisp: wisp stop"
        )
    return ok("Mouse and keyboard", _NOTICES)


@_found("Windows")
def windows(compositor: Compositor) -> Finding:
    """Check that windows are listed, with their places."""
    if is_driven_by_portals(compositor) and (bus := portals_of(os.environ)):
        return _windows_of_desktop(bus)
    if "windows" in compositor.missing():
        return fail("Windows", "The desktop tells no program which windows are open.", _ELSEWHERE)
    copier = Copier(compositor)
    pictures = WindowPictures(compositor, copier)
    listing = listing_of(os.environ, compositor, pictures, WaylandScreen(compositor, copier))
    try:
        count = len(listing.windows())
    finally:
        listing.leave()
    if isinstance(listing, Toplevels) and not pictures.is_possible:
        lacks = "The desktop does not tell where windows are. Wisp presses buttons by name, or finds them in pictures."
        return note(
            "Windows",
            lacks,
            "Log in to sway or Hyprland. There, Wisp knows where windows are.",
        )
    return ok("Windows", _seen(count))


def _seen(count: int) -> Phrase:
    return Phrase("Wisp sees {count} open window.", {"count": count}, many="Wisp sees {count} open windows.")


def _windows_of_desktop(bus: SessionBus) -> Finding:
    listing = desktop_listing(os.environ, bus)
    try:
        count = len(listing.windows())
    finally:
        listing.leave()
        bus.close()
    if isinstance(listing, DescribedWindows):
        lacks = "GNOME does not tell where windows are. Wisp presses buttons by name, and cannot click at a place."
        return note("Windows", lacks, "wisp extension")
    return ok("Windows", _seen(count))


@_found("Clipboard")
def clipboard(compositor: Compositor) -> Finding:
    if not compositor.has(*CLIPBOARDS) and (portals := _portals(compositor)):
        if not portals["Clipboard"]:
            return fail(
                "Clipboard", "The desktop gives no program the clipboard: its portal Clipboard is missing.", _PORTALS
            )
        return ok(
            "Clipboard", "When your desktop asks you whether Wisp may see the screen, it asks about the clipboard, too."
        )
    asyncio.run(WaylandClipboard(compositor).read())
    return ok("Clipboard", "Wisp can read it.")
