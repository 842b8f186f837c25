"""What `wisp doctor` finds in a Wayland session: each ability is tried, and what the compositor lacks is named."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import wraps

from app.base.errors import WispError
from app.commands.findings import Finding, fail, note, ok
from app.desktop.capture import is_black
from app.desktop.wayland.backend import listing_of
from app.desktop.wayland.clipboard import WaylandClipboard
from app.desktop.wayland.compositor import IDLE, KDE_IDLE, Compositor
from app.desktop.wayland.copying import Copier
from app.desktop.wayland.keyboard import WaylandKeyboard
from app.desktop.wayland.pictures import WindowPictures
from app.desktop.wayland.pointer import VirtualPointer
from app.desktop.wayland.screen import WaylandScreen
from app.desktop.wayland.toplevels import Toplevels

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


@_found("Display")
def display(compositor: Compositor) -> Finding:
    lacking = compositor.missing()
    if lacking:
        return fail("Display", f"Wayland on {compositor.path.name}; it lacks {', '.join(lacking)}.", _ELSEWHERE)
    seen = "other programs may capture the screen, Wisp's windows too"
    return ok("Display", f"Wayland on {compositor.path.name}; {seen}")


@_found("Screen capture")
def capture(compositor: Compositor) -> Finding:
    screen = WaylandScreen(compositor, Copier(compositor))
    extent = screen.extent()
    if is_black(screen.grab(extent)):
        return note("Screen capture", "The whole screen is black in a capture.", "Is a monitor on, and unlocked?")
    return ok("Screen capture", f"captured {extent.width}x{extent.height} pixels")


@_found("Input")
def pointer(compositor: Compositor) -> Finding:
    """Make a pointer and a keyboard, and press nothing. A compositor tells no program what became of its input."""
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


@_found("Clipboard")
def clipboard(compositor: Compositor) -> Finding:
    asyncio.run(WaylandClipboard(compositor).read())
    return ok("Clipboard", "read it")
