"""Block Wisp's input after a stop, and while the person uses the mouse or keyboard."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from app.base import own_files, paths
from app.base.clock import Clock
from app.base.errors import Cancelled, ToolFailed, ToolMisuse
from app.base.geometry import Point
from app.base.phrases import Phrase
from app.desktop.backends import Backend
from app.desktop.keys import Chord, chord


class StopFlag:
    """Stops all input. Any thread may raise it, without an event loop or a lock. It stays raised until `lower`."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_up(self) -> bool:
        return self._up.is_set()

    def raise_(self) -> None:
        """Stop everything. Calls each listener once, on the calling thread."""
        if self._up.is_set():
            return
        self._up.set()
        for listener in tuple(self._listeners):
            listener()

    def lower(self) -> None:
        """Allow input again: the person asked for something new."""
        self._up.clear()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the flag is raised. It must return at once."""
        self._listeners.append(listener)

    def check(self) -> None:
        """Raise Cancelled while the flag is raised. Called before every low-level event."""
        if self._up.is_set():
            raise Cancelled("Stopped: no further input was sent. The desktop is as the last result left it.")


IDLE_S = 1.5
"""Wisp goes on this long after the person's last touch."""
_WHILE_ACTING_S = 4.0
"""A touch this soon after an action of Wisp means taking over; later, the person is just working."""
_POLL_S = 0.05

OnDriving = Callable[[bool], None]


class TakeoverMonitor:
    """Notices when the person uses the mouse or keyboard while Wisp acts.

    `touched` is called from the listening thread, everything else on the desktop thread.
    """

    def __init__(self, stop: StopFlag, clock: Clock, on_act: Callable[[], None] = lambda: None) -> None:
        self._stop = stop
        self._clock = clock
        self._on_act = on_act
        self._acted_at = -math.inf
        self._touched_at = -math.inf
        self._listeners: list[OnDriving] = []

    def listen(self, listener: OnDriving) -> None:
        """Call `listener` with True when the person takes over, and with False when Wisp goes on."""
        self._listeners.append(listener)

    def check(self) -> None:
        """Raise Cancelled while the stop flag is raised. Called before every low-level event."""
        self._stop.check()

    def acting(self) -> None:
        """Note that Wisp sends input now, and call `on_act`."""
        self._acted_at = self._clock.now()
        self._on_act()

    def touched(self) -> None:
        """Note that the person moved the mouse or pressed a key or button. Counts only while Wisp acts."""
        now = self._clock.now()
        if now - self._acted_at < _WHILE_ACTING_S or self.is_person_driving():
            self._touched_at = now

    def is_person_driving(self) -> bool:
        """True if the person used mouse or keyboard a moment ago, so that Wisp must wait."""
        return self._clock.now() - self._touched_at < IDLE_S

    def take_back(self) -> None:
        """Let Wisp act again at once, because the person asked for it."""
        self._touched_at = -math.inf

    async def free(self) -> bool:
        """Wait until Wisp may act. Returns True if the person used mouse or keys meanwhile. Raises Cancelled."""
        self.check()
        if not self.is_person_driving():
            return False
        self._tell(is_driving=True)
        try:
            while self.is_person_driving():
                self.check()
                await asyncio.sleep(_POLL_S)
        finally:
            self._tell(is_driving=False)
        return True

    def _tell(self, *, is_driving: bool) -> None:
        for listener in tuple(self._listeners):
            listener(is_driving)


_log = logging.getLogger(__name__)

Reserved = Callable[[], Iterable[str]]
"""Returns the chords that only the person may press, from the current settings."""


def nothing_reserved() -> Iterable[str]:
    return ()


class InputGuard:
    """Refuses input that is reserved for the person. Each check raises ToolFailed with a sentence for the model.

    Runs on the desktop thread.
    """

    def __init__(self, backend: Backend, reserved: Reserved) -> None:
        self._backend = backend
        self._reserved = reserved

    def check_key(self, key: str, held: Sequence[str]) -> None:
        """Check a key before it is pressed while others are held."""
        self.check_keyboard()
        down = {self._place(name) for name in (*held, key)}
        for one in self._chords():
            if {self._place(name) for name in one.keys} <= down:
                what = Phrase("{keys} is a key for you alone: it stops or opens Wisp.", {"keys": str(one)})
                raise ToolFailed(what, "It belongs to the person alone. No tool presses it.")

    def check_keyboard(self) -> None:
        """Check where text goes before it is typed."""
        if self._backend.windows.keyboard().is_own:
            raise ToolFailed(
                "The keyboard is in one of Wisp's own windows.",
                "There only the person types. Bring the program forward that is meant, with focus_window.",
            )

    def check_press(self, at: Point) -> None:
        """Check a place before a button is pressed there, or released after a drag."""
        if self._backend.windows.under(at).is_own:
            raise ToolFailed("A window of Wisp is there.", "In it only the person presses. Act somewhere else.")

    def _place(self, name: str) -> str:
        """The physical key; left and right modifiers have the same name."""
        if name.endswith(("_L", "_R")):
            return name[:-2]
        return self._backend.keyboard.place(name)

    def _chords(self) -> Iterator[Chord]:
        for text in self._reserved():
            try:
                yield chord(text)
            except ToolMisuse as error:  # Skip only this key, so that the other stop keys still work.
                _log.warning("The key %r of the settings is not known here: %s", text, error)


_HELD_S = 60.0
"""A process that was idle for this long no longer holds the desktop."""


class DesktopLock:
    """A file lock, so that only one Wisp acts on a desktop. `name` identifies it (the display).

    Cheap enough to take before every action.
    """

    def __init__(self, name: str) -> None:
        self._path: Path = paths.state_dir() / f"hands{re.sub(r'[^0-9A-Za-z.]', '_', name)}.lock"

    def take(self) -> None:
        """Take or renew the lock. Raises ToolFailed while another living process holds it."""
        with own_files.locked(self._path):
            holder = self._holder()
            if holder and holder != os.getpid():
                raise ToolFailed(
                    f"Another Wisp (process {holder}) worked on this desktop within the last minute. Say it there, "
                    "close that Wisp, or try again when it has done nothing for a minute."
                )
            own_files.write(self._path, json.dumps({"pid": os.getpid(), "at": time.time()}))

    def let_go(self) -> None:
        """Release the lock if this process has it."""
        if self._holder() == os.getpid():
            self._path.unlink(missing_ok=True)

    def _holder(self) -> int:
        import psutil

        try:
            stamp = json.loads(self._path.read_text(encoding="utf-8"))
            pid, at = int(stamp["pid"]), float(stamp["at"])
        # No process counts as the holder, because the file is missing or being written.
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return pid if time.time() - at < _HELD_S and psutil.pid_exists(pid) else 0
