"""Decide whether a person pressed a key or button on a device, or a program made the press up.

On X11 every program can make up presses by XTEST. They come through the window system like real ones, but from a device
of their own. The server names the device of each press in a raw event, which it sends before the event itself; the two
are matched by their time. Elsewhere programs cannot press in other programs' windows, or it cannot be known; there
every press that came through the window system counts as a person's. On-screen keyboards, eye trackers and remote
desktops press by XTEST as well: a person who needs them allows it in the settings (`trust.assistive_presses`).
"""

from __future__ import annotations

import ctypes
import logging
import struct
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import QAbstractNativeEventFilter, QByteArray, QObject, Signal
from PySide6.QtGui import QGuiApplication, QInputEvent

from app.settings.catalog import ASSISTIVE_PRESSES
from app.settings.store import Current

_log = logging.getLogger(__name__)

_RAW = struct.Struct("<HIIH")
"""The beginning of a raw event's data: device, time, detail, source device."""
_REMEMBERED = 256
_TIMES = 1 << 32


class Witness(Protocol):
    """Decides whether a press is the person's or made up by a program."""

    def is_persons(self, event: QInputEvent) -> bool:
        """Return whether the person caused the event. Call it only while Qt handles the event."""
        ...

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        """Return whether a person pressed the key or button with the number `detail`. `time` is the server's, in
        milliseconds."""
        ...

    def is_persons_device(self, device: int) -> bool:
        """Return whether the device with that number belongs to the person."""
        ...


class EveryPress:
    """Counts every press that came through the window system as the person's, even one that a program made up."""

    def is_persons(self, event: QInputEvent) -> bool:
        return event.spontaneous()

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        return True

    def is_persons_device(self, device: int) -> bool:
        return True


class NoPress:
    """Counts no press as the person's, because the devices of presses are unknown here. No approval can be given."""

    def is_persons(self, _event: QInputEvent) -> bool:
        return False

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        return False

    def is_persons_device(self, device: int) -> bool:
        return False


class _Heard(NamedTuple):
    """A press as the server's raw event reports it. `time` is in milliseconds; `detail` is the key code or button."""

    time: int
    detail: int
    is_key: bool
    is_made_up: bool


class Devices:
    """Decides by the raw input events of the X server, on a connection of its own. Raises Xlib's connection errors."""

    def __init__(self) -> None:
        from Xlib.display import Display
        from Xlib.ext import xinput

        self._xinput = xinput
        self._display = Display()
        self._display.set_error_handler(_told)
        _tell_version(self._display, xinput)
        self._made_up: set[int] = set()
        self._known: set[int] = set()
        self._heard: deque[_Heard] = deque(maxlen=_REMEMBERED)
        masks = xinput.RawKeyPressMask | xinput.RawButtonPressMask
        self._display.screen().root.xinput_select_events([(xinput.AllMasterDevices, masks)])
        self._look()
        self._display.sync()

    def is_persons(self, event: QInputEvent) -> bool:
        """Return whether raw events of the same time exist and all came from real devices; False if there is none."""
        if not event.spontaneous():
            return False
        self._hear()
        time = event.timestamp() % _TIMES
        found = [heard.is_made_up for heard in self._heard if heard.time == time]
        return bool(found) and not any(found)

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        """Return whether the last raw press of this key or button was a real device's. A held key repeats without
        raw presses."""
        self._hear()
        presses = [
            heard
            for heard in self._heard
            if (heard.detail, heard.is_key) == (detail, is_key) and (time - heard.time) % _TIMES < _TIMES // 2
        ]
        last = [heard.is_made_up for heard in presses if heard.time == presses[-1].time]
        return bool(last) and not any(last)

    def is_persons_device(self, device: int) -> bool:
        return not self._is_made_up(device)

    def close(self) -> None:
        """Close the connection."""
        from Xlib.error import ConnectionClosedError

        with suppress(ConnectionClosedError, OSError):  # because the display may have gone first
            self._display.close()

    def _hear(self) -> None:
        from Xlib.ext import ge

        self._display.sync()
        while self._display.pending_events():
            event = self._display.next_event()
            if event.type == ge.GenericEventCode:
                _device, time, detail, source = _RAW.unpack_from(event.data)
                is_key = event.evtype == self._xinput.RawKeyPress
                self._heard.append(_Heard(time, detail, is_key, self._is_made_up(source)))

    def _is_made_up(self, source: int) -> bool:
        if source not in self._known:
            self._look()
        return source in self._made_up or source not in self._known

    def _look(self) -> None:
        """Read the list of devices. A device with XTEST in its name counts as one that makes presses up."""
        devices = self._display.xinput_query_device(self._xinput.AllDevices).devices
        self._known = {device.deviceid for device in devices}
        self._made_up = {device.deviceid for device in devices if "XTEST" in _text(device.name)}


def _tell_version(display: Any, xinput: Any) -> None:
    """Tell the server that Wisp speaks XInput 2.2: only since then do raw events also come while a menu of another
    program has grabbed keyboard or mouse. python-xlib asks for 2.0.
    https://www.x.org/releases/X11R7.7/doc/inputproto/XI2proto.txt"""
    opcode = display.display.get_extension_major(xinput.extname)
    xinput.XIQueryVersion(display=display.display, opcode=opcode, major_version=2, minor_version=2)


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _told(error: object, _request: object) -> None:
    _log.debug("X said: %s", error)


class DeviceWitness:
    """The application's witness. It is created when first needed, and again after the person has changed the
    setting."""

    def __init__(self) -> None:
        self._witness: Witness | None = None
        self._settings = Current()
        self._is_given = False
        self._admits_all = False
        self._is_watched = False

    def use(self, witness: Witness | None) -> None:
        """Use this witness from now on. None: choose one by the settings when it is next needed."""
        if isinstance(self._witness, Devices):
            self._witness.close()
        self._witness, self._is_given = witness, witness is not None

    def prepare(self) -> Witness:
        """Return the witness for the current settings. Call it before the first press, so that the witness already
        listens."""
        if self._witness is not None and self._is_given:
            return self._witness
        admits_all = bool(self._settings()[ASSISTIVE_PRESSES])
        if self._witness is None or admits_all != self._admits_all:
            self.use(None)
            self._witness, self._admits_all = _made(admits_all=admits_all), admits_all
            self._close_at_the_end()
        return self._witness

    def is_persons(self, event: QInputEvent) -> bool:
        return self.prepare().is_persons(event)

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        return self.prepare().is_persons_input(detail, time, is_key=is_key)

    def is_persons_device(self, device: int) -> bool:
        return self.prepare().is_persons_device(device)

    def _close_at_the_end(self) -> None:
        application = QGuiApplication.instance()
        if application is not None and not self._is_watched:
            self._is_watched = True
            application.aboutToQuit.connect(lambda: self.use(None))


def _made(*, admits_all: bool) -> Witness:
    if QGuiApplication.platformName() != "xcb" or admits_all:
        return EveryPress()
    from Xlib.error import DisplayError, XError

    try:
        return Devices()
    except (DisplayError, XError, OSError) as error:
        _log.warning("Where presses come from cannot be known, so none of them counts: %s", error)
        return NoPress()


WITNESS = DeviceWitness()
"""Asked by every press that allows something, and by the filter of all input."""

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
    """Drops presses that programs made up. Install it in the application. `ignored` is emitted once, at the first
    one."""

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
