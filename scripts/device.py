"""Input from a device that is not XTEST's own, as a person's mouse and keyboard send it.

XTEST can send events in the name of any device (XTestFakeDeviceKeyEvent of libXtst); python-xlib has no call for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.ext import xinput, xtest
from Xlib.protocol import rq

_DEVICE_KEY_PRESS, _DEVICE_BUTTON_PRESS = 1, 3
_RELEASE = 1
_RETURN, _SHIFT = 0xFF0D, 0xFFE1


class _FakeDeviceInput(rq.Request):
    _request = rq.Struct(
        rq.Card8("opcode"),
        rq.Opcode(2),
        rq.RequestLength(),
        rq.Card8("event_type"),
        rq.Card8("detail"),
        rq.Pad(2),
        rq.Card32("time"),
        rq.Card32("root"),
        rq.Pad(8),
        rq.Int16("x"),
        rq.Int16("y"),
        rq.Pad(7),
        rq.Card8("device"),
    )


class _OpenDevice(rq.ReplyRequest):
    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(3), rq.RequestLength(), rq.Card8("device"), rq.Pad(3))
    _reply = rq.Struct(
        rq.ReplyCode(), rq.Card8("kind"), rq.Card16("sequence_number"), rq.ReplyLength(), rq.Card8("count"), rq.Pad(23)
    )


class PersonsDevices:
    """The keyboard and mouse of the person at this display."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.display = Display(environment["DISPLAY"])
        self.display.xinput_query_version()
        told = self.display.query_extension("XInputExtension")
        self._first_event = told.first_event
        self._opcode = told.major_opcode
        devices = self.display.xinput_query_device(xinput.AllDevices).devices
        own = [d for d in devices if "XTEST" not in str(d.name)]
        self._keyboard = next(d.deviceid for d in own if d.use == xinput.SlaveKeyboard)
        self._mouse = next(d.deviceid for d in own if d.use == xinput.SlavePointer)
        for device in (self._keyboard, self._mouse):
            _OpenDevice(display=self.display.display, opcode=self._opcode, device=device)

    def tap(self, symbol: int) -> None:
        keycode = self.display.keysym_to_keycode(symbol)
        for kind in (_DEVICE_KEY_PRESS, _DEVICE_KEY_PRESS + _RELEASE):
            self._send(kind, keycode, self._keyboard)

    def type(self, text: str) -> None:
        """Letters, digits and signs of a Latin keyboard; a line break is Return."""
        for sign in text:
            symbol = _RETURN if sign == "\n" else ord(sign)
            keycode = self.display.keysym_to_keycode(symbol)
            if self.display.keycode_to_keysym(keycode, 0) == symbol:
                self.tap(symbol)
            else:
                self.press_together(_SHIFT, symbol)

    def press_together(self, *symbols: int) -> None:
        """A chord: down in this order, up in the reverse one."""
        keycodes = [self.display.keysym_to_keycode(symbol) for symbol in symbols]
        for keycode in keycodes:
            self._send(_DEVICE_KEY_PRESS, keycode, self._keyboard)
        for keycode in reversed(keycodes):
            self._send(_DEVICE_KEY_PRESS + _RELEASE, keycode, self._keyboard)

    def hold(self, symbol: int) -> None:
        """Press a key and keep it down."""
        self._send(_DEVICE_KEY_PRESS, self.display.keysym_to_keycode(symbol), self._keyboard)

    def let_go(self, symbol: int) -> None:
        self._send(_DEVICE_KEY_PRESS + _RELEASE, self.display.keysym_to_keycode(symbol), self._keyboard)

    def click(self) -> None:
        for kind in (_DEVICE_BUTTON_PRESS, _DEVICE_BUTTON_PRESS + _RELEASE):
            self._send(kind, 1, self._mouse)

    def _send(self, kind: int, detail: int, device: int) -> None:
        arguments: dict[str, Any] = {"event_type": self._first_event + kind, "detail": detail, "device": device}
        _FakeDeviceInput(
            display=self.display.display,
            opcode=self.display.display.get_extension_major(xtest.extname),
            time=X.CurrentTime,
            root=X.NONE,
            x=0,
            y=0,
            **arguments,
        )
        self.display.sync()

    def close(self) -> None:
        self.display.close()
