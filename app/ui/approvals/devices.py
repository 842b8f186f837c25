"""Whether a press came from a person's own device.

On X11 every program can make up presses by XTEST. They come through the window system like real ones, but from a device
of their own: the server tells so in raw events, which are compared by their time. The server sends the raw event before
the event itself, so a round trip is enough to have it. Elsewhere programs cannot press in other programs' windows, or
nothing can be known: there every press that came through the window system counts. On-screen keyboards, eye trackers
and remote desktops press by XTEST as well; who needs them says so in the settings (`trust.assistive_presses`).
"""

from __future__ import annotations

import logging
import struct
from collections import deque
from typing import Any, Protocol

from PySide6.QtGui import QGuiApplication, QInputEvent

from app.settings import store
from app.settings.catalog import ASSISTIVE_PRESSES

_log = logging.getLogger(__name__)

_RAW = struct.Struct("<HIIH")
"""The beginning of a raw event's data: device, time, detail, source device."""
_REMEMBERED = 256
_TIMES = 1 << 32


class Witness(Protocol):
    """Knows where presses come from."""

    def is_persons(self, event: QInputEvent) -> bool:
        """Asked while the event is handled."""
        ...


class EveryPress:
    """Trusts all presses that came through the window system."""

    def is_persons(self, event: QInputEvent) -> bool:
        return event.spontaneous()


class NoPress:
    """Trusts none: where it cannot be known who presses, nobody says yes."""

    def is_persons(self, _event: QInputEvent) -> bool:
        return False


class Devices:
    """Hears the raw presses of an X server on a connection of its own. Raises Xlib's errors where there is none."""

    def __init__(self) -> None:
        from Xlib.display import Display
        from Xlib.ext import xinput

        self._xinput = xinput
        self._display = Display()
        self._display.set_error_handler(_told)
        self._display.xinput_query_version()
        self._made_up: set[int] = set()
        self._known: set[int] = set()
        self._heard: deque[tuple[int, bool]] = deque(maxlen=_REMEMBERED)
        masks = xinput.RawKeyPressMask | xinput.RawButtonPressMask
        self._display.screen().root.xinput_select_events([(xinput.AllMasterDevices, masks)])
        self._look()
        self._display.sync()

    def is_persons(self, event: QInputEvent) -> bool:
        """Whether exactly such a press was heard, and from no made-up device. An unknown press is nobody's."""
        if not event.spontaneous():
            return False
        self._hear()
        time = event.timestamp() % _TIMES
        found = [is_made_up for when, is_made_up in self._heard if when == time]
        return bool(found) and not any(found)

    def close(self) -> None:
        """Hang up."""
        self._display.close()

    def _hear(self) -> None:
        from Xlib.ext import ge

        self._display.sync()
        while self._display.pending_events():
            event = self._display.next_event()
            if event.type == ge.GenericEventCode:
                _device, time, _detail, source = _RAW.unpack_from(event.data)
                self._heard.append((time, self._is_made_up(source)))

    def _is_made_up(self, source: int) -> bool:
        if source not in self._known:
            self._look()
        return source in self._made_up or source not in self._known

    def _look(self) -> None:
        """Which devices there are; those of XTEST carry its name."""
        devices = self._display.xinput_query_device(self._xinput.AllDevices).devices
        self._known = {device.deviceid for device in devices}
        self._made_up = {device.deviceid for device in devices if "XTEST" in _text(device.name)}


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _told(error: object, _request: object) -> None:
    _log.debug("X said: %s", error)


class Chosen:
    """The witness of this application, made when it is first asked for."""

    def __init__(self) -> None:
        self._witness: Witness | None = None

    def use(self, witness: Witness | None) -> None:
        """Ask this one from now on; None chooses anew when the next card is made."""
        if isinstance(self._witness, Devices):
            self._witness.close()
        self._witness = witness

    def prepare(self) -> None:
        """Begin to listen, before the first press."""
        if self._witness is None:
            self._witness = _made()
            application = QGuiApplication.instance()
            if application is not None:
                application.aboutToQuit.connect(lambda: self.use(None))

    def is_persons(self, event: QInputEvent) -> bool:
        return self._witness is not None and self._witness.is_persons(event)


def _made() -> Witness:
    if QGuiApplication.platformName() != "xcb" or store.load()[ASSISTIVE_PRESSES]:
        return EveryPress()
    from Xlib.error import DisplayError, XError

    try:
        return Devices()
    except (DisplayError, XError, OSError) as error:
        _log.warning("Where presses come from cannot be known, so none of them allows anything: %s", error)
        return NoPress()


WITNESS = Chosen()
"""Asked by every press that allows something."""
