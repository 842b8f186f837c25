"""The Wayland backend: all interfaces of `backends.py`, over one connection to a compositor of the wlroots family."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.backends import Backend, Window
from app.desktop.headless import HeadlessDesktop
from app.desktop.keys import Chord
from app.desktop.privacy import Private
from app.desktop.takeover import StopFlag
from app.desktop.wayland.clipboard import WaylandClipboard
from app.desktop.wayland.compositor import Compositor
from app.desktop.wayland.copying import Copier
from app.desktop.wayland.hyprland import HyprlandWindows
from app.desktop.wayland.keeper import hand_over
from app.desktop.wayland.keyboard import WaylandKeyboard, WaylandTyping
from app.desktop.wayland.listener import TouchListener
from app.desktop.wayland.occupation import locker, once_a_second
from app.desktop.wayland.pictures import WindowPictures
from app.desktop.wayland.pointer import VirtualPointer, WaylandPointer
from app.desktop.wayland.screen import WaylandScreen
from app.desktop.wayland.sway import SwayWindows
from app.desktop.wayland.toplevels import Toplevels
from app.desktop.wayland.windows import Listing, WaylandWindows
from app.desktop.wayland.xwayland import XwaylandWindows
from app.desktop.x11.apps import DesktopEntries

_NEEDED = frozenset({"capture", "pointer", "keyboard", "windows"})
"""Without one of these abilities, a screen cannot be worked on at all."""


def make_backend(environment: Mapping[str, str], stop: StopFlag, private: Private) -> Backend:
    """Make the backend, on the desktop thread and inside its running event loop.

    Raises NeedsPerson if the compositor cannot be reached.
    """
    compositor = Compositor(environment)
    if lacking := [ability for ability in compositor.missing() if ability in _NEEDED]:
        compositor.close()
        return _without_screen(compositor.path.name, lacking, stop)
    copier = Copier(compositor)
    screen, pictures = WaylandScreen(compositor, copier), WindowPictures(compositor, copier)
    listing, x11 = listing_of(environment, compositor, pictures, screen), XwaylandWindows(environment)

    def known() -> tuple[Window, ...]:
        return (*windows.shown(), *(window for window in windows.all() if window.is_minimised))

    accessibility = AtSpi(environment, known, private, screen.monitors)
    windows = WaylandWindows(compositor, listing, x11, pictures, accessibility)
    touches, apps = TouchListener(compositor), DesktopEntries(environment)

    def sent(may_move: bool) -> None:  # noqa: FBT001 - the only argument of a callback
        touches.sent()
        if may_move:
            listing.doubt(all_of_them=False)

    pointer = WaylandPointer(VirtualPointer(compositor, screen.extent), lambda point: windows.under(point).place, sent)
    keyboard = WaylandKeyboard(compositor, lambda: windows.keyboard().place, sent)

    clipboard = WaylandClipboard(compositor)
    compositor.watch(asyncio.get_running_loop())

    async def close() -> None:
        with ExitStack() as leaving:
            for leave in (compositor.close, x11.close, apps.close, touches.close, listing.leave):
                leaving.callback(leave)
            await hand_over(clipboard, environment)
            await accessibility.close()

    def listen(_stop_key: Chord, _on_stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        """Notice the person's hands. The stop key comes from the compositor's configuration, through `wisp stop`."""

        def noticed() -> None:
            pointer.moved_by_hand()
            listing.doubt(all_of_them=True)
            touched()

        return touches.listen(noticed)

    return Backend(
        name=f"wayland:{compositor.path.name}",
        screen=screen,
        pointer=pointer,
        keyboard=keyboard,
        exact=WaylandTyping(keyboard, windows, stop),
        windows=windows,
        apps=apps,
        clipboard=clipboard,
        accessibility=accessibility,
        close=close,
        listen=listen,
        reach=partial(_reach, once_a_second(locker)),
        shows_pointer=screen.shows_pointer,
    )


def listing_of(
    environment: Mapping[str, str], compositor: Compositor, pictures: WindowPictures, screen: WaylandScreen
) -> Listing:
    """Return how windows are listed here: by sway's or Hyprland's messages, else by what every compositor tells."""
    for path in _sockets_of_sway(environment):
        with suppress(ToolFailed):  # because it may be that of a sway that has ended
            return SwayWindows(path)
    if signature := environment.get("HYPRLAND_INSTANCE_SIGNATURE"):
        return HyprlandWindows(Path(environment.get("XDG_RUNTIME_DIR", "/tmp"), "hypr", signature))
    return Toplevels(compositor, pictures, screen)


def _without_screen(name: str, lacking: Sequence[str], stop: StopFlag) -> Backend:
    """Return a backend on which everything waits for the person. Files, commands and the web need no screen."""

    def refuse() -> None:
        raise NeedsPerson(
            f"This Wayland session does not let Wisp work on its screen: it offers programs no {', '.join(lacking)}. "
            "sway, labwc, Hyprland, Wayfire and river do. Or log out and choose an X11 session (“on Xorg”)."
        )

    return replace(HeadlessDesktop().backend(stop), name=f"wayland:{name}", reach=refuse)


def _sockets_of_sway(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield where sway may answer: where it says so, or at its usual place if this is a session of sway."""
    if path := environment.get("SWAYSOCK"):
        yield path
    if path or environment.get("XDG_CURRENT_DESKTOP") == "sway":
        yield from map(str, Path(environment.get("XDG_RUNTIME_DIR", "/tmp")).glob("sway-ipc.*.sock"))


def _reach(locker: Callable[[], str]) -> None:
    """Raise NeedsPerson if the screen is locked."""
    if name := locker():
        raise NeedsPerson(
            f"The screen is locked ({name}). Nothing behind it can be seen or driven. Unlock it, then ask again."
        )
