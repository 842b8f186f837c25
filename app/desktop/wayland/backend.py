"""The Wayland backend: all interfaces of `backends.py`, by the compositor's own protocols or by portals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.backends import Backend, ExactTyping, Keyboard, Window
from app.desktop.headless import HeadlessDesktop
from app.desktop.keys import Chord
from app.desktop.privacy import Private
from app.desktop.takeover import StopFlag
from app.desktop.wayland import gnome, kwin, mutter
from app.desktop.wayland.bus import SessionBus
from app.desktop.wayland.clipboard import WaylandClipboard
from app.desktop.wayland.compositor import CLIPBOARDS, IDLE, Compositor
from app.desktop.wayland.copying import Copier
from app.desktop.wayland.described import DescribedWindows
from app.desktop.wayland.frames import PortalScreen
from app.desktop.wayland.gnome import GnomeWindows
from app.desktop.wayland.hands import PortalHands, PortalKeyboard
from app.desktop.wayland.heard_key import HeardKey
from app.desktop.wayland.hyprland import HyprlandWindows
from app.desktop.wayland.keeper import hand_over
from app.desktop.wayland.keyboard import WaylandKeyboard, WaylandTyping
from app.desktop.wayland.kwin import KwinWindows
from app.desktop.wayland.listener import TouchListener, catch_up, catch_up_on_gnome, on_compositor, on_gnome
from app.desktop.wayland.mutter import MutterSession
from app.desktop.wayland.occupation import locker, once_a_second, saver
from app.desktop.wayland.pasting import PastedTyping
from app.desktop.wayland.pictures import WindowPictures
from app.desktop.wayland.pointer import VirtualPointer, WaylandPointer
from app.desktop.wayland.portal import PortalSession, Stream, is_offered
from app.desktop.wayland.portal_clipboard import PortalClipboard
from app.desktop.wayland.screen import WaylandScreen
from app.desktop.wayland.sway import SwayWindows
from app.desktop.wayland.toplevels import Toplevels
from app.desktop.wayland.windows import Listing, WaylandWindows
from app.desktop.wayland.xwayland import XwaylandWindows
from app.desktop.x11.apps import DesktopEntries

_log = logging.getLogger(__name__)
_NEEDED = frozenset({"capture", "pointer", "keyboard", "windows"})
"""Without one of these abilities, a screen cannot be worked on at all."""
Sent = Callable[[bool], None]
"""Called for each event of input that is sent, with whether it may have moved a window."""


class OwnMeans:
    """What a compositor of the wlroots family gives for seeing and acting: its own protocols."""

    access = None
    locker = staticmethod(locker)

    def __init__(self, environment: Mapping[str, str], compositor: Compositor) -> None:
        copier = Copier(compositor)
        self._compositor = compositor
        self.screen, self.pictures = WaylandScreen(compositor, copier), WindowPictures(compositor, copier)
        self.shows_pointer = self.screen.shows_pointer
        self.mouse = VirtualPointer(compositor, self.screen.extent)
        self.clipboard = WaylandClipboard(compositor)
        self.listing = listing_of(environment, compositor, self.pictures, self.screen)
        self.touches = TouchListener(on_compositor(compositor), partial(catch_up, compositor))

    def typing(self, windows: WaylandWindows, sent: Sent, stop: StopFlag) -> tuple[Keyboard, ExactTyping]:
        keyboard = WaylandKeyboard(self._compositor, lambda: windows.keyboard().place, sent)
        return keyboard, WaylandTyping(keyboard, windows, stop)

    def close(self) -> None:
        return


class PortalMeans:
    """What GNOME and KDE give: their portals. The compositor tells the monitors, and on KDE gives the clipboard.

    A GNOME that Wisp started for a task needs no portal, because nobody has to be asked.
    """

    def __init__(self, environment: Mapping[str, str], compositor: Compositor, bus: SessionBus) -> None:
        self._bus = bus
        self.screen = PortalScreen(compositor)
        self.shows_pointer = self.screen.shows_pointer
        self.pictures = WindowPictures(compositor, Copier(compositor))
        is_own = mutter.is_own(environment, bus)
        self.access = MutterSession(environment, bus, self) if is_own else PortalSession(bus, self)
        has_clipboard = compositor.has(*CLIPBOARDS)
        self.clipboard = WaylandClipboard(compositor) if has_clipboard else PortalClipboard(self.access)
        self.listing = desktop_listing(environment, bus)
        self.mouse = PortalHands(self.listing.pointer)
        if compositor.has(IDLE):
            self.touches = TouchListener(on_compositor(compositor), partial(catch_up, compositor))
        else:
            self.touches = TouchListener(on_gnome(bus), partial(catch_up_on_gnome, bus))
        self.locker = partial(saver, bus)
        bus.watch(asyncio.get_running_loop())

    async def begin(self, connect: Callable[[], int], streams: tuple[Stream, ...], hands: int) -> None:
        self.mouse.begin(hands)
        await self.screen.begin(connect, streams)

    def end(self) -> None:
        self.mouse.end()
        self.screen.end()

    def typing(self, windows: WaylandWindows, sent: Sent, stop: StopFlag) -> tuple[Keyboard, ExactTyping]:
        keyboard = PortalKeyboard(self.mouse, lambda: windows.keyboard().place, sent)
        return keyboard, PastedTyping(keyboard, windows, self.clipboard, stop)

    def close(self) -> None:
        self.access.close()
        self._bus.close()


def make_backend(environment: Mapping[str, str], stop: StopFlag, private: Private) -> Backend:
    """Make the backend, on the desktop thread and inside its running event loop.

    Raises NeedsPerson if the compositor cannot be reached.
    """
    compositor = Compositor(environment)
    try:
        means = _means(environment, compositor)
    except NeedsPerson as why:
        compositor.close()
        return _without_screen(compositor.path.name, why, stop)
    listing, touches, x11 = means.listing, means.touches, XwaylandWindows(environment)

    def known() -> tuple[Window, ...]:
        return (*windows.shown(), *(window for window in windows.all() if window.is_minimised))

    accessibility = AtSpi(environment, known, private, means.screen.monitors)
    windows = WaylandWindows(compositor, listing, x11, means.pictures, accessibility)
    apps = DesktopEntries(environment)

    def sent(may_move: bool) -> None:  # noqa: FBT001 - the only argument of a callback
        touches.sent()
        if may_move:
            listing.doubt(all_of_them=False)

    pointer = WaylandPointer(means.mouse, listing.pointer, lambda point: windows.under(point).place, sent)
    keyboard, exact = means.typing(windows, sent, stop)
    compositor.watch(asyncio.get_running_loop())

    async def close() -> None:
        with ExitStack() as leaving:
            for leave in (compositor.close, means.close, x11.close, apps.close, touches.close, listing.leave):
                leaving.callback(leave)
            if isinstance(means.clipboard, WaylandClipboard):
                await hand_over(means.clipboard, environment)
            await accessibility.close()

    def listen(stop_key: Chord, on_stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        """Notice the person's hands, and the stop key where the desktop passes it on: others run `wisp stop` at it."""

        def noticed() -> None:
            pointer.moved_by_hand()
            listing.doubt(all_of_them=True)
            touched()

        ending = ExitStack()
        ending.callback(touches.listen(noticed))
        ending.callback(HeardKey(environment, "stop", stop_key, on_stop, partial(_lose, stop_key)).close)
        return ending.close

    return Backend(
        name=f"wayland:{compositor.path.name}",
        screen=means.screen,
        pointer=pointer,
        keyboard=keyboard,
        exact=exact,
        windows=windows,
        apps=apps,
        clipboard=means.clipboard,
        accessibility=accessibility,
        close=close,
        listen=listen,
        reach=partial(_reach, once_a_second(means.locker)),
        access=means.access,
        shows_pointer=means.shows_pointer,
        is_streamed=isinstance(means, PortalMeans),
    )


def _means(environment: Mapping[str, str], compositor: Compositor) -> OwnMeans | PortalMeans:
    """By what this session is seen and driven. Raises NeedsPerson if there is nothing for that."""
    if not is_driven_by_portals(compositor):
        return OwnMeans(environment, compositor)
    try:
        bus = portals_of(environment)
    except NeedsPerson as error:
        raise _lacks(compositor, f"its portals cannot be asked. {error.for_people()}") from None
    if bus is None:
        raise _lacks(compositor, "has no portals: install xdg-desktop-portal with your desktop's part (-gnome, -kde).")
    return PortalMeans(environment, compositor, bus)


def _lacks(compositor: Compositor, portals: str) -> NeedsPerson:
    return NeedsPerson(
        "This Wayland session does not let Wisp work on its screen: it offers programs no "
        f"{', '.join(_lacking(compositor))}, and {portals} sway, labwc, Hyprland, Wayfire and river need none. "
        "Or log out and choose an X11 session (“on Xorg”)."
    )


def _lacking(compositor: Compositor) -> list[str]:
    return [ability for ability in compositor.missing() if ability in _NEEDED]


def is_driven_by_portals(compositor: Compositor) -> bool:
    """True if the compositor lacks protocols of its own that a screen cannot be worked on without."""
    return bool(_lacking(compositor))


def _lose(stop_key: Chord, owner: str) -> None:
    _log.warning("The stop key %s does not stop Wisp here: %s has it.", stop_key, owner)


def portals_of(environment: Mapping[str, str]) -> SessionBus | None:
    """Return a connection to the session bus if the desktop has portals there, or is Wisp's own.

    Raises NeedsPerson if there is no session bus.
    """
    bus = SessionBus(environment)
    if is_offered(bus) or mutter.is_own(environment, bus):
        return bus
    bus.close()
    return None


def desktop_listing(environment: Mapping[str, str], bus: SessionBus) -> Listing:
    """Return how windows are listed on GNOME or KDE."""
    if kwin.is_here(bus):
        return KwinWindows(bus)
    return GnomeWindows(bus) if gnome.is_here(bus) else DescribedWindows(bus, environment)


def listing_of(
    environment: Mapping[str, str], compositor: Compositor, pictures: WindowPictures, screen: WaylandScreen
) -> Listing:
    """Windows are listed by sway's or Hyprland's messages, else by what every compositor tells."""
    for path in _sockets_of_sway(environment):
        with suppress(ToolFailed):  # because it may be that of a sway that has ended
            return SwayWindows(path)
    if signature := environment.get("HYPRLAND_INSTANCE_SIGNATURE"):
        return HyprlandWindows(Path(environment.get("XDG_RUNTIME_DIR", "/tmp"), "hypr", signature))
    return Toplevels(compositor, pictures, screen)


def _without_screen(name: str, why: NeedsPerson, stop: StopFlag) -> Backend:
    """Everything on it waits for the person. Files, commands and the web need no screen."""

    def refuse() -> None:
        raise why

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
        raise NeedsPerson(f"The screen is locked ({name}). Unlock it, then ask again.")
