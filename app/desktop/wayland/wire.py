"""The Wayland protocol on its socket: requests are packed and sent, events go to the handlers of their objects.

https://wayland.freedesktop.org/docs/html/ch04.html#sect-Protocol-Wire-Format. A message is the number of its object,
its size and opcode, then its arguments. A signature has a letter for each: `i` and `u` (32 bits), `f` (a fraction), `s`
(a string), `o` (an object), `n` (the number of a new object), `a` (bytes) and `h` (a file, which travels beside). The
protocol of emulated input (`ei.py`) has the same shape with wider numbers, so `Messages` serves both.
"""

from __future__ import annotations

import os
import select
import socket
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from struct import Struct
from typing import Any, ClassVar

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.wayland import kernel

_LIMIT_S = 2.0
_READ_BYTES = 65536
_MOST_FILES = 28
_WORD = Struct("=I")
_SIGNED = Struct("=i")
_HEAD = Struct("=II")
_FRACTION = 256
_DISPLAY = 1
_SERVER_IDS = 0xFF000000

Events = Mapping[int, tuple[str, Callable[..., object]]]
"""What to call for each opcode of an object's events, and the signature of their arguments."""


def socket_of(environment: Mapping[str, str]) -> Path | None:
    """The compositor's socket; None if the environment names none."""
    name, folder = environment.get("WAYLAND_DISPLAY", ""), environment.get("XDG_RUNTIME_DIR", "")
    if not name or not (folder or name.startswith("/")):
        return None
    return Path(folder, name)


class Messages(ABC):
    """One connection that carries messages between objects. Desktop thread only.

    Requests are sent by `flush`. After an error the connection is dead, and each call raises ToolFailed.
    `NUMBERS` says how each kind of number is packed, `OTHER_SIDE` who is at the other end.
    """

    NUMBERS: ClassVar[Mapping[str, Struct]]
    OTHER_SIDE: ClassVar[str]

    def __init__(self, connection: socket.socket, first: int) -> None:
        self._socket = connection
        self._events: dict[int, Events] = {}
        self._next, self._free = first, list[int]()
        self._out, self._out_files = bytearray(), list[int]()
        self._in, self._in_files = bytearray(), deque[int]()
        self.broken = ""
        """Why the connection is dead; empty while it lives."""

    def fileno(self) -> int:
        return self._socket.fileno()

    @abstractmethod
    def _head(self, number: int, opcode: int, body: int) -> bytes:
        """`body` is a size in bytes."""

    @abstractmethod
    def _read_head(self) -> tuple[int, int, int, int] | None:
        """Object, opcode, size of the head and of the first message that came; None if it is not whole."""

    # --- sending

    def create(self, number: int, opcode: int, signature: str, *arguments: Any, events: Events | None = None) -> int:
        """Add a request that makes a new object, the `n` of its signature. Returns the object's number.

        Its events go to the functions of `events`.
        """
        # Only here, because the other side wants the numbers in the order in which they are made.
        made = self._free.pop() if self._free else self._next
        self._next += made == self._next
        self._events[made] = events or {}
        place = signature.index("n")
        self.send(number, opcode, signature, *arguments[:place], made, *arguments[place:])
        return made

    def hear(self, number: int, events: Events) -> None:
        """Pass the events of an object that the other side has made to these functions."""
        self._events[number] = events

    def forget(self, number: int) -> None:
        """Pass the events of an object to nobody any more."""
        self._events.pop(number, None)

    def send(self, number: int, opcode: int, signature: str = "", *arguments: Any) -> None:
        """Add a request to those that the next `flush` sends."""
        packed = bytearray()
        for kind, argument in zip(signature, arguments, strict=True):
            if kind == "h":
                self._out_files.append(os.dup(argument))
            else:
                packed += self._packed(kind, argument)
        self._out += self._head(number, opcode, len(packed)) + packed
        if len(self._out_files) >= _MOST_FILES:
            self.flush()

    def flush(self) -> None:
        """Send all requests that wait. Raises ToolFailed if the connection is dead."""
        self._check()
        try:
            while self._out:
                sent = kernel.send(self._socket, self._out, self._out_files)
                del self._out[:sent]
                self._drop_files()
        except OSError as error:
            self._break(str(error))
        self._check()

    def _drop_files(self) -> None:
        while self._out_files:
            os.close(self._out_files.pop())

    # --- receiving

    @abstractmethod
    def roundtrip(self, limit_s: float = _LIMIT_S) -> None:
        """Send everything, and wait until the other side has handled it and its events have been passed on."""

    def _await(self, done: list[int], limit_s: float) -> None:
        """Send everything, and wait for the answer. Without one in time the connection is dead."""
        if not self.wait(lambda: bool(done), limit_s):
            self._break(f"no answer in {limit_s:g} s")
            self._check()

    def wait(self, is_so: Callable[[], bool], limit_s: float) -> bool:
        """Pass events on until the condition is true. Returns whether it is. Raises ToolFailed if the wire breaks."""
        limit = time.monotonic() + limit_s
        self.flush()
        while not is_so():
            left = limit - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                return False
            self.read()
            self._check()
        return True

    def read(self) -> None:
        """Pass on the events that have arrived. Blocks if there are none."""
        try:
            data, files = kernel.receive(self._socket, _READ_BYTES, _MOST_FILES)
        except OSError as error:
            self._break(str(error))
            return
        self._in += data
        self._in_files.extend(files)
        if not data:
            self._break("it closed the connection")
            return
        while head := self._read_head():
            number, opcode, start, size = head
            body = bytes(self._in[start:size])
            del self._in[:size]
            self._pass_on(number, opcode, body)

    def _pass_on(self, number: int, opcode: int, body: bytes) -> None:
        signature, handler = self._events.get(number, {}).get(opcode, ("", None))
        if handler is not None:
            handler(*self._unpacked(signature, body))

    def _unpacked(self, signature: str, body: bytes) -> list[Any]:
        found: list[Any] = []
        place = 0
        for kind in signature:
            if kind == "h":
                found.append(self._in_files.popleft())
                continue
            if kind in "sa":
                size = _WORD.unpack_from(body, place)[0]
                place += _WORD.size
                raw = body[place : place + size]
                found.append(raw[:-1].decode("utf-8", "replace") if kind == "s" else raw)
                place += size + -size % 4
            else:
                packing = self.NUMBERS[kind]
                found.append(self._taken(kind, packing.unpack_from(body, place)[0]))
                place += packing.size
        return found

    def _packed(self, kind: str, argument: Any) -> bytes:
        if kind in "sa":
            raw = argument.encode() + b"\0" if kind == "s" else bytes(argument)
            return _WORD.pack(len(raw)) + raw + bytes(-len(raw) % 4)
        return self.NUMBERS[kind].pack(self._given(kind, argument))

    def _given(self, kind: str, number: float) -> float:  # noqa: ARG002 - for protocols with fractions of their own
        """The number as it is packed."""
        return number

    def _taken(self, kind: str, number: float) -> float:  # noqa: ARG002
        """What a packed number means."""
        return number

    # --- the end

    def close(self) -> None:
        self._drop_files()
        while self._in_files:
            os.close(self._in_files.popleft())
        self._socket.close()

    def _break(self, why: str) -> None:
        self.broken = self.broken or why

    def _check(self) -> None:
        if self.broken:
            raise ToolFailed(f"The connection to {self.OTHER_SIDE} broke: {self.broken}.", transient=True)


class Wire(Messages):
    """One connection to a compositor. Raises NeedsPerson if it cannot be opened."""

    NUMBERS = {"i": _SIGNED, "u": _WORD, "f": _SIGNED, "o": _WORD, "n": _WORD}  # noqa: RUF012 - ClassVar of the base
    OTHER_SIDE = "the Wayland compositor"

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(kernel.connected(path, _LIMIT_S), _DISPLAY + 1)
        except OSError as error:
            raise NeedsPerson(
                f"The screen {path.name} (Wayland) does not answer ({error}). Start Wisp inside a desktop session."
            ) from None
        self._events[_DISPLAY] = {0: ("ous", self._fail), 1: ("u", self._forget)}

    def _head(self, number: int, opcode: int, body: int) -> bytes:
        return _HEAD.pack(number, (body + _HEAD.size) << 16 | opcode)

    def _read_head(self) -> tuple[int, int, int, int] | None:
        if len(self._in) < _HEAD.size:
            return None
        number, word = _HEAD.unpack_from(self._in)
        size = word >> 16
        return (number, word & 0xFFFF, _HEAD.size, size) if len(self._in) >= size else None

    def roundtrip(self, limit_s: float = _LIMIT_S) -> None:
        done = list[int]()
        self.create(_DISPLAY, 0, "n", events={0: ("u", done.append)})
        self._await(done, limit_s)

    def _given(self, kind: str, number: float) -> float:
        return round(number * _FRACTION) if kind == "f" else number

    def _taken(self, kind: str, number: float) -> float:
        return number / _FRACTION if kind == "f" else number

    def _forget(self, number: int) -> None:
        if number < _SERVER_IDS:
            self._events.pop(number, None)
            self._free.append(number)

    def _fail(self, number: int, code: int, message: str) -> None:
        self._break(f"{message} (object {number}, error {code})")
