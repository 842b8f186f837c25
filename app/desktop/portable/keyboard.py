"""The keyboard, by pynput: on Windows and macOS it hands over Unicode itself, so every text is typed directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.base.errors import ToolMisuse
from app.desktop.portable.drivers import key_driver

_NAMES = {
    "Control_L": "ctrl",
    "Control_R": "ctrl_r",
    "Shift_L": "shift",
    "Shift_R": "shift_r",
    "Alt_L": "alt",
    "ISO_Level3_Shift": "alt_gr",
    "Super_L": "cmd",
    "Super_R": "cmd_r",
    "Return": "enter",
    "KP_Enter": "enter",
    "Escape": "esc",
    "BackSpace": "backspace",
    "Page_Up": "page_up",
    "Page_Down": "page_down",
    "Caps_Lock": "caps_lock",
    "Num_Lock": "num_lock",
    "Scroll_Lock": "scroll_lock",
    "Print": "print_screen",
    "XF86AudioMute": "media_volume_mute",
    "XF86AudioLowerVolume": "media_volume_down",
    "XF86AudioRaiseVolume": "media_volume_up",
    "XF86AudioPlay": "media_play_pause",
    "XF86AudioNext": "media_next",
    "XF86AudioPrev": "media_previous",
}
_KEYPAD = {"KP_Add": "+", "KP_Subtract": "-", "KP_Multiply": "*", "KP_Divide": "/", "KP_Decimal": ".", "KP_Equal": "="}


class PortableKeyboard:
    """Nothing is ever lent: the layout is left alone."""

    is_lending = False

    def __init__(self) -> None:
        self._controller: Any = None

    def _keys(self) -> Any:
        if self._controller is None:
            self._controller = key_driver().Controller()
        return self._controller

    def key(self, name: str, *, down: bool) -> None:
        key = portable_key(name)
        (self._keys().press if down else self._keys().release)(key)

    def place(self, name: str) -> str:
        return name

    def can_type(self, text: str) -> bool:  # noqa: ARG002
        return True

    def type_text(self, text: str) -> None:
        self._keys().type(text)

    def symbols_of(self, name: str) -> frozenset[str]:
        """Windows and macOS do not tell: a key counts as what it is called."""
        return frozenset({name})

    @contextmanager
    def plain(self) -> Iterator[None]:
        yield

    def give_back(self) -> None:
        return None


def portable_key(name: str) -> Any:
    """pynput's name of a key of `keys.py`. ToolMisuse where it has none."""
    if len(name) == 1:
        return name
    if name in _KEYPAD:
        return _KEYPAD[name]
    if name.startswith("KP_") and name[3:].isdigit():
        return name[3:]
    known = getattr(key_driver().Key, _NAMES.get(name, name.lower()), None)
    if known is None:
        raise ToolMisuse(f"This system's keyboard has no key {name!r}.")
    return known


class DirectTyping:
    """Stands where other systems need ways around the layout; here the keyboard types everything."""

    def __init__(self, keyboard: PortableKeyboard) -> None:
        self._keyboard = keyboard

    async def paste(self, text: str, chord: str) -> bool:  # noqa: ARG002
        self._keyboard.type_text(text)
        return True

    async def remap(self, text: str) -> None:
        self._keyboard.type_text(text)
