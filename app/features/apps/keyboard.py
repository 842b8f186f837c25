"""Leave the keyboard with the program that the person works in, while Wisp opens a window by itself. X11 only.

Chromium asks for the keyboard whenever it shows a window, whatever `DESKTOP_STARTUP_ID` says, and has no switch
against it. So the keyboard goes back as soon as a surface gets it, within a few milliseconds.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from Xlib.display import Display

_CLASS = "wisp-surface"
_AFTER_S = 2.0
_LOOK_S = 0.2


class KeyboardGuard:
    """Keeps the keyboard where it is, until the person opens a surface."""

    def __init__(self) -> None:
        self._watch = _Watch()

    def release(self) -> None:
        """Give nothing back any longer."""
        self._watch.is_over.set()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within this block and for a moment afterwards, give the keyboard back when a surface's window gets it.

        A press or a switch of windows by the person stays as they want it.
        """
        self.release()
        self._watch = watch = _Watch()
        if os.environ.get("DISPLAY"):
            threading.Thread(target=_follow, args=(watch,), name="keyboard", daemon=True).start()
            watch.is_ready.wait(_LOOK_S)
        try:
            yield
        finally:
            watch.is_done.set()


class _Watch:
    """What the thread that watches the keyboard and the worker let each other know."""

    def __init__(self) -> None:
        self.is_ready, self.is_done, self.is_over = threading.Event(), threading.Event(), threading.Event()


def _follow(watch: _Watch) -> None:
    from Xlib.display import Display
    from Xlib.error import DisplayError, XError

    try:
        with suppress(DisplayError, XError, OSError):  # because the person's window or the display may be gone
            display = Display()
            try:
                _give_back(display, watch)
            finally:
                display.close()
    finally:
        watch.is_ready.set()


def _give_back(display: Display, watch: _Watch) -> None:
    from Xlib import X

    display.set_error_handler(lambda *_: None)
    held: Any = display.get_input_focus().focus
    if isinstance(held, int) or _is_surface(held):
        return
    held.change_attributes(event_mask=X.FocusChangeMask)
    display.sync()
    watch.is_ready.set()
    end = float("inf")
    while time.monotonic() < end and not watch.is_over.is_set():
        if watch.is_done.is_set():
            end = min(end, time.monotonic() + _AFTER_S)
        if not display.pending_events():
            select.select([display], [], [], _LOOK_S)
            continue
        event = display.next_event()
        if event.type != X.FocusOut or event.mode != X.NotifyNormal:
            continue
        now: Any = display.get_input_focus().focus
        if not watch.is_over.is_set() and not isinstance(now, int) and _is_surface(now) and not _is_pressed(display):
            display.set_input_focus(held, X.RevertToParent, X.CurrentTime)
            display.sync()


def _is_pressed(display: Display) -> bool:
    from Xlib import X

    buttons = X.Button1Mask | X.Button2Mask | X.Button3Mask
    return bool(display.screen().root.query_pointer().mask & buttons)


def _is_surface(window: Any) -> bool:
    """True, too, if a window around it is that of a surface."""
    while window and not isinstance(window, int):
        if (window.get_wm_class() or ("", ""))[1] == _CLASS:
            return True
        window = window.query_tree().parent
    return False
