"""A compositor's side of emulated input, which notes what it gets and what a program would have read of it.

https://libinput.pages.freedesktop.org/libei/. Its messages come in the order of those of Mutter 50 and KWin 6.7.
"""

from __future__ import annotations

import array
import ctypes
import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.base.geometry import Point, Rect

_HEAD = struct.Struct("=QII")
_NUMBERS = {"u": "=I", "i": "=i", "f": "=f", "t": "=Q"}
_FIRST_ID = 0xFF00000000000000
_POINTER = {"ei_pointer_absolute": 128, "ei_scroll": 256, "ei_button": 512}
_KEYBOARD = {"ei_keyboard": 1024}
_VERSIONS = {"ei_callback": 1, "ei_connection": 1, "ei_pingpong": 1, "ei_seat": 1, "ei_device": 2} | dict.fromkeys(
    (*_POINTER, *_KEYBOARD), 1
)
_VIRTUAL, _XKB, _AGAINST_PROTOCOL = 1, 1, 3
_X11_OFFSET = 8  # the keycodes of XKB are those of the kernel and eight more
_DEPRESSED, _LATCHED, _LOCKED, _GROUP = 1, 2, 4, 128  # xkb_state_component of libxkbcommon

Event = tuple[str, float, float]


class Keyboard:
    """A keyboard with these layouts of XKB, such as "us,de", and what its keys have typed."""

    def __init__(self, layouts: str) -> None:
        self._library = library = ctypes.CDLL("libxkbcommon.so.0")
        for name in ("xkb_context_new", "xkb_keymap_new_from_names", "xkb_keymap_get_as_string", "xkb_state_new"):
            getattr(library, name).restype = ctypes.c_void_p
        names = (ctypes.c_char_p * 5)(None, None, layouts.encode(), None, None)  # rules, model, layouts, variants …
        context = ctypes.c_void_p(library.xkb_context_new(0))
        keymap = ctypes.c_void_p(library.xkb_keymap_new_from_names(context, names, 0))
        self.keymap = ctypes.string_at(library.xkb_keymap_get_as_string(keymap, 1))
        self._state = ctypes.c_void_p(library.xkb_state_new(keymap))
        self.typed = ""

    def key(self, code: int, *, down: bool) -> None:
        if down:
            read = ctypes.create_string_buffer(16)
            self._library.xkb_state_key_get_utf8(self._state, code + _X11_OFFSET, read, len(read))
            self.typed += read.value.decode()
        self._library.xkb_state_update_key(self._state, code + _X11_OFFSET, int(down))

    def choose(self, layout: int, locked: int) -> None:
        self._library.xkb_state_update_mask(self._state, 0, 0, locked, 0, 0, layout)

    @property
    def modifiers(self) -> tuple[int, int, int, int]:
        """What is depressed, locked and latched, and the number of the layout."""
        depressed, locked, latched = (
            self._library.xkb_state_serialize_mods(self._state, part) for part in (_DEPRESSED, _LOCKED, _LATCHED)
        )
        return depressed, locked, latched, self._library.xkb_state_serialize_layout(self._state, _GROUP)


class Device:
    def __init__(self, parts: dict[str, int]) -> None:
        self.parts = parts
        self.is_usable = self.is_emulating = False
        self.pending: list[Event] = []


class Eis:
    """One connection. `handle` is the program's end, which it owns.

    `events` are those whose frame came: ("motion", x, y), ("scroll", x, y), ("button", code, state) and ("key", code,
    state). A fault ends the connection, as in libei's own server.
    """

    def __init__(self, area: Rect, mapping: str, *, layouts: str = "us", gives_input: bool = True) -> None:
        self._socket, theirs = socket.socketpair()
        self.handle = theirs.detach()
        self.keyboard = Keyboard(layouts)
        self.events: list[Event] = []
        self.fault = ""
        self._area, self._mapping = area, mapping
        self._offered = _POINTER | _KEYBOARD if gives_input else {}
        self._objects: dict[int, tuple[str, Device | None]] = {0: ("ei_handshake", None)}
        self._known: set[str] = set()
        self._last_id, self._serial = _FIRST_ID - 1, 0
        self._connection = 0
        self._devices: dict[int, Device] = {}
        self._lock = threading.RLock()
        self._send(0, 0, "u", 1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    # --- what a compositor does of itself

    def pause(self) -> None:
        """Take no input any more, as while the screen is locked."""
        with self._lock:
            for number, device in self._devices.items():
                device.is_usable = device.is_emulating = False
                self._send(number, 8, "u", self._new_serial())

    def resume(self) -> None:
        with self._lock:
            for number, device in self._devices.items():
                self._resume(number, device)

    def choose_layout(self, layout: int, *, locked: int = 0) -> None:
        """Use this layout, with these modifiers locked, as the person chose it."""
        with self._lock:
            self.keyboard.choose(layout, locked)
            self._tell_modifiers()

    def end(self, reason: int = 0, why: str | None = None) -> None:
        """End the connection, as when the person stops the sharing."""
        with self._lock:
            for number in self._devices:
                self._send(number, 0, "u", self._new_serial())
            if self._connection:
                self._send(self._connection, 0, "uus", self._serial, reason, why)
            with suppress(OSError):  # because the program has ended it
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.end()
        self._thread.join()
        self._socket.close()

    # --- the wire

    def _serve(self) -> None:
        held = b""
        with suppress(OSError):
            while not self.fault and (data := self._socket.recv(65536)):
                held += data
                while not self.fault and len(held) >= _HEAD.size:
                    number, size, opcode = _HEAD.unpack_from(held)
                    if len(held) < size:
                        break
                    with self._lock:
                        self._take(number, opcode, held[_HEAD.size : size])
                    held = held[size:]

    def _take(self, number: int, opcode: int, body: bytes) -> None:
        if number not in self._objects:
            self._send(self._connection, 2, "ut", self._serial, number)
            return
        interface, device = self._objects[number]
        signature, method = _REQUESTS.get((interface, opcode), ("", Eis._unknown))
        values: list[Any] = [device if device else number]
        for kind in signature:
            if kind == "s":
                end = 4 + struct.unpack_from("=I", body)[0]
                values.append(body[4 : end - 1].decode())
                body = body[end + -end % 4 :]
            else:
                values.append(struct.unpack_from(_NUMBERS[kind], body)[0])
                body = body[struct.calcsize(_NUMBERS[kind]) :]
        try:
            method(self, *values)
        except AssertionError as error:
            self.fault = f"{interface}, request {opcode}: {error}"
            self.end(_AGAINST_PROTOCOL, self.fault)

    def _send(self, number: int, opcode: int, signature: str = "", *values: Any) -> None:
        body, handles = b"", array.array("i")
        for kind, value in zip(signature, values, strict=True):
            if kind == "h":
                handles.append(value)
            elif kind == "s":
                text = b"" if value is None else value.encode() + b"\0"
                body += struct.pack("=I", len(text)) + text + b"\0" * (-len(text) % 4)
            else:
                body += struct.pack(_NUMBERS[kind], value)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)] if handles else []
        with suppress(OSError):  # because the program has ended it
            self._socket.sendmsg([_HEAD.pack(number, _HEAD.size + len(body), opcode) + body], ancillary)

    def _new(self, interface: str, device: Device | None = None) -> int:
        self._last_id += 1
        self._objects[self._last_id] = interface, device
        return self._last_id

    def _new_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _unknown(self, _of: object) -> None:
        raise AssertionError("there is no such request")

    # --- requests, the beginning

    def _versioned(self, _number: int, version: int) -> None:
        assert version == 1, "that version was not offered"
        for interface, newest in _VERSIONS.items():
            self._send(0, 1, "su", interface, newest)

    def _typed(self, _number: int, kind: int) -> None:
        assert kind == 2, "only who sends input is served here"

    def _named(self, _number: int, name: str) -> None:
        assert name, "the name is empty"

    def _knows(self, _number: int, interface: str, version: int) -> None:
        assert interface not in self._known, "it was named before"
        assert version <= _VERSIONS.get(interface, version), "that version was not offered"
        self._known.add(interface)

    def _finished(self, _number: int) -> None:
        assert {"ei_connection", "ei_callback", "ei_pingpong", "ei_seat", "ei_device"} <= self._known, "too few known"
        del self._objects[0]
        self._connection = self._new("ei_connection")
        self._send(0, 2, "utu", self._new_serial(), self._connection, 1)
        self._send(self._connection, 3, "tu", self._new("ei_pingpong"), 1)

    def _answered(self, number: int, _data: int) -> None:
        """Offer the seat. Mutter waits for nothing, but a program that answers no ping is wrong."""
        del self._objects[number]
        seat = self._new("ei_seat")
        self._send(self._connection, 1, "tu", seat, 1)
        self._send(seat, 1, "s", "default seat")
        for interface, mask in self._offered.items():
            if interface in self._known:
                self._send(seat, 2, "ts", mask, interface)
        self._send(seat, 3)

    def _synced(self, _number: int, callback: int, _version: int) -> None:
        self._send(callback, 0, "t", 0)

    def _disconnected(self, _number: int) -> None:
        self._connection = 0

    def _bound(self, seat: int, mask: int) -> None:
        assert not mask & ~sum(self._offered.values()), "a capability was not offered"
        for name, kind in (("Pointer", _POINTER), ("Keyboard", _KEYBOARD)):
            if parts := [interface for interface, bit in kind.items() if bit & mask]:
                self._add_device(seat, name, parts)

    def _add_device(self, seat: int, name: str, parts: list[str]) -> None:
        device = Device({})
        number = self._new("ei_device", device)
        self._devices[number] = device
        self._send(seat, 4, "tu", number, 2)
        self._send(number, 1, "s", name)
        self._send(number, 2, "u", _VIRTUAL)
        if "ei_pointer_absolute" in parts:
            area = self._area
            self._send(number, 12, "s", self._mapping)
            self._send(number, 4, "uuuuf", area.x, area.y, area.width, area.height, 1.0)
        for interface in parts:
            device.parts[interface] = part = self._new(interface, device)
            self._send(number, 5, "tsu", part, interface, 1)
            if interface == "ei_keyboard":
                memory = os.memfd_create("keymap")
                os.write(memory, self.keyboard.keymap)
                self._send(part, 1, "uuh", _XKB, len(self.keyboard.keymap), memory)
                os.close(memory)
        self._send(number, 6)
        self._resume(number, device)

    def _resume(self, number: int, device: Device) -> None:
        device.is_usable = True
        self._send(number, 7, "u", self._new_serial())
        if "ei_keyboard" in device.parts:
            self._tell_modifiers()

    def _tell_modifiers(self) -> None:
        for device in self._devices.values():
            if part := device.parts.get("ei_keyboard"):
                self._send(part, 3, "uuuuu", self._new_serial(), *self.keyboard.modifiers)

    # --- requests, input

    def _started(self, device: Device, _serial: int, _sequence: int) -> None:
        assert not device.is_emulating, "it emulates already"
        device.is_emulating = device.is_usable

    def _stopped(self, device: Device, _serial: int) -> None:
        device.is_emulating = False

    def _did(self, device: Device, *event: Any) -> None:
        assert device.is_emulating or not device.is_usable, "input before start_emulating"
        kind, first, second = event
        is_twice = any(earlier[:2] == event[:2] for earlier in device.pending if kind in ("key", "button"))
        assert not is_twice, "a key changes twice in one frame"
        if device.is_emulating:
            device.pending.append((kind, first, second))

    def _moved(self, device: Device, x: float, y: float) -> None:
        if self._area.contains(Point(int(x), int(y))):  # others are dropped without a word
            self._did(device, "motion", x, y)

    def _scrolled(self, device: Device, x: float, y: float) -> None:
        self._did(device, "scroll", x, y)

    def _pressed(self, device: Device, code: int, state: int) -> None:
        self._did(device, "button", code, state)

    def _keyed(self, device: Device, code: int, state: int) -> None:
        self._did(device, "key", code, state)

    def _framed(self, device: Device, _serial: int, _time: int) -> None:
        before = self.keyboard.modifiers
        for kind, code, state in device.pending:
            if kind == "key":
                self.keyboard.key(int(code), down=bool(state))
        self.events += device.pending
        device.pending.clear()
        if self.keyboard.modifiers != before:
            self._tell_modifiers()


_REQUESTS: dict[tuple[str, int], tuple[str, Callable[..., None]]] = {
    ("ei_handshake", 0): ("u", Eis._versioned),
    ("ei_handshake", 1): ("", Eis._finished),
    ("ei_handshake", 2): ("u", Eis._typed),
    ("ei_handshake", 3): ("s", Eis._named),
    ("ei_handshake", 4): ("su", Eis._knows),
    ("ei_connection", 0): ("tu", Eis._synced),
    ("ei_connection", 1): ("", Eis._disconnected),
    ("ei_pingpong", 0): ("t", Eis._answered),
    ("ei_seat", 1): ("t", Eis._bound),
    ("ei_device", 1): ("uu", Eis._started),
    ("ei_device", 2): ("u", Eis._stopped),
    ("ei_device", 3): ("ut", Eis._framed),
    ("ei_pointer_absolute", 1): ("ff", Eis._moved),
    ("ei_scroll", 1): ("ff", Eis._scrolled),
    ("ei_scroll", 2): ("ii", Eis._scrolled),
    ("ei_button", 1): ("uu", Eis._pressed),
    ("ei_keyboard", 1): ("uu", Eis._keyed),
}
"""What each request carries, and what it does."""
