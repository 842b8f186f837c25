"""Release every key and button that X holds as pressed. The watchdog calls it after a Wisp process has died."""

from __future__ import annotations

from Xlib import X
from Xlib.display import Display
from Xlib.error import ConnectionClosedError, DisplayError
from Xlib.ext import xtest

_BUTTONS = ((X.Button1Mask, 1), (X.Button2Mask, 2), (X.Button3Mask, 3))


def let_go(display_name: str) -> int:
    """How many there were; none where the display cannot be reached."""
    try:
        display = Display(display_name)
    except (DisplayError, OSError):  # because the X server may be gone too
        return 0
    try:
        keys = [
            octet * 8 + bit for octet, byte in enumerate(display.query_keymap()) for bit in range(8) if byte >> bit & 1
        ]
        mask = int(display.screen().root.query_pointer().mask)
        buttons = [number for button, number in _BUTTONS if mask & button]
        for number in buttons:
            xtest.fake_input(display, X.ButtonRelease, number)
        for keycode in keys:
            xtest.fake_input(display, X.KeyRelease, keycode)
        display.sync()
    except (ConnectionClosedError, OSError):  # because the X server may end meanwhile
        return 0
    display.close()
    return len(keys) + len(buttons)
