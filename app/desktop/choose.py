"""Choose the backend for this machine. Elsewhere the system counts only where its own calls differ."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.errors import NeedsPerson
from app.desktop.backends import Apps, Backend, Curtain, Window
from app.desktop.desktop import STOP_KEY, Desktop
from app.desktop.privacy import Private, Veiled, private_by
from app.desktop.takeover import Reserved, StopFlag, nothing_reserved

if TYPE_CHECKING:
    from app.desktop.apart import DesktopApart


def open_desktop(
    *,
    curtain: Curtain | None = None,
    dry_run: bool = False,
    is_like_here: bool = False,
    environment: Mapping[str, str] | None = None,
    stop_key: str = STOP_KEY,
    private: Private | None = None,
    reserved: Reserved = nothing_reserved,
    is_portable: bool = False,
) -> Desktop:
    """Open the desktop of this session. With `dry_run`, nothing really happens on it; `is_like_here`: it begins with
    the windows and programs of this machine.

    `environment` (default: this process's) says which display to use, and is passed to programs that Wisp starts.
    `stop_key` is the chord that stops everything at once. `private` windows (default: those of password managers) are
    never seen. `reserved` chords and the stop key are never pressed. `is_portable` uses pyautogui, pynput and mss on
    X11 too, which Windows and macOS always do. Raises NeedsPerson if there is no display.
    """
    unseen = private or private_by("")
    if dry_run:
        from app.desktop.headless import HeadlessDesktop

        windows = windows_here(unseen) if is_like_here else ()
        programs = programs_here().installed() if is_like_here else ()
        shown = HeadlessDesktop(windows=windows, programs=programs)
        return Desktop(lambda stop: _veiled(shown.backend(stop), unseen), curtain)
    environment = dict(os.environ if environment is None else environment)

    def make(stop: StopFlag) -> Backend:
        return _veiled(_native(environment, stop, unseen, is_portable=is_portable), unseen)

    return Desktop(make, curtain, stop_key=stop_key, reserved=reserved)


def _veiled(backend: Backend, private: Private) -> Backend:
    veiled = Veiled(backend.screen, backend.windows, private)
    return replace(backend, screen=veiled, is_private=private.hides_window)


if sys.platform == "win32":

    def _native(environment: Mapping[str, str], stop: StopFlag, private: Private, *, is_portable: bool) -> Backend:  # noqa: ARG001
        from app.desktop.windows import make_backend

        return make_backend()

elif sys.platform == "darwin":

    def _native(environment: Mapping[str, str], stop: StopFlag, private: Private, *, is_portable: bool) -> Backend:  # noqa: ARG001
        from app.desktop.macos import make_backend

        return make_backend()

else:

    def _native(environment: Mapping[str, str], stop: StopFlag, private: Private, *, is_portable: bool) -> Backend:
        if environment.get("WAYLAND_DISPLAY"):
            from app.desktop.wayland.backend import make_backend as make_for_wayland

            return make_for_wayland(environment, stop, private)
        from app.desktop.x11.backend import make_backend

        return make_backend(environment, stop, private, is_portable=is_portable)


async def why_occupied(environment: Mapping[str, str]) -> str:
    """Return why the person's screen cannot be used now (locked, in use, gone). Returns "" if it can, or if unknown."""
    if sys.platform == "win32" or sys.platform == "darwin":
        return ""
    else:
        if environment.get("WAYLAND_DISPLAY"):
            from app.desktop.wayland.occupation import why_occupied as why_on_wayland

            return await why_on_wayland(environment)
        from app.desktop.x11.occupation import why_occupied as why

        return await why(environment)


def programs_here() -> Apps:
    """Needs no connection to the screen."""
    if sys.platform == "win32":
        from app.desktop.windows import StartMenu

        return StartMenu()
    elif sys.platform == "darwin":
        from app.desktop.macos import MacApps

        return MacApps()
    else:
        from app.desktop.x11.apps import DesktopEntries

        return DesktopEntries(os.environ)


def windows_here(private: Private) -> tuple[Window, ...]:
    """Return the open windows, the one in front first, without private ones. Changes nothing, and blocks.

    Returns () where only a desktop that is in use tells its windows: on Wayland, Windows and macOS.
    """
    if sys.platform == "win32" or sys.platform == "darwin" or "WAYLAND_DISPLAY" in os.environ:
        return ()
    else:
        from app.desktop.x11.connection import Connection
        from app.desktop.x11.windows import X11Windows

        async def open_ones() -> tuple[Window, ...]:
            with closing(Connection(os.environ)) as connection:
                return X11Windows(connection).all()

        with ThreadPoolExecutor(1) as apart:  # because the caller may run an event loop
            try:
                windows = apart.submit(lambda: asyncio.run(open_ones())).result()
            except NeedsPerson:  # because there is no display
                return ()
        return tuple(window for window in windows if not private.hides_window(window))


def desktop_apart(size: tuple[int, int] = (1280, 800), home: Path | None = None) -> DesktopApart:
    """Return a desktop apart from the person's, of the first kind that is installed. It starts when it is entered.

    `size` is that of its screen, in pixels. `home` is deleted with it. Raises NeedsPerson there if none is installed.
    """
    from app.desktop.wayland.virtual import GnomeDesktop, SwayDesktop
    from app.desktop.x11.virtual import VirtualDesktop

    kinds = (VirtualDesktop, SwayDesktop, GnomeDesktop)
    return next((kind for kind in kinds if not kind.missing_packages()), VirtualDesktop)(*size, home)
