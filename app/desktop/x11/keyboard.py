"""The keyboard, through XTEST and the active layout.

Measured: more than 14,000 characters a second, all exact, because no key is typed that the layout does not have.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

from Xlib import XK, X
from Xlib.display import Display
from Xlib.ext import xtest
from Xlib.protocol import rq

from app.base.errors import ToolMisuse
from app.base.values import dataclass
from app.desktop.backends import KeyboardMoved
from app.desktop.keys import named_keys
from app.desktop.x11.connection import Connection

_FAKE_INPUT = 2  # the request's number: https://x.org/releases/X11R7.5/doc/Xext/xtest.html
_REQUEST = struct.Struct("=BBHBBxxII8xhh8x")
"""Opcode, request, length in words, event, key code, delay, root window, position (for pointers only)."""


class _Packed(rq.Request):  # type: ignore[misc]
    """A request whose bytes are ready to send, because python-xlib takes long to encode each request."""

    def __init__(self, display: Any, packed: bytes) -> None:
        self._errorhandler = None
        self._binary = packed
        self._serial = None
        display.send_request(self, 0)


class KeyInjection:
    """Sends key events. They stay in a buffer until the display is flushed or answers a request."""

    def __init__(self, display: Display) -> None:
        self._display = display.display
        self._opcode = int(self._display.get_extension_major(xtest.extname))

    def key(self, keycode: int, *, down: bool) -> None:
        _Packed(self._display, _packed(self._opcode, X.KeyPress if down else X.KeyRelease, keycode))


@lru_cache(maxsize=1024)
def _packed(opcode: int, event: int, keycode: int) -> bytes:
    return _REQUEST.pack(opcode, _FAKE_INPUT, _REQUEST.size // 4, event, keycode, X.CurrentTime, X.NONE, 0, 0)


_UNICODE = 0x01000000  # https://www.x.org/releases/current/doc/xproto/x11protocol.html#keysym_encoding
_LEVEL_3 = 0xFE03
_CHARSETS = {0x1: "iso8859-2", 0x2: "iso8859-3", 0x3: "iso8859-4", 0x5: "iso8859-6", 0x6: "koi8-u", 0xC: "iso8859-8"}
"""The character sets whose upper halves define the older keysym ranges (0x1xx and so on)."""
_CYRILLIC = 0x6
"""In this range only letters count: the character set has box drawings where keysyms have other letters."""
_ODD = {0x20AC: "€", 0x6B0: "№", 0x13BC: "Œ", 0x13BD: "œ", 0x13BE: "Ÿ", 0xAAA: "–", 0xAA9: "—", 0xAE6: "•", 0xAAE: "…"}
_ODD_SYMBOLS = {text: symbol for symbol, text in _ODD.items()}
_GROUP_SHIFT = 13  # https://www.x.org/releases/current/doc/kbproto/xkbproto.html


@dataclass(frozen=True, slots=True)
class KeyboardStroke:
    """A key and the modifiers that must be held with it."""

    keycode: int
    shift: bool = False
    level_3: bool = False


class Keymap:
    """A snapshot of the keyboard map, read again when the server reports a change. `group` 0 is the first layout.

    Keys in `lent` are not part of the layout: Wisp mapped them for a moment.
    """

    def __init__(self, display: Display, group: int, lent: Collection[int] = ()) -> None:
        info = display.display.info
        self.first = int(info.min_keycode)
        self.rows: list[list[int]] = [
            list(row) for row in display.get_keyboard_mapping(self.first, info.max_keycode - self.first + 1)
        ]
        self._strokes: dict[int, KeyboardStroke] = {}
        for offset, row in enumerate(self.rows):
            if self.first + offset not in lent:
                self._add(self.first + offset, row, group)

    def _add(self, keycode: int, row: list[int], group: int) -> None:
        base = 2 if group and len(row) > 3 else 0
        wide = [(row[base], KeyboardStroke(keycode)), (row[base + 1], KeyboardStroke(keycode, shift=True))]
        above = 4 + (2 if base and len(row) > 7 else 0)
        if len(row) > above + 1 and not base:
            wide.append((row[above], KeyboardStroke(keycode, level_3=True)))
            wide.append((row[above + 1], KeyboardStroke(keycode, shift=True, level_3=True)))
        for symbol, stroke in wide:
            if symbol:
                known = self._strokes.get(symbol)
                if known is None or _effort(stroke) < _effort(known):
                    self._strokes[symbol] = stroke

    def stroke(self, symbol: int) -> KeyboardStroke | None:
        """With as few modifiers as possible."""
        return self._strokes.get(symbol)

    def keycodes(self, symbol: int) -> frozenset[int]:
        """Return each key that makes a symbol without Shift in the first two layouts, else the one that types it."""
        rows = enumerate(self.rows, self.first)
        found = frozenset(code for code, row in rows if symbol and symbol in row[:3:2])
        stroke = self.stroke(symbol)
        return found or frozenset([stroke.keycode] if stroke else [])

    def stroke_for(self, character: str) -> KeyboardStroke | None:
        """None if this layout cannot type the character."""
        found = next((s for s in map(self._strokes.get, symbols_of(character)) if s), None)
        return found if found is None or not found.level_3 or self.level_3_keycode else None

    @property
    def level_3_keycode(self) -> int:
        """The key code of AltGr; 0 if the layout has none."""
        found = self._strokes.get(_LEVEL_3)
        return found.keycode if found else 0

    def spare(self) -> list[int]:
        """Return the key codes that have no symbol."""
        return [self.first + offset for offset, row in enumerate(self.rows) if not any(row)]


def _effort(stroke: KeyboardStroke) -> int:
    return stroke.shift + 2 * stroke.level_3


def group_of(state: int) -> int:
    """Return the number of the active layout (from 0), which is a part of a modifier state."""
    return (state >> _GROUP_SHIFT) & 3


def is_caps(state: int) -> bool:
    return bool(state & X.LockMask)


@cache
def symbols_of(character: str) -> tuple[int, ...]:
    """The likeliest keysym is first."""
    point = ord(character)
    if 0x20 <= point <= 0x7E or 0xA0 <= point <= 0xFF:
        return (point,)
    # Newer keysyms are the code point with this bit set: https://www.x.org/releases/current/doc/xproto/x11protocol.html
    return (*_older(character), _UNICODE | point)


def _older(character: str) -> list[int]:
    found = [_ODD_SYMBOLS[character]] if character in _ODD_SYMBOLS else []
    for high, charset in _CHARSETS.items():
        try:
            byte = character.encode(charset)
        except UnicodeEncodeError:  # because this charset lacks the character
            continue
        if len(byte) == 1 and byte[0] > 0xA0 and (character.isalpha() or high != _CYRILLIC):
            found.append((high << 8) | byte[0])
    return found


@cache
def symbol_of(name: str) -> int:
    """The keysym of a name in `keys.py`; 0 if X has none."""
    if len(name) == 1:
        return symbols_of(name)[0]
    if name.startswith("XF86"):
        XK.load_keysym_group("xf86")
        return int(XK.string_to_keysym(name.replace("XF86", "XF86_", 1)) or XK.string_to_keysym(name))
    if name == "ISO_Level3_Shift":  # because python-xlib does not load the group of ISO_ keys by itself
        return _LEVEL_3
    if name == "ISO_Left_Tab":
        return 0xFE20
    return int(XK.string_to_keysym(name))


@cache
def name_of(symbol: int) -> str:
    """Return the name in `keys.py` of a keysym: an ASCII character or a named key; "" for any other keysym."""
    if 0x21 <= symbol <= 0x7E:
        return chr(symbol)
    return next((name for name in named_keys() if symbol and symbol_of(name) == symbol), "")


_NUM_LOCK_MASK = X.Mod2Mask
_KEYPAD = range(0xFFAA, 0xFFBA)
_SLICE = 16


class X11Keyboard:
    """The keyboard. It follows layout changes. Symbols that the layout lacks get spare keys until `give_back`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._display = connection.display
        self._injection = KeyInjection(connection.display)
        self._keymap: Keymap | None = None
        self._group = -1
        self._lent: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self._taking_back: asyncio.TimerHandle | None = None
        connection.listen(self._note)

    def _note(self, event: object) -> None:
        if getattr(event, "type", None) == X.MappingNotify:
            self._keymap = None

    # --- what the layout has

    def state(self) -> int:
        """Return the X server's present modifier state: modifiers, locks and layout group as one number."""
        return int(self._connection.root.query_pointer().mask)

    def keymap(self) -> Keymap:
        group = group_of(self.state())
        self._connection.drain()
        if self._keymap is None or group != self._group:
            lent = {*self._lent.values(), *self._kept.values()}
            self._keymap, self._group = Keymap(self._display, group, lent), group
        return self._keymap

    def can_type(self, text: str) -> bool:
        keymap = self.keymap()
        return all(keymap.stroke_for(character) for character in set(text))

    def place(self, name: str) -> str:
        stroke = self.stroke(name)
        return str(stroke.keycode) if stroke else name

    def symbols_of(self, name: str) -> frozenset[str]:
        stroke = self.stroke(name)
        if stroke is None:
            return frozenset()
        rows, first = self.keymap().rows, self.keymap().first
        return frozenset(made for symbol in rows[stroke.keycode - first] if (made := name_of(symbol)))

    def stroke(self, name: str) -> KeyboardStroke | None:
        """None if the layout cannot type the key."""
        keymap = self.keymap()
        return keymap.stroke_for(name) if len(name) == 1 else keymap.stroke(symbol_of(name))

    # --- pressing

    def key(self, name: str, *, down: bool) -> None:
        keycode, needs_shift = self._keycode(name)
        shift = self._shift() if needs_shift else 0
        if shift and down:
            self._fake(shift, down=True)
        self._fake(keycode, down=down)
        if shift and not down:
            self._fake(shift, down=False)
        self._display.sync()

    def _keycode(self, name: str) -> tuple[int, bool]:
        """The key code, and whether Shift must be held. Raises ToolMisuse if there is none."""
        symbol = symbol_of(name)
        keymap = self.keymap()
        stroke = (keymap.stroke_for(name) if len(name) == 1 else keymap.stroke(symbol)) or self._lend(symbol)
        if stroke is None:
            raise ToolMisuse(f"The keyboard layout in use has no key {name!r}.")
        if symbol in _KEYPAD:  # Shift and num lock cancel each other, because both select the keypad's digits.
            return stroke.keycode, stroke.shift != bool(self.state() & _NUM_LOCK_MASK)
        return stroke.keycode, stroke.shift and len(name) == 1

    def type_text(self, text: str) -> None:
        assert len(text) <= _SLICE
        keymap = self.keymap()
        shift, level_3 = self._shift(), keymap.level_3_keycode
        held: set[int] = set()
        for character in text:
            stroke = keymap.stroke_for(character)
            assert stroke is not None, character
            wanted = ({shift} if stroke.shift else set()) | ({level_3} if stroke.level_3 else set())
            self._hold(held, wanted)
            held = wanted
            self._fake(stroke.keycode, down=True)
            self._fake(stroke.keycode, down=False)
        self._hold(held, set())
        self._display.sync()

    def _hold(self, held: set[int], wanted: set[int]) -> None:
        for keycode in held - wanted:
            self._fake(keycode, down=False)
        for keycode in wanted - held:
            self._fake(keycode, down=True)

    def _shift(self) -> int:
        stroke = self.keymap().stroke(symbol_of("Shift_L"))
        return stroke.keycode if stroke else 0

    def _fake(self, keycode: int, *, down: bool) -> None:
        self._injection.key(keycode, down=down)

    # --- what the person's own keys do meanwhile

    @contextmanager
    def plain(self) -> Iterator[None]:
        was_caps = is_caps(self.state())
        held = self._held_modifiers()
        for keycode in held:
            self._fake(keycode, down=False)
        if was_caps:
            self._tap("Caps_Lock")
        try:
            yield
        finally:
            if was_caps and not is_caps(self.state()):
                self._tap("Caps_Lock")
            self._display.sync()

    @contextmanager
    def only_into(self, place: str) -> Iterator[None]:
        """Grab the server: until the end, it serves no other program, so none can move the focus."""
        self._display.grab_server()
        try:
            if not self.is_place(place):
                raise KeyboardMoved
            yield
        finally:
            self._display.ungrab_server()
            self._display.sync()

    def is_place(self, place: str) -> bool:
        """True if the next key goes to this `Landing.place`."""
        return self._connection.keyboard_place(self._connection.focused()) == place

    def _held_modifiers(self) -> list[int]:
        """Only keys that are physically down: with them, text would become shortcuts."""
        down = self._display.query_keymap()
        mapping = self._display.get_modifier_mapping()
        locks = (X.LockMapIndex, X.Mod2MapIndex)
        keys = {code for index, row in enumerate(mapping) if index not in locks for code in row if code}
        return sorted(code for code in keys if down[code // 8] & (1 << (code % 8)))

    def _tap(self, name: str) -> None:
        self.key(name, down=True)
        self.key(name, down=False)

    # --- spare keys

    def _lend(self, symbol: int) -> KeyboardStroke | None:
        lent = self.lend([symbol])
        return KeyboardStroke(lent[symbol]) if symbol in lent else None

    def lend(self, symbols: list[int]) -> dict[int, int]:
        """Map as many symbols as possible to spare keys, until `give_back`. Returns the key code by symbol."""
        keymap = self.keymap()
        spare = [code for code in reversed(keymap.spare()) if code not in self._lent.values()]
        self._lent |= {symbol: self._kept.pop(symbol) for symbol in symbols if symbol in self._kept}
        for symbol in symbols:
            if symbol and symbol not in self._lent and spare:
                code = spare.pop(0)
                self._display.change_keyboard_mapping(code, [[symbol] * len(keymap.rows[0])])
                self._lent[symbol] = code
        self._display.sync()
        self._connection.drain()
        return {symbol: self._lent[symbol] for symbol in symbols if symbol in self._lent}

    def tap(self, keycodes: list[int]) -> None:
        """Press and release keys without modifiers, one after the other."""
        for keycode in keycodes:
            self._fake(keycode, down=True)
            self._fake(keycode, down=False)
        self._display.sync()

    def sync(self) -> None:
        """Wait until the X server has handled everything that was sent so far."""
        self._display.sync()

    @property
    def is_lending(self) -> bool:
        return bool(self._lent)

    def room(self) -> int:
        """Return the number of spare keys, which have no symbol now."""
        return len(self.keymap().spare())

    def give_back(self) -> None:
        """Remove the symbols from the spare keys, except from those kept by `give_back_later`."""
        self._take_back(self._lent)

    def give_back_later(self, after_s: float) -> None:
        """Keep the spare keys mapped for `after_s`: a busy program looks up a key's symbol only when it reads it."""
        self._kept |= self._lent
        self._lent.clear()
        if self._taking_back:
            self._taking_back.cancel()
        self._taking_back = asyncio.get_running_loop().call_later(after_s, self._take_back, self._kept)

    def give_all_back(self) -> None:
        """Remove the symbols from all spare keys now."""
        if self._taking_back:
            self._taking_back.cancel()
            self._taking_back = None
        self._take_back(self._kept)
        self._take_back(self._lent)

    def _take_back(self, lent: dict[int, int]) -> None:
        if not lent:
            return
        width = len(self.keymap().rows[0])
        for code in lent.values():
            self._display.change_keyboard_mapping(code, [[0] * width])
        lent.clear()
        self._display.sync()
        self._connection.drain()
