"""Decide whether a person pressed a key or button on a device, or a program made the press up, and which presses count.

On X11 every program can make up presses by XTEST. They come through the window system like real ones, but from a device
of their own. The server names the device of each press in a raw event, which it sends before the event itself; the two
are matched by their time. Elsewhere programs cannot press in other programs' windows, or it cannot be known; there
every press that came through the window system counts as a person's.

On-screen keyboards, text expanders, voice programs and remote desktops press by XTEST as well. So a press of any device
says what the person wishes, while no task runs: Wisp presses only while one runs. An answer to a question, and a
setting that loosens trust, need a device of the person, and so does everything while a task runs. A person without one
allows all presses in the settings (`trust.assistive_presses`).
"""

from __future__ import annotations

import ctypes
import logging
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import QAbstractNativeEventFilter, QByteArray, QEvent, QObject, QPointF, QRect, Qt, Signal
from PySide6.QtGui import QGuiApplication, QInputEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from app.settings.catalog import ASSISTIVE_PRESSES
from app.settings.store import Current
from app.ui.windows.floating import Accepts

_log = logging.getLogger(__name__)

_RAW = struct.Struct("<HIIH")
"""The beginning of a raw event's data: device, time, detail, source device."""
_REMEMBERED = 256
_TIMES = 1 << 32


class Witness(Protocol):
    """Decides whether a press is the person's or made up by a program."""

    def is_persons(self, event: QInputEvent) -> bool:
        """Call it only while Qt handles the event."""
        ...

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        """True if a person pressed the key or button `detail`. `time` is the server's, in milliseconds."""
        ...

    def is_persons_device(self, device: int) -> bool: ...

    def presses(self) -> int | None:
        """Return how often any device pressed so far; None if that is unknown."""
        ...


class EveryPress:
    """Counts every press that came through the window system as the person's, even one that a program made up."""

    def is_persons(self, event: QInputEvent) -> bool:
        return event.spontaneous()

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        return True

    def is_persons_device(self, device: int) -> bool:
        return True

    def presses(self) -> int | None:
        return None


class NoPress:
    """Counts no press as the person's, because the devices of presses are unknown here. No approval can be given."""

    def is_persons(self, _event: QInputEvent) -> bool:
        return False

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        return False

    def is_persons_device(self, device: int) -> bool:
        return False

    def presses(self) -> int | None:
        return None


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
        self._presses = 0
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

    def presses(self) -> int | None:
        self._hear()
        return self._presses

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
                self._presses += 1
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
    """The application's witness, made when it is first needed. `is_busy`: a task runs, in which Wisp may press."""

    def __init__(self) -> None:
        self.is_busy = False
        self._witness: Witness | None = None
        self._settings = Current()
        self._is_watched = False

    def use(self, witness: Witness | None) -> None:
        """Use this witness from now on. None: make one for this system when it is next needed."""
        if isinstance(self._witness, Devices):
            self._witness.close()
        self._witness = witness

    def prepare(self) -> Witness:
        """Return the witness for the current settings. Call it before the first press, so that the witness already
        listens."""
        witness = self._listening()
        return _EVERY if self._settings()[ASSISTIVE_PRESSES] else witness

    def is_persons(self, event: QInputEvent) -> bool:
        return self.prepare().is_persons(event)

    def is_persons_input(self, detail: int, time: int, *, is_key: bool) -> bool:
        return self.prepare().is_persons_input(detail, time, is_key=is_key)

    def is_persons_device(self, device: int) -> bool:
        return self.prepare().is_persons_device(device)

    def may_wish(self, detail: int, time: int) -> bool:
        """True if this key may say what the person wishes: any device's, while no task runs."""
        return not self.is_busy or self.is_persons_input(detail, time, is_key=True)

    def presses(self) -> int | None:
        """Return how often any device pressed so far; None if that is unknown."""
        return self._listening().presses()

    def _listening(self) -> Witness:
        if self._witness is None:
            self._witness = _made()
            self._close_at_the_end()
        return self._witness

    def _close_at_the_end(self) -> None:
        application = QGuiApplication.instance()
        if application is not None and not self._is_watched:
            self._is_watched = True
            application.aboutToQuit.connect(lambda: self.use(None))


def _made() -> Witness:
    if QGuiApplication.platformName() != "xcb":
        return _EVERY
    from Xlib.error import DisplayError, XError

    try:
        return Devices()
    except (DisplayError, XError, OSError) as error:
        _log.warning("Where presses come from cannot be known, so none of them counts: %s", error)
        return NoPress()


_EVERY = EveryPress()
WITNESS = DeviceWitness()
"""Asked by every press that allows something, and by the filter of all input."""

KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
"""The keys that press a button."""


class WitnessedPress(QObject):
    """Watches a button and emits `meant` only for presses that came through the window system.

    `QAbstractButton.clicked` also fires for `click()`, for an accessibility client's press action and for events posted
    by this process. None of them is a person's decision. With a `witness`, presses that other programs made up do not
    count either. `keys` are those that press the button.
    """

    meant = Signal()

    def __init__(self, button: QAbstractButton, witness: Witness | None = None, keys: Sequence[Qt.Key] = KEYS) -> None:
        super().__init__(button)
        self._button = button
        self._keys = keys
        self._witness = witness or EveryPress()
        self._began = False
        button.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.KeyPress):
            self._began = isinstance(event, QInputEvent) and self._is_press(event) and self._witness.is_persons(event)
        elif event.type() in (QEvent.Type.MouseButtonRelease, QEvent.Type.KeyRelease):
            began, self._began = self._began, False
            if began and event.spontaneous() and self._inside(event) and self._button.isEnabled():
                self.meant.emit()
        return False

    def _is_press(self, event: QInputEvent) -> bool:
        if isinstance(event, QKeyEvent):
            return event.key() in self._keys and not event.isAutoRepeat()
        return isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton

    def _inside(self, event: QEvent) -> bool:
        place = QRect(self._button.rect())
        return not isinstance(event, QMouseEvent) or place.contains(event.position().toPoint())


def _accepts_any(widget: QWidget | None) -> bool:
    """What the nearest widget says that says it. Where none does, only the person's devices count."""
    while widget is not None:
        found = getattr(widget, "accepts", None)
        if isinstance(found, Accepts):
            return found is Accepts.ANY_DEVICE
        widget = widget.parentWidget()
    return False


_XCB = b"xcb_generic_event_t"
_CORE = struct.Struct("=BBHIIIIhhhh")
"""Kind, detail, sequence, time, root, window, child, place on the root, place in the window."""
_EVENT, _EVENT_AT = struct.Struct("=H"), 8
_DEVICE, _DEVICE_AT = struct.Struct("=I4x4x8xii4xH"), 24
"""Parts of an event of XInput 2: its kind; then its window, the place in that in 1/65536 pixels, and the source device.
Not read are the child, four bytes of libxcb's own, the place on the root, and two lengths."""
_SENT = 0x80
"""Set in events that a program sent to a window instead of pressing anything."""
_KEYS, _BUTTONS = (2, 3), (4, 5)
"""Presses and releases, by the same numbers in the core protocol and in XInput 2."""
_GENERIC = 35
_FRACTION = 1 << 16


class _Press(NamedTuple):
    """A press or release of a key or button, as the server reports it. `place` is in pixels of the window."""

    window: int
    place: QPointF
    is_key: bool
    is_made_up: bool
    is_sent: bool = False


class _Bell(QObject):
    rung = Signal()


class InputFilter(QAbstractNativeEventFilter):
    """Drops presses that do not count. Install it in the application. `ignored` is emitted for each."""

    def __init__(self, witness: DeviceWitness) -> None:
        super().__init__()
        self._witness = witness
        self._bell = _Bell()
        self.ignored = self._bell.rung

    def nativeEventFilter(self, kind: QByteArray | bytes | bytearray | memoryview, message: int) -> tuple[bool, int]:
        press = self._press(int(message)) if kind == _XCB else None
        if press is None or not press.is_made_up:
            return False, 0
        if not (press.is_sent or self._witness.is_busy) and _accepts_any(_target(press)):
            return False, 0
        self._bell.rung.emit()
        return True, 0

    def _press(self, address: int) -> _Press | None:
        kind, detail, _, time, _, window, _, _, _, x, y = _CORE.unpack(ctypes.string_at(address, _CORE.size))
        bare = kind & ~_SENT
        if bare in (*_KEYS, *_BUTTONS):
            is_key, is_sent = bare in _KEYS, bool(kind & _SENT)
            is_made_up = is_sent or not self._witness.is_persons_input(detail, time, is_key=is_key)
            return _Press(window, QPointF(x, y), is_key, is_made_up, is_sent)
        (event,) = _EVENT.unpack(ctypes.string_at(address + _EVENT_AT, _EVENT.size))
        if bare != _GENERIC or event not in (*_KEYS, *_BUTTONS):
            return None
        window, x, y, source = _DEVICE.unpack(ctypes.string_at(address + _DEVICE_AT, _DEVICE.size))
        place = QPointF(x / _FRACTION, y / _FRACTION)
        return _Press(window, place, event in _KEYS, not self._witness.is_persons_device(source))


def _target(press: _Press) -> QWidget | None:
    window = QWidget.find(press.window)
    if press.is_key:
        return QApplication.activePopupWidget() or QApplication.focusWidget() or window
    if window is None:
        return None
    return window.childAt((press.place / window.devicePixelRatioF()).toPoint()) or window
