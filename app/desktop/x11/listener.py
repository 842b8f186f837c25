"""Observe the person's own devices on a separate thread: the stop key, the stop corner, mouse movements.

It needs neither the desktop thread nor an event loop, so it works when they hang. Raw XInput2 events name their device,
so events of XTEST (Wisp's own) are ignored. The stop key is also grabbed: no program sees it. It works from any device,
because a remote desktop types through XTEST as well, and for every Wisp, whichever of them grabbed it, whatever else is
held, and while a menu of another program has grabbed the keyboard.
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
from typing import Any, NamedTuple

from Xlib import X
from Xlib.display import Display
from Xlib.error import BadAccess, CatchError, ConnectionClosedError, DisplayError
from Xlib.ext import ge, xinput

from app.desktop.keys import Chord
from app.desktop.x11.keyboard import Keymap, group_of, symbol_of

_log = logging.getLogger(__name__)

# The layout is that of XIRawEvent: https://www.x.org/releases/X11R7.7/doc/inputproto/XI2proto.txt
_RAW, _RAW_AT = struct.Struct("=H6xIH"), 8
"""Parts of a raw event: its kind, detail and source device. Not read are the device that has it and the time."""
_EVENTS = xinput.RawKeyPressMask | xinput.RawKeyReleaseMask | xinput.RawButtonPressMask | xinput.RawMotionMask
_MASKS = {
    "Shift_L": X.ShiftMask,
    "Control_L": X.ControlMask,
    "Alt_L": X.Mod1Mask,
    "Super_L": X.Mod4Mask,
}
_LOCKS = X.LockMask | X.Mod2Mask
_EVERY_STATE = range(1 << 8)
"""All combinations of modifiers: one bit each, in the order of the rows of the modifier mapping."""
_SWITCH_S = 0.001
"""Python's default is 5 ms, in which a busy thread can type two more slices before this one runs."""
_JOLT = 3
"""This many movements in a row mean a hand; a single one may be a bump against the table."""


class _RawEvent:
    """A raw event, of which only what counts is read: python-xlib takes so long for each that fast typing would lag."""

    __slots__ = ("detail", "kind", "source", "type")

    def __init__(self, display: object, binarydata: bytes) -> None:  # noqa: ARG002 - python-xlib's signature
        self.type = ge.GenericEventCode
        self.kind, self.detail, self.source = _RAW.unpack_from(binarydata, _RAW_AT)


class KeyPlaces(NamedTuple):
    """Where a chord lies on the keyboard: the codes of its last key, its modifiers, and the codes of each modifier."""

    codes: frozenset[int]
    mask: int
    modifiers: tuple[frozenset[int], ...]


def places_of(display: Any, key: Chord) -> KeyPlaces | None:
    """Return where the chord lies in the present layout; None if the keyboard lacks it."""
    *held, last = key.keys
    keymap = Keymap(display, group_of(int(display.screen().root.query_pointer().mask)))
    codes = keymap.keycodes(symbol_of(last))
    if not codes or any(name not in _MASKS for name in held):
        return None
    masks = [_MASKS[name] for name in held]
    rows = [frozenset(row) for row in display.get_modifier_mapping()]
    return KeyPlaces(codes, sum(masks), tuple(rows[mask.bit_length() - 1] for mask in masks))


def grab(display: Any, places: KeyPlaces) -> bool:
    """Grab the key, so that no other program gets it. Returns whether that worked, whatever else is held.

    The grab ends when the display is closed.
    """
    taken, taken_with_more = CatchError(BadAccess), CatchError(BadAccess)
    # Each state has a grab of its own, because the server compares modifiers exactly.
    for state in (state for state in _EVERY_STATE if state & places.mask == places.mask):
        is_plain = not state & ~places.mask & ~_LOCKS
        for code in places.codes:
            display.screen().root.grab_key(
                code, state, False, X.GrabModeAsync, X.GrabModeAsync, onerror=taken if is_plain else taken_with_more
            )
    display.sync()
    return not taken.get_error()


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
        self._stop_key = stop_key
        self._places: KeyPlaces | None = None
        self._down: set[tuple[int, int]] = set()
        """The device and code of each key that was pressed and not let go, in the order in which that happened."""
        self._has_new_layout = False
        self._wake_read, self._wake_write = os.pipe()  # so that `close` can end a thread that waits in select
        self._select_events()
        self._grab()
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
        own = self._display.display  # a copy, because all displays of a process share one table
        own.event_classes = {**own.event_classes, ge.GenericEventCode: _RawEvent}
        self._root.xinput_select_events([(xinput.AllMasterDevices, _EVENTS)])

    def _grab(self) -> None:
        """Grab the stop key where it lies now. Where a new layout lacks it, its old place stops as before."""
        found = places_of(self._display, self._stop_key)
        if found is None:
            _log.warning("The stop key %s is not on this keyboard.", self._stop_key)
        elif found != self._places:
            self._root.ungrab_key(X.AnyKey, X.AnyModifier)
            self._places = found
            if not grab(self._display, found):
                _log.info("Another program has taken the stop key, perhaps another Wisp. It is heard all the same.")

    def _live(self) -> None:
        try:
            while True:
                while self._display.pending_events():
                    self._heard(self._display.next_event())
                if self._has_new_layout:
                    self._has_new_layout = False
                    self._grab()
                    continue  # because events came with the answers
                ready, _, _ = select.select([self._display.fileno(), self._wake_read], [], [])
                if self._wake_read in ready:
                    return
        except (ConnectionClosedError, DisplayError, OSError) as error:  # because the X server may end before Wisp does
            _log.warning("The stop key is no longer heard: %s", error)

    def _heard(self, event: Any) -> None:
        if event.type == X.KeyPress:
            self._stop()
        elif event.type == X.MappingNotify:
            self._has_new_layout = True
        elif event.type == ge.GenericEventCode:
            self._heard_raw(event.kind, event.detail, event.source)

    def _heard_raw(self, kind: int, detail: int, source: int) -> None:
        is_made = source in self._ours
        if kind == xinput.RawKeyRelease:
            self._down.discard((source, detail))
            return
        if kind == xinput.RawKeyPress:
            self._down.add((source, detail))
            if self._is_stop_key(detail):
                self._stop()
                return
        if kind == xinput.RawMotion and not is_made:
            self._moved()
        elif not is_made:
            self._touched()

    def _is_stop_key(self, code: int) -> bool:
        """Return whether the press of this key completes the chord, whatever else is held.

        What counts is what was held at the press: the server may answer only after a quick hand has let go. It is asked
        for what no key shows, such as sticky modifiers.
        """
        places = self._places
        if places is None or code not in places.codes:
            return False
        down = {held for _, held in self._down}
        if all(codes & down for codes in places.modifiers):
            return True
        return int(self._root.query_pointer().mask) & places.mask == places.mask

    def _moved(self) -> None:
        told = self._root.query_pointer()
        if (told.root_x, told.root_y) == (0, 0):
            self._stop()
        self._moves += 1
        if self._moves >= _JOLT:
            self._touched()


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
