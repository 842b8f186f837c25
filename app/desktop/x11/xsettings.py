"""The desktop's settings as programs read them: https://specifications.freedesktop.org/xsettings-spec/."""

from __future__ import annotations

import struct

from Xlib import X
from Xlib.error import XError

from app.desktop.x11.connection import Connection

_INTEGER, _STRING, _COLOR = 0, 1, 2
_COLOR_BYTES = 8
_MOST_WORDS = 1 << 16


def setting(connection: Connection, name: str) -> int | None:
    """Read a numeric XSETTINGS value, or None if it is not set."""
    number = connection.display.get_default_screen()
    owner = connection.display.get_selection_owner(connection.atom(f"_XSETTINGS_S{number}"))
    if owner == X.NONE:
        return None
    try:
        told = owner.get_property(connection.atom("_XSETTINGS_SETTINGS"), X.AnyPropertyType, 0, _MOST_WORDS)
    except XError:  # because the owner of the settings ended meanwhile
        return None
    return _number(bytes(told.value), name.encode()) if told is not None else None


def _number(data: bytes, wanted: bytes) -> int | None:
    """The value of a number in the settings' own form; None where it is not there or the form is broken."""
    order = "<" if data[:1] == b"\0" else ">"
    place = 12
    try:
        for _ in range(struct.unpack_from(f"{order}I", data, 8)[0]):
            kind, length = struct.unpack_from(f"{order}BxH", data, place)
            name = data[place + 4 : place + 4 + length]
            place += 4 + _padded(length) + 4
            if kind == _INTEGER:
                value = int(struct.unpack_from(f"{order}i", data, place)[0])
                if name == wanted:
                    return value
                place += 4
            elif kind == _STRING:
                place += 4 + _padded(struct.unpack_from(f"{order}I", data, place)[0])
            else:
                place += _COLOR_BYTES
    except struct.error:
        return None
    return None


def _padded(length: int) -> int:
    return length + -length % 4
