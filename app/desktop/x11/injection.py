"""Key events through XTEST, packed once for each key: packing takes python-xlib longer than the server takes to act."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.ext import xtest
from Xlib.protocol import rq

_FAKE_INPUT = 2
_REQUEST = struct.Struct("=BBHBBxxII8xhh8x")
"""Opcode, which request, its length in words, event, key code, delay, root window, place (for pointers only)."""


class _Packed(rq.Request):  # type: ignore[misc]
    """A request whose bytes are known."""

    def __init__(self, display: Any, packed: bytes) -> None:
        self._errorhandler = None
        self._binary = packed
        self._serial = None
        display.send_request(self, 0)


class KeyInjection:
    """Events are on their way once the display is flushed or asked something."""

    def __init__(self, display: Display) -> None:
        self._display = display.display
        self._opcode = int(self._display.get_extension_major(xtest.extname))

    def key(self, keycode: int, *, down: bool) -> None:
        _Packed(self._display, _packed(self._opcode, X.KeyPress if down else X.KeyRelease, keycode))


@lru_cache(maxsize=1024)
def _packed(opcode: int, event: int, keycode: int) -> bytes:
    return _REQUEST.pack(opcode, _FAKE_INPUT, _REQUEST.size // 4, event, keycode, X.CurrentTime, X.NONE, 0, 0)
