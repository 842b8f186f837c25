"""The keyboard, as a virtual one with a layout of its own.

https://wayland.app/protocols/virtual-keyboard-unstable-v1. Layouts belong to a device, so the person's stays as it is.
The layout has the keys of an American keyboard, and on its spare keys the characters that a text needs besides. Keys
never move, so a program that reads its keys late still finds their meaning.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache

from app.base.errors import NeedsPerson, ToolMisuse
from app.desktop.backends import KeyboardMoved, Windows
from app.desktop.keys import UNCHECKED, KeyChecks, slices
from app.desktop.takeover import StopFlag
from app.desktop.wayland import kernel
from app.desktop.wayland.compositor import KEYBOARD, Compositor
from app.desktop.wayland.pointer import now_ms
from app.desktop.wayland.wire import Wire

_KEYMAP, _KEY, _MODIFIERS = 0, 1, 2
_XKB_V1 = 1
_HANDLED_S = 1.0
# Codes as in https://github.com/torvalds/linux/blob/master/include/uapi/linux/input-event-codes.h
_ROWS = (
    (2, "1234567890-=", "!@#$%^&*()_+"),
    (16, "qwertyuiop[]", "QWERTYUIOP{}"),
    (30, "asdfghjkl;'`", 'ASDFGHJKL:"~'),
    (43, "\\zxcvbnm,./", "|ZXCVBNM<>?"),
)
_NAMED = {
    "Escape": 1, "BackSpace": 14, "Tab": 15, "Return": 28, "Control_L": 29, "Shift_L": 42, "Shift_R": 54,
    "KP_Multiply": 55, "Alt_L": 56, "space": 57, "Caps_Lock": 58, "F1": 59, "F2": 60, "F3": 61, "F4": 62, "F5": 63,
    "F6": 64, "F7": 65, "F8": 66, "F9": 67, "F10": 68, "Num_Lock": 69, "Scroll_Lock": 70, "KP_7": 71, "KP_8": 72,
    "KP_9": 73, "KP_Subtract": 74, "KP_4": 75, "KP_5": 76, "KP_6": 77, "KP_Add": 78, "KP_1": 79, "KP_2": 80,
    "KP_3": 81, "KP_0": 82, "KP_Decimal": 83, "F11": 87, "F12": 88, "KP_Enter": 96,
    "Control_R": 97, "KP_Divide": 98, "Print": 99, "ISO_Level3_Shift": 100, "Home": 102, "Up": 103, "Page_Up": 104,
    "Left": 105, "Right": 106, "End": 107, "Down": 108, "Page_Down": 109, "Insert": 110, "Delete": 111,
    "XF86AudioMute": 113, "XF86AudioLowerVolume": 114, "XF86AudioRaiseVolume": 115, "KP_Equal": 117, "Pause": 119,
    "Super_L": 125, "Super_R": 126, "Menu": 127, "XF86Back": 158, "XF86Forward": 159, "XF86AudioNext": 163,
    "XF86AudioPlay": 164, "XF86AudioPrev": 165, "XF86Reload": 173, "F13": 183, "F14": 184, "F15": 185, "F16": 186,
    "F17": 187, "F18": 188, "F19": 189, "F20": 190, "F21": 191, "F22": 192, "F23": 193, "F24": 194,
}  # fmt: skip
_MASKS = {
    "Shift_L": 1, "Shift_R": 1, "Control_L": 4, "Control_R": 4, "Alt_L": 8, "Super_L": 64, "Super_R": 64,
    "ISO_Level3_Shift": 128,
}  # fmt: skip
"""The bits of the modifiers: https://www.x.org/releases/current/doc/xproto/x11protocol.html, SETofKEYMASK."""
_MAPPED = ("Shift", "Lock", "Control", "Mod1", "Mod2", "Mod3", "Mod4", "Mod5")
_FIRST_SPARE, _LAST = 89, 247  # codes above 247 are none in X11, and so in programs of XWayland
_X11_OFFSET = 8


@cache
def _keys() -> dict[str, tuple[int, bool]]:
    """By key or character of the layout: its code, and whether Shift is held with it."""
    found = {name: (code, False) for name, code in _NAMED.items()}
    for first, plain, shifted in _ROWS:
        for place, (low, high) in enumerate(zip(plain, shifted, strict=True)):
            found |= {low: (first + place, False), high: (first + place, True)}
    return found | {" ": found["space"], "ISO_Left_Tab": (_NAMED["Tab"], True)}


@cache
def _spare() -> tuple[int, ...]:
    taken = {code for code, _ in _keys().values()}
    return tuple(code for code in range(_FIRST_SPARE, _LAST + 1) if code not in taken)


def keymap_of(extra: dict[str, int]) -> str:
    """XKB's text format, with these characters on these codes besides.

    Its types and its compatibility are complete: the X server takes no other layout, and types with its old one.
    """
    symbols: dict[int, list[str]] = {}
    for name, (code, _) in sorted(_keys().items(), key=lambda key: key[1][1]):  # those without Shift first
        if name != " ":
            symbols.setdefault(code, []).append(_symbol(name))
    symbols |= {code: [_symbol(character)] for character, code in extra.items()}
    codes = "".join(f"<K{code}>={code + _X11_OFFSET};" for code in symbols)
    keys = "".join(f"key <K{code}> {{[{', '.join(names)}]}};" for code, names in symbols.items())
    held: dict[str, list[str]] = {}
    for name, mask in _MASKS.items():
        held.setdefault(_MAPPED[mask.bit_length() - 1], []).append(f"<K{_NAMED[name]}>")
    maps = "".join(f"modifier_map {real} {{{', '.join(found)}}};" for real, found in held.items())
    return (
        f'xkb_keymap {{ xkb_keycodes "wisp" {{minimum=8; maximum=255; {codes}}}; '
        'xkb_types "wisp" {include "complete"}; xkb_compatibility "wisp" {include "complete"}; '
        f'xkb_symbols "wisp" {{{keys}{maps}}}; }};'
    )


def _symbol(name: str) -> str:
    """A keysym's name: X's own name of a key, or the code point of a character."""
    return name if len(name) > 1 else f"U{ord(name):04X}"


class WaylandKeyboard:
    """The keyboard. `focused` returns the place that keys go to.

    `sent` is called for each event, and gets whether it may have moved a window.
    """

    is_lending = False

    def __init__(self, compositor: Compositor, focused: Callable[[], str], sent: Callable[[bool], None]) -> None:
        self._compositor = compositor
        self._focused = focused
        self._sent = sent
        self._device = 0
        self._extra: dict[str, int] = {}
        self._held: list[str] = []
        compositor.on_connect(self._connected)

    def _connected(self, wire: Wire) -> None:
        self._device, self._held = 0, []
        if self._compositor.has(KEYBOARD):
            self._device = wire.create(self._compositor.bound(KEYBOARD), 0, "on", self._compositor.seat())
            self._give_keymap(wire)

    def _give_keymap(self, wire: Wire) -> None:
        text = keymap_of(self._extra).encode() + b"\0"
        handle = kernel.memory("wisp-keymap", len(text))
        try:
            os.write(handle, text)
            wire.send(self._device, _KEYMAP, "uhu", _XKB_V1, handle, len(text))
        finally:
            os.close(handle)
        self._send_modifiers(wire)
        wire.roundtrip()

    # --- what the layout has

    def place(self, name: str) -> str:
        code = self._code(name)
        return str(code) if code else name

    def can_type(self, text: str) -> bool:
        return all(character in _keys() for character in text)

    def symbols_of(self, name: str) -> frozenset[str]:
        code = self._code(name)
        return frozenset(one for one, (own, _) in _keys().items() if code and own == code)

    def _code(self, name: str) -> int:
        return _keys().get(name, (self._extra.get(name, 0), False))[0]

    # --- pressing

    def key(self, name: str, *, down: bool) -> None:
        code, needs_shift = _keys().get(name, (self._extra.get(name, 0), False))
        if not code and len(name) == 1:
            self.learn(name)
            code = self._extra[name]
        if not code:
            raise ToolMisuse(f"This keyboard has no key {name!r}.")
        if needs_shift and down:
            self._press("Shift_L", _NAMED["Shift_L"], down=True)
        self._press(name, code, down=down)
        if needs_shift and not down:
            self._press("Shift_L", _NAMED["Shift_L"], down=False)
        self._done()

    def type_text(self, text: str) -> None:
        shift, is_shifted = _NAMED["Shift_L"], False
        for character in text:
            code, needs_shift = _keys().get(character) or (self._extra[character], False)
            if needs_shift != is_shifted:
                self._press("Shift_L", shift, down=needs_shift)
                is_shifted = needs_shift
            self._press(character, code, down=True)
            self._press(character, code, down=False)
        if is_shifted:
            self._press("Shift_L", shift, down=False)
        self._done()

    def _press(self, name: str, code: int, *, down: bool) -> None:
        wire = self._compositor.wire
        if not self._device:
            raise NeedsPerson(
                "This desktop does not let Wisp press keys (virtual-keyboard is missing). What to do: wisp doctor"
            )
        wire.send(self._device, _KEY, "uuu", now_ms(), code, down)
        if name in _MASKS:
            if down:
                self._held.append(name)
            elif name in self._held:
                self._held.remove(name)
            self._send_modifiers(wire)

    def _send_modifiers(self, wire: Wire) -> None:
        """Tell which modifiers are down: a compositor does not find that out from the keys of a virtual keyboard."""
        mask = 0
        for name in self._held:
            mask |= _MASKS[name]
        wire.send(self._device, _MODIFIERS, "uuuu", mask, 0, 0, 0)

    def _done(self) -> None:
        self._sent(any(_MASKS[name] >= _MASKS["Alt_L"] for name in self._held))
        self._compositor.wire.roundtrip()

    # --- characters that the layout lacks

    def learn(self, text: str) -> int:
        """Put the characters that the layout lacks on spare keys. Returns how many characters of the text it has now.

        If there is no room for a new one, the older ones are given up.
        """
        if lacking := self._lacking(text):
            known = self._extra if self.has_room_for(text) else {}
            wanted = [*known, *(lacking if known else self._foreign(text))]
            self._extra = dict(zip(wanted, _spare(), strict=False))
            self._give_keymap(self._compositor.wire)
        return next((n for n, c in enumerate(text) if c not in _keys() and c not in self._extra), len(text))

    def has_room_for(self, text: str) -> bool:
        """True if the text needs no more characters than there are spare keys without one."""
        return len(self._extra) + len(self._lacking(text)) <= len(_spare())

    def _lacking(self, text: str) -> list[str]:
        return [character for character in self._foreign(text) if character not in self._extra]

    def _foreign(self, text: str) -> list[str]:
        return list(dict.fromkeys(character for character in text if character not in _keys()))

    # --- where keys go

    @contextmanager
    def plain(self) -> Iterator[None]:
        """Change nothing: caps lock and held keys of the person's keyboard do not change those of this one."""
        yield

    @contextmanager
    def only_into(self, place: str) -> Iterator[None]:
        """Look once more where the keyboard is. A compositor cannot be held still, so it may move even after that."""
        if self._focused() != place:
            raise KeyboardMoved
        yield

    def give_back(self) -> None:
        return None


class WaylandTyping:
    """Types any text with the virtual keyboard."""

    def __init__(self, keyboard: WaylandKeyboard, windows: Windows, stop: StopFlag) -> None:
        self._keyboard = keyboard
        self._windows = windows
        self._stop = stop

    def can_paste(self) -> bool:
        return False

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:  # noqa: ARG002
        return False

    async def remap(self, text: str, into: str = "") -> None:
        sent_chars = 0
        while sent_chars < len(text):
            left = text[sent_chars:]
            active = "" if self._keyboard.has_room_for(left) else self._windows.keyboard().window
            if active:  # because the meaning of keys that were sent before changes now
                await self._windows.answers(active, _HANDLED_S)
            for part in slices(left[: self._keyboard.learn(left)]):
                self._stop.check()
                try:
                    with self._keyboard.only_into(into) if into else nullcontext():
                        self._keyboard.type_text(part)
                except KeyboardMoved:
                    raise KeyboardMoved(sent_chars) from None
                sent_chars += len(part)
                await asyncio.sleep(0)  # so that a stop can come between two parts
