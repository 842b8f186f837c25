"""Keys and presses that other programs made up reach no window of Wisp.

The model acts through the same display as the person. What it typed into the composer would else be the person's words,
and what it pressed in the settings the person's choice. So the filter drops such events before Qt sees them. It reads
the events as xcb delivers them: https://xcb.freedesktop.org/manual/structxcb__input__button__press__event__t.html
"""

from __future__ import annotations

import ctypes
import struct

from PySide6.QtCore import QAbstractNativeEventFilter, QByteArray, QObject, Signal

from app.ui.approvals.devices import Witness

_XCB = b"xcb_generic_event_t"
_CORE = struct.Struct("=BBHI")
"""Kind, detail, sequence, time."""
_DEVICE = struct.Struct("=BBHIHHII")
"""Kind, extension, sequence, length, event, device, time, detail."""
_SOURCE = struct.Struct("=H")
_SOURCE_AT = 56
_SENT = 0x80
"""Set in events that a program sent to a window instead of pressing anything."""
_KEYS, _BUTTONS = (2, 3), (4, 5)
"""Presses and releases, by the same numbers in the core protocol and in XInput 2."""
_GENERIC = 35


class _Bell(QObject):
    rung = Signal()


class InputFilter(QAbstractNativeEventFilter):
    """Drop synthetic input. Install it in the application. `ignored` is emitted once, at the first dropped event."""

    def __init__(self, witness: Witness) -> None:
        super().__init__()
        self._witness = witness
        self._bell = _Bell()
        self._has_told = False
        self.ignored = self._bell.rung

    def nativeEventFilter(self, kind: QByteArray | bytes | bytearray | memoryview, message: int) -> tuple[bool, int]:
        if kind != _XCB or not self._is_made_up(int(message)):
            return False, 0
        if not self._has_told:
            self._has_told = True
            self._bell.rung.emit()
        return True, 0

    def _is_made_up(self, address: int) -> bool:
        kind, detail, _, time = _CORE.unpack(ctypes.string_at(address, _CORE.size))
        bare = kind & ~_SENT
        if bare in (*_KEYS, *_BUTTONS):
            return bool(kind & _SENT) or not self._witness.is_persons_input(detail, time, is_key=bare in _KEYS)
        if bare != _GENERIC:
            return False
        event = _DEVICE.unpack(ctypes.string_at(address, _DEVICE.size))[4]
        if event not in (*_KEYS, *_BUTTONS):
            return False
        (source,) = _SOURCE.unpack(ctypes.string_at(address + _SOURCE_AT, _SOURCE.size))
        return not self._witness.is_persons_device(source)
