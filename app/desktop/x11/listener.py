"""Observe the person's own devices on a separate thread: the stop key, the stop corner, mouse movements.

It needs neither the desktop thread nor an event loop, so it works when they hang. Raw XInput2 events name their device,
so events of XTEST (Wisp's own) are ignored. The stop key is also grabbed: no program sees it. It works from any device,
because a remote desktop types through XTEST as well, and for every Wisp, whichever of them grabbed it.
"""

from __future__ import annotations

import logging
import os
import select
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.error import BadAccess, CatchError, ConnectionClosedError, DisplayError
from Xlib.ext import ge, xinput

from app.desktop.keys import Chord
from app.desktop.x11.keyboard import Keymap, group_of, symbol_of

_log = logging.getLogger(__name__)

# The layout is that of XIRawEvent: https://www.x.org/releases/X11R7.7/doc/inputproto/XI2proto.txt
_RAW = struct.Struct("<HIIH")
"""The beginning of a raw event: device, time, detail, source device."""
_EVENTS = xinput.RawKeyPressMask | xinput.RawButtonPressMask | xinput.RawMotionMask
_MASKS = {
    "Shift_L": X.ShiftMask,
    "Control_L": X.ControlMask,
    "Alt_L": X.Mod1Mask,
    "Super_L": X.Mod4Mask,
}
# Grab the key for each combination of locks, because the server compares modifiers exactly.
_LOCKS = (0, X.LockMask, X.Mod2Mask, X.LockMask | X.Mod2Mask)
_MODIFIERS = X.ShiftMask | X.ControlMask | X.Mod1Mask | X.Mod4Mask
_SWITCH_S = 0.001
"""Python's default is 5 ms, in which a busy thread can type two more slices before this one runs."""
_JOLT = 3
"""This many movements in a row mean a hand; a single one may be a bump against the table."""


def grab(display: Any, key: Chord) -> tuple[int, int, bool] | None:
    """Grab the key, so that no other program gets it. Returns its code, its modifiers, and whether the grab worked.

    Returns None if the keyboard lacks the key. The grab ends when the display is closed.
    """
    root = display.screen().root
    *held, last = key.keys
    stroke = Keymap(display, group_of(int(root.query_pointer().mask))).stroke(symbol_of(last))
    if stroke is None or any(name not in _MASKS for name in held):
        return None
    mask = sum(_MASKS[name] for name in held)
    taken = CatchError(BadAccess)
    for lock in _LOCKS:
        root.grab_key(stroke.keycode, mask | lock, False, X.GrabModeAsync, X.GrabModeAsync, onerror=taken)
    display.sync()
    return stroke.keycode, mask, not taken.get_error()


class Listener:
    """Observes input on a separate thread, which calls `stop` and `touched`. These must return at once."""

    def __init__(
        self, environment: Mapping[str, str], stop_key: Chord, stop: Callable[[], None], touched: Callable[[], None]
    ) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
        self._stop = stop
        self._touched = touched
        self._display = Display(environment["DISPLAY"])
        self._root = self._display.screen().root
        self._moves = 0
        self._ours: frozenset[int] = frozenset()
        self._keycode = 0
        self._mask = 0
        self._wake_read, self._wake_write = os.pipe()  # so that `close` can end a thread that waits in select
        self._select_events()
        self._grab(stop_key)
        # Daemon, so that a hung X server does not keep Wisp alive.
        self._thread = threading.Thread(target=self._live, name="stop key", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and the grab of the stop key."""
        os.write(self._wake_write, b"x")
        self._thread.join(2)
        with suppress(ConnectionClosedError, OSError):  # because the screen may have gone before Wisp does
            self._display.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _select_events(self) -> None:
        if not self._display.query_extension("XInputExtension"):
            _log.warning("The X server has no XInput2: taking over by hand is not noticed.")
            return
        # From 2.1 on raw events come also while another program holds the key that is pressed.
        opcode = self._display.display.get_extension_major(xinput.extname)
        xinput.XIQueryVersion(display=self._display.display, opcode=opcode, major_version=2, minor_version=2)
        devices = self._display.xinput_query_device(xinput.AllDevices).devices
        self._ours = frozenset(d.deviceid for d in devices if "XTEST" in _text(d.name))
        self._root.xinput_select_events([(xinput.AllMasterDevices, _EVENTS)])

    def _grab(self, stop_key: Chord) -> None:
        grabbed = grab(self._display, stop_key)
        if grabbed is None:
            _log.warning("The stop key %s is not on this keyboard.", stop_key)
            return
        self._keycode, self._mask, is_ours = grabbed
        if not is_ours:
            _log.info("Another program has taken the stop key, perhaps another Wisp. It is heard all the same.")

    def _live(self) -> None:
        try:
            while True:
                while self._display.pending_events():
                    self._heard(self._display.next_event())
                ready, _, _ = select.select([self._display.fileno(), self._wake_read], [], [])
                if self._wake_read in ready:
                    return
        except (ConnectionClosedError, DisplayError, OSError) as error:  # because the X server may end before Wisp does
            _log.warning("The stop key is no longer heard: %s", error)

    def _heard(self, event: Any) -> None:
        if event.type == X.KeyPress and event.detail == self._keycode:
            self._stop()
        elif event.type == ge.GenericEventCode:
            self._heard_raw(event.evtype, _RAW.unpack_from(event.data))

    def _heard_raw(self, kind: int, told: tuple[int, int, int, int]) -> None:
        _device, _time, detail, source = told
        is_made = source in self._ours
        if kind == xinput.RawKeyPress and detail == self._keycode and self._is_held():
            self._stop()
        elif kind == xinput.RawMotion and not is_made:
            self._moved()
        elif not is_made:
            self._touched()

    def _is_held(self) -> bool:
        return bool(self._keycode) and int(self._root.query_pointer().mask) & _MODIFIERS == self._mask

    def _moved(self) -> None:
        told = self._root.query_pointer()
        if (told.root_x, told.root_y) == (0, 0):
            self._stop()
        self._moves += 1
        if self._moves >= _JOLT:
            self._touched()


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
