"""A key that GNOME or KDE passes on to Wisp, whatever program is in front."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Protocol

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.keys import Chord
from app.desktop.wayland import gnome, kwin
from app.desktop.wayland.bus import SessionBus
from app.desktop.wayland.gnome import GnomeKey
from app.desktop.wayland.kwin import KwinKey

_log = logging.getLogger(__name__)
_LEAVING_S = 1.0


class Grabbed(Protocol):
    """A key of the desktop's. `pressed` is called when the bus is watched."""

    def grab(self) -> str:
        """Take the key. Returns what has it instead, or ""."""
        ...

    def leave(self) -> None: ...


def key_of_desktop(bus: SessionBus, what_for: str, chord: Chord, pressed: Callable[[], None]) -> Grabbed | None:
    """The key is not yet taken; None where the desktop passes none on."""
    if kwin.is_here(bus):
        return KwinKey(bus, what_for, chord, pressed)
    return GnomeKey(bus, what_for, chord, pressed) if gnome.is_shell_here(bus) else None


class HeardKey:
    """Hears a key on a thread of its own, so that no busy desktop thread and no busy window delays it.

    Every Wisp that wants the key hears it. `pressed` and `lost` are called on that thread, `lost` with what has the key
    instead. Elsewhere than on GNOME and KDE nothing happens.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        what_for: str,
        chord: Chord,
        pressed: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        self._wish = what_for, chord, pressed
        self._lost = lost
        self._loop = asyncio.new_event_loop()
        self._is_over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(environment,), name=f"{what_for} key", daemon=True)
        self._thread.start()

    def _run(self, environment: Mapping[str, str]) -> None:
        with closing(self._loop):
            self._loop.run_until_complete(self._hear(environment))

    async def _hear(self, environment: Mapping[str, str]) -> None:
        try:
            bus = SessionBus(environment)
        except NeedsPerson:  # because a session may have none
            return
        try:
            key = key_of_desktop(bus, *self._wish)
            if key is None:
                return
            bus.watch(self._loop)
            if owner := key.grab():
                self._lost(owner)
            await self._is_over.wait()
            key.leave()
        except ToolFailed as error:
            _log.warning("The desktop passes the key %s on no more: %s", self._wish[1], error)
        finally:
            bus.close()

    def close(self) -> None:
        """Hear the key no more."""
        with suppress(RuntimeError):  # because the thread may have ended
            self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join(_LEAVING_S)
