"""The summon key on X11, grabbed on a connection of its own; no other program sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QSocketNotifier
from Xlib import XK, X
from Xlib.display import Display
from Xlib.error import BadAccess, CatchError, ConnectionClosedError

from app.ui.approvals.devices import WITNESS
from app.ui.hotkey.keys import Keys

_MASKS = {"shift": X.ShiftMask, "ctrl": X.ControlMask, "alt": X.Mod1Mask, "super": X.Mod4Mask}
_LOCKS = (0, X.LockMask, X.Mod2Mask, X.LockMask | X.Mod2Mask)
_SYMBOLS = {
    "space": "space", "enter": "Return", "tab": "Tab", "escape": "Escape", "insert": "Insert", "delete": "Delete",
    "home": "Home", "end": "End", "pageup": "Page_Up", "pagedown": "Page_Down", "pause": "Pause", "print": "Print",
}  # fmt: skip
_UNICODE = 0x01000000
_LATIN_1 = 0x100


class X11Grab(QObject):
    """Calls `pressed` on the GUI thread; there is no other thread. Raises ValueError where the key cannot be had."""

    def __init__(self, keys: Keys, pressed: Callable[[], None]) -> None:
        super().__init__()
        self._keys = keys
        self._pressed = pressed
        WITNESS.prepare()
        self._display = Display()
        self._root = self._display.screen().root
        try:
            self._grab()
        except ValueError:
            self._display.close()
            raise
        self._bell = QSocketNotifier(self._display.fileno(), QSocketNotifier.Type.Read, self)
        self._bell.activated.connect(self._arrived)

    def close(self) -> None:
        """Give the key back."""
        self._bell.setEnabled(False)
        self._display.close()

    def _grab(self) -> None:
        tr = QCoreApplication.translate
        code = self._display.keysym_to_keycode(_symbol(self._keys.key))
        if not code:
            raise ValueError(tr("Hotkey", "There is no such key on this keyboard. Choose another one in the settings."))
        mask = sum(_MASKS[name] for name in self._keys.modifiers)
        taken = CatchError(BadAccess)
        for lock in _LOCKS:
            self._root.grab_key(code, mask | lock, False, X.GrabModeAsync, X.GrabModeAsync, onerror=taken)
        self._display.sync()
        if taken.get_error():
            raise ValueError(
                tr("Hotkey", "Another program has taken this key already. Choose another one in the settings.")
            )

    def _arrived(self) -> None:
        try:
            while self._display.pending_events():
                self._heard(self._display.next_event())
        except ConnectionClosedError:
            self._bell.setEnabled(False)  # the server goes, and Qt tells that better

    def _heard(self, event: Any) -> None:
        if event.type == X.KeyPress:
            if WITNESS.is_persons_input(event.detail, event.time, is_key=True):
                self._pressed()
        elif event.type == X.MappingNotify:  # another layout: the same key may be elsewhere now
            self._display.refresh_keyboard_mapping(event)
            self._root.ungrab_key(X.AnyKey, X.AnyModifier)
            self._grab()


def _symbol(key: str) -> int:
    if len(key) == 1:
        return ord(key) if ord(key) < _LATIN_1 else _UNICODE + ord(key)
    name = _SYMBOLS.get(key) or key.upper()
    symbol: int = XK.string_to_keysym(name)
    return symbol
