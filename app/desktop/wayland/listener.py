"""Notices that the person uses mouse or keyboard, by the desktop's reports of idleness.

https://wayland.app/protocols/ext-idle-notify-v1, https://wayland.app/protocols/kde-idle, and GNOME's idle monitor
(https://gitlab.gnome.org/GNOME/mutter/-/blob/main/data/dbus-interfaces/org.gnome.Mutter.IdleMonitor.xml). They say
that nobody touched anything for a while, and then that somebody did, without saying who: what comes shortly after
Wisp's own input is Wisp's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.compositor import IDLE, KDE_IDLE, Compositor
from app.desktop.wayland.wire import Events, Wire

IDLE_MS = 100
_OWN_S = 0.1
_MONITOR = Place("org.gnome.Mutter.IdleMonitor", "/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor")
_SETTLED_S = 0.18
"""So long after Wisp's last input the seat must be idle, unless somebody else touches it."""
_LOOK_AGAIN_S, _MOST_LOOKS = 0.1, 50


Watch = Callable[[Callable[[], None], Callable[[], None]], None]
"""`watch(rests, moves)` calls `rests` when nobody touched anything for `IDLE_MS`, and `moves` when somebody does."""


def watch_idleness(
    compositor: Compositor, wire: Wire, idle_ms: int, rests: Callable[[], None], moves: Callable[[], None]
) -> None:
    """Call `rests` when the seat was idle for so long, and `moves` when it no longer is, if the compositor tells."""
    events: Events = {0: ("", rests), 1: ("", moves)}
    seat = compositor.seat()
    if compositor.has(IDLE):
        wire.create(compositor.bound(IDLE), 1, "nuo", idle_ms, seat, events=events)
    elif compositor.has(KDE_IDLE):
        wire.create(compositor.bound(KDE_IDLE), 0, "nou", seat, idle_ms, events=events)


def on_compositor(compositor: Compositor) -> Watch:
    """Hands are noticed by a compositor's own protocols."""

    def watch(rests: Callable[[], None], moves: Callable[[], None]) -> None:
        compositor.on_connect(lambda wire: watch_idleness(compositor, wire, IDLE_MS, rests, moves))

    return watch


def catch_up(compositor: Compositor) -> None:
    """Let a compositor tell what it has to tell."""
    compositor.wire.roundtrip()


def catch_up_on_gnome(bus: SessionBus) -> None:
    """Let GNOME's idle monitor tell what it has to tell."""
    bus.call(_MONITOR, "GetIdletime")  # signals come before the answer
    bus.pump(0)


def on_gnome(bus: SessionBus) -> Watch:
    """Hands are noticed by GNOME's idle monitor."""

    def watch(rests: Callable[[], None], moves: Callable[[], None]) -> None:
        def fired(number: int) -> None:
            if number == idle:
                active.add(bus.call(_MONITOR, "AddUserActiveWatch"))
                rests()
            elif number in active:  # such a watch is told once
                active.remove(number)
                moves()

        active = set[int]()
        bus.hear(_MONITOR, "WatchFired", fired)
        idle = bus.call(_MONITOR, "AddIdleWatch", "t", IDLE_MS)

    return watch


class TouchListener:
    """Calls the function given to `listen` when the person touches mouse or keyboard. Runs on the desktop thread.

    A program that keeps the screen awake, such as a film, stops the reports: nothing is concluded from silence then.
    `catch_up` returns once all reports until now were passed on.
    """

    def __init__(self, watch: Watch, catch_up: Callable[[], object]) -> None:
        self._catch_up = catch_up
        self._listeners: list[Callable[[], None]] = []
        self._sent_at = self._rested_at = 0.0
        self._settling: asyncio.TimerHandle | None = None
        """Until it fires, a report may be of Wisp's own input."""
        self._has_rested = False
        """Whether the seat was reported idle since the last time that Wisp's input ended."""
        self._loop = asyncio.get_running_loop()
        self._looking: asyncio.TimerHandle | None = None
        watch(self._rests, self._moves)

    def listen(self, touched: Callable[[], None]) -> Callable[[], None]:
        """Call `touched` for each touch that is noticed, on the desktop thread. Returns what ends that."""
        self._listeners.append(touched)
        return lambda: self._listeners.remove(touched)

    def sent(self) -> None:
        """Note that Wisp sends input now."""
        self._sent_at = time.monotonic()
        if self._settling is None:
            self._settling = self._loop.call_later(_OWN_S, self._settle)
        if self._looking is None and self._has_rested:
            self._look_later(_SETTLED_S, _MOST_LOOKS)

    def _settle(self) -> None:
        """Take what is reported from now on for a hand's. A loop that was busy passes on what came before first."""
        left_s = self._sent_at + _OWN_S - time.monotonic()
        self._settling = self._loop.call_later(left_s, self._settle) if left_s > 0 else None

    def _rests(self) -> None:
        self._has_rested = True
        self._rested_at = time.monotonic()
        if self._looking:
            self._looking.cancel()
            self._looking = None

    def _moves(self) -> None:
        if self._settling is None:
            self._tell()

    def _look_later(self, after_s: float, looks: int) -> None:
        self._looking = self._loop.call_later(after_s, self._look, looks)

    def _look(self, looks: int) -> None:
        """Look whether the seat rests after Wisp's input. While it does not, somebody else is at it."""
        self._looking = None
        left_s = self._sent_at + _SETTLED_S - time.monotonic()
        if left_s > 0:
            self._look_later(left_s, looks)
            return
        self._catch_up()  # because a busy compositor tells late
        if self._rested_at > self._sent_at:
            return
        if looks:
            self._tell()
            self._look_later(_LOOK_AGAIN_S, looks - 1)
        else:
            self._has_rested = False  # because it may be a film, and no hand

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def close(self) -> None:
        for timer in (self._looking, self._settling):
            if timer:
                timer.cancel()
