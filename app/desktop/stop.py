"""The person's stop: one flag that every low-level event asks before it happens."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.base.errors import Cancelled


class StopFlag:
    """Raised from any thread, without a loop or a lock held; stays up until `lower`."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_up(self) -> bool:
        return self._up.is_set()

    def raise_(self) -> None:
        """Stop everything; listeners are told once, on the calling thread."""
        if self._up.is_set():
            return
        self._up.set()
        for listener in tuple(self._listeners):
            listener()

    def lower(self) -> None:
        """Input may flow again: the person asked for something new."""
        self._up.clear()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the stop is raised; it must return at once."""
        self._listeners.append(listener)

    def check(self) -> None:
        """Raise Cancelled while the stop is up. Called before every low-level event."""
        if self._up.is_set():
            raise Cancelled("Stopped: no further input was sent. The desktop is as the last result left it.")
