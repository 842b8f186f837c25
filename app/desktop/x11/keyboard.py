"""The keyboard, through XTEST and the layout that is active.

Measured: 14,000 and more characters a second, every one exact, because no key is typed that the layout does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from Xlib import X

from app.base.errors import ToolMisuse
from app.desktop.x11.connection import Connection
from app.desktop.x11.injection import KeyInjection
from app.desktop.x11.keymap import Keymap, Stroke, group_of, is_caps, name_of, symbol_of

_NUM_LOCK_MASK = X.Mod2Mask
_KEYPAD = range(0xFFAA, 0xFFBA)
_SLICE = 16


class X11Keyboard:
    """Follows layout changes; keys that no layout key carries are lent a spare one until `give_back`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._display = connection.display
        self._injection = KeyInjection(connection.display)
        self._keymap: Keymap | None = None
        self._group = -1
        self._lent: dict[int, int] = {}
        connection.listen(self._note)

    def _note(self, event: object) -> None:
        if getattr(event, "type", None) == X.MappingNotify:
            self._keymap = None

    # --- what the layout has

    def state(self) -> int:
        """The modifiers and the layout group, as the server has them now."""
        return int(self._connection.root.query_pointer().mask)

    def keymap(self) -> Keymap:
        """The layout as it is now."""
        group = group_of(self.state())
        self._connection.drain()
        if self._keymap is None or group != self._group:
            self._keymap, self._group = Keymap(self._display, group), group
        return self._keymap

    def can_type(self, text: str) -> bool:
        keymap = self.keymap()
        return all(keymap.stroke_for(character) for character in set(text))

    def place(self, name: str) -> str:
        stroke = self._stroke(name)
        return str(stroke.keycode) if stroke else name

    def symbols_of(self, name: str) -> frozenset[str]:
        stroke = self._stroke(name)
        if stroke is None:
            return frozenset()
        rows, first = self.keymap().rows, self.keymap().first
        return frozenset(made for symbol in rows[stroke.keycode - first] if (made := name_of(symbol)))

    def _stroke(self, name: str) -> Stroke | None:
        """How the layout makes what a key is called; None where it does not."""
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
        """The key for a name, and whether shift must be held for it to mean that."""
        symbol = symbol_of(name)
        keymap = self.keymap()
        stroke = (keymap.stroke_for(name) if len(name) == 1 else keymap.stroke(symbol)) or self._lend(symbol)
        if stroke is None:
            raise ToolMisuse(f"The keyboard layout in use has no key {name!r}.")
        if symbol in _KEYPAD:
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

    def _held_modifiers(self) -> list[int]:
        """Modifier keys that are physically down and would turn text into shortcuts."""
        down = self._display.query_keymap()
        mapping = self._display.get_modifier_mapping()
        locks = (X.LockMapIndex, X.Mod2MapIndex)
        keys = {code for index, row in enumerate(mapping) if index not in locks for code in row if code}
        return sorted(code for code in keys if down[code // 8] & (1 << (code % 8)))

    def _tap(self, name: str) -> None:
        self.key(name, down=True)
        self.key(name, down=False)

    # --- spare keys

    def _lend(self, symbol: int) -> Stroke | None:
        lent = self.lend([symbol])
        return Stroke(lent[symbol]) if symbol in lent else None

    def lend(self, symbols: list[int]) -> dict[int, int]:
        """Put as many symbols on spare keys as there are; symbol to key code. `give_back` ends it."""
        keymap = self.keymap()
        spare = [code for code in reversed(keymap.spare()) if code not in self._lent.values()]
        for symbol in symbols:
            if symbol and symbol not in self._lent and spare:
                code = spare.pop(0)
                self._display.change_keyboard_mapping(code, [[symbol] * len(keymap.rows[0])])
                self._lent[symbol] = code
        self._display.sync()
        self._connection.drain()
        return {symbol: self._lent[symbol] for symbol in symbols if symbol in self._lent}

    def tap(self, keycodes: list[int]) -> None:
        """Press and let go of bare keys, one after the other."""
        for keycode in keycodes:
            self._fake(keycode, down=True)
            self._fake(keycode, down=False)
        self._display.sync()

    @property
    def is_lending(self) -> bool:
        return bool(self._lent)

    def give_back(self) -> None:
        """Make the spare keys carry nothing again."""
        if not self._lent:
            return
        width = len(self.keymap().rows[0])
        for code in self._lent.values():
            self._display.change_keyboard_mapping(code, [[0] * width])
        self._lent.clear()
        self._display.sync()
        self._connection.drain()
