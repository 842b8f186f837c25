"""Emulated input: the protocol by which GNOME and KDE take the input of other programs.

https://libinput.pages.freedesktop.org/libei/. The portal gives a connection (`portal.py`); the compositor offers a seat
with capabilities, and devices for those that are bound. What a device does counts once its `frame` is sent.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from struct import Struct

from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Point, Rect
from app.base.values import dataclass, field
from app.desktop.wayland import kernel
from app.desktop.wayland.wire import Messages

_HEAD = Struct("=QII")
_HANDSHAKE = 0
_SENDER = 2
_VERSION = 1
_LIMIT_S = 2.0
_VERSIONS = {
    "ei_connection": 1, "ei_callback": 1, "ei_pingpong": 1, "ei_seat": 1, "ei_device": 2, "ei_pointer_absolute": 1,
    "ei_scroll": 1, "ei_button": 1, "ei_keyboard": 1,
}  # fmt: skip
"""The newest version of each interface that is understood here."""
POINTER, SCROLL, BUTTON, KEYBOARD = "ei_pointer_absolute", "ei_scroll", "ei_button", "ei_keyboard"
_ABILITIES = (POINTER, SCROLL, BUTTON, KEYBOARD)
_NOTCH = 120  # https://www.kernel.org/doc/html/latest/input/event-codes.html#ev-rel, REL_WHEEL_HI_RES


class EiWire(Messages):
    """The messages of emulated input, on a connected socket."""

    NUMBERS = {  # noqa: RUF012 - ClassVar of the base
        "i": Struct("=i"), "u": Struct("=I"), "f": Struct("=f"), "t": Struct("=Q"), "o": Struct("=Q"), "n": Struct("=Q")
    }  # fmt: skip
    OTHER_SIDE = "the compositor's input"

    def __init__(self, handle: int) -> None:
        connection = socket.socket(fileno=handle)
        connection.settimeout(_LIMIT_S)
        super().__init__(connection, 1)
        self.connection = 0

    def _head(self, number: int, opcode: int, body: int) -> bytes:
        return _HEAD.pack(number, body + _HEAD.size, opcode)

    def _read_head(self) -> tuple[int, int, int, int] | None:
        if len(self._in) < _HEAD.size:
            return None
        number, size, opcode = _HEAD.unpack_from(self._in)
        return (number, opcode, _HEAD.size, size) if len(self._in) >= size else None

    def roundtrip(self, limit_s: float = _LIMIT_S) -> None:
        done = list[int]()
        self.create(self.connection, 0, "nu", _VERSION, events={0: ("t", done.append)})
        self._await(done, limit_s)

    def end(self, why: str) -> None:
        """Note that the other side has ended the connection."""
        self._break(why)


@dataclass(slots=True)
class Device:
    """A device of the compositor. `regions` are the places that its absolute positions may have.

    `parts` are the objects of its abilities. `serial` is that of its last event, and 0 while it may not be used.
    """

    number: int
    regions: list[Rect] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)
    serial: int = 0
    is_emulating: bool = False


class Hands:
    """The devices of one connection. Raises NeedsPerson if the compositor gives none in time.

    `on_keymap` gets the text of the keyboard's layouts, `on_modifiers` what is locked and which layout is used.
    """

    def __init__(
        self, handle: int, on_keymap: Callable[[str], None], on_modifiers: Callable[[int, int], None], name: str
    ) -> None:
        self.wire = wire = EiWire(handle)
        self._on_keymap = on_keymap
        self._on_modifiers = on_modifiers
        self._name = name
        self._devices: dict[int, Device] = {}
        self._wanted: dict[str, int] = {}
        self._sequence = 0
        wire.hear(_HANDSHAKE, {0: ("u", self._greet), 2: ("unu", self._connected)})
        if not wire.wait(lambda: bool(wire.connection), _LIMIT_S):
            raise NeedsPerson(
                "The desktop does not answer when Wisp wants to use mouse and keyboard. Log out and in, then try again."
            )
        if not wire.wait(lambda: all(self._with(ability) for ability in (POINTER, BUTTON, KEYBOARD)), _LIMIT_S):
            raise NeedsPerson(
                "The desktop gave Wisp no mouse or no keyboard. Try again, and switch "
                "on “Allow Remote Interaction” when it asks."
            )

    # --- the beginning

    def _greet(self, _version: int) -> None:
        self.wire.send(_HANDSHAKE, 0, "u", _VERSION)
        self.wire.send(_HANDSHAKE, 2, "u", _SENDER)
        self.wire.send(_HANDSHAKE, 3, "s", self._name)
        for interface, version in _VERSIONS.items():
            self.wire.send(_HANDSHAKE, 4, "su", interface, version)
        self.wire.send(_HANDSHAKE, 1)
        self.wire.flush()

    def _connected(self, _serial: int, number: int, _version: int) -> None:
        self.wire.connection = number
        self.wire.hear(
            number,
            {
                0: ("uus", lambda _serial, _reason, why: self.wire.end(why or "it was closed")),
                1: ("nu", self._seated),
                3: ("nu", self._pinged),
            },
        )

    def _pinged(self, number: int, _version: int) -> None:
        self.wire.send(number, 0, "t", 0)
        self.wire.flush()

    def _seated(self, seat: int, _version: int) -> None:
        offered = dict[str, int]()

        def done() -> None:
            self.wire.send(seat, 1, "t", sum(offered[ability] for ability in _ABILITIES if ability in offered))
            self.wire.flush()

        def offer(mask: int, interface: str) -> None:
            offered[interface] = mask

        self.wire.hear(seat, {2: ("ts", offer), 3: ("", done), 4: ("nu", self._device_came)})

    def _device_came(self, number: int, _version: int) -> None:
        device = self._devices[number] = Device(number)

        def has(part: int, interface: str, _version: int) -> None:
            device.parts[interface] = part
            if interface == KEYBOARD:
                self.wire.hear(part, {1: ("uuh", self._keymap), 3: ("uuuuu", self._modifiers)})

        def resumed(serial: int) -> None:
            device.serial, device.is_emulating = serial, False

        def paused(_serial: int) -> None:
            device.serial, device.is_emulating = 0, False

        self.wire.hear(
            number,
            {
                0: ("u", lambda _serial: self._devices.pop(number, None)),
                4: ("uuuuf", lambda x, y, width, height, _scale: device.regions.append(Rect(x, y, width, height))),
                5: ("nsu", has),
                7: ("u", resumed),
                8: ("u", paused),
            },
        )

    def _keymap(self, _kind: int, size: int, handle: int) -> None:
        try:
            self._on_keymap(kernel.content(handle, size).rstrip(b"\0").decode("utf-8", "replace"))
        finally:
            os.close(handle)

    def _modifiers(self, _serial: int, _depressed: int, locked: int, _latched: int, group: int) -> None:
        self._on_modifiers(locked, group)

    # --- input

    def _with(self, ability: str, at: Point | None = None) -> Device | None:
        """A device that may be used for this; for a place, one that has it in a region."""
        for device in self._devices.values():
            is_there = at is None or any(region.contains(at) for region in device.regions)
            if ability in device.parts and device.serial and is_there:
                return device
        return None

    def region_of(self, place: Point) -> Rect:
        """The monitor with this place. Raises ToolFailed if there is none."""
        device = self._usable(POINTER, place)
        return next(region for region in device.regions if region.contains(place))

    def move(self, to: Point, ahead_ms: int = 0) -> None:
        """Move the pointer to the middle of a pixel."""
        self._act(POINTER, 1, "ff", to.x + 0.5, to.y + 0.5, at=to, ahead_ms=ahead_ms)

    def button(self, code: int, *, down: bool, ahead_ms: int = 0) -> None:
        self._act(BUTTON, 1, "uu", code, down, ahead_ms=ahead_ms)

    def notch(self, dx: int, dy: int, ahead_ms: int = 0) -> None:
        self._act(SCROLL, 2, "ii", dx * _NOTCH, dy * _NOTCH, ahead_ms=ahead_ms)

    def key(self, code: int, *, down: bool) -> None:
        self._act(KEYBOARD, 1, "uu", code, down)

    def sync(self) -> None:
        """Waits until the compositor has handled what was sent. Raises ToolFailed if the connection broke."""
        self.wire.roundtrip()

    def _usable(self, ability: str, at: Point | None) -> Device:
        device = self._with(ability, at)
        if device is None:
            raise ToolFailed("The desktop takes no input now: perhaps the screen is locked.", transient=True)
        return device

    def _act(
        self, ability: str, opcode: int, signature: str, *arguments: float, at: Point | None = None, ahead_ms: int = 0
    ) -> None:
        device = self._usable(ability, at)
        if not device.is_emulating:
            self._sequence += 1
            self.wire.send(device.number, 1, "uu", device.serial, self._sequence)
            device.is_emulating = True
        self.wire.send(device.parts[ability], opcode, signature, *arguments)
        self.wire.send(device.number, 3, "ut", device.serial, time.monotonic_ns() // 1000 + ahead_ms * 1000)

    def close(self) -> None:
        self.wire.close()
