"""All seams of Windows."""

from __future__ import annotations

import sys

from app.desktop.backend import Backend
from app.desktop.elements import NoAccessibility
from app.desktop.keys import Chord
from app.desktop.portable.keyboard import DirectTyping, PortableKeyboard
from app.desktop.portable.listening import PortableListener
from app.desktop.portable.pointer import PortablePointer
from app.desktop.portable.screen import PortableScreen

if sys.platform == "win32":
    import ctypes
    from collections.abc import Callable

    from app.desktop.windows.apps import PowerShellClipboard, StartMenu
    from app.desktop.windows.windows import Win32Windows

    _NOTCH = 120
    _PER_MONITOR_V2 = -4

    def make_backend() -> Backend:
        """On the desktop thread. Physical pixels everywhere: who asks first decides, so before pyautogui loads."""
        ctypes.windll.user32.SetProcessDpiAwarenessContext(ctypes.c_void_p(_PER_MONITOR_V2))
        screen, keyboard = PortableScreen(), PortableKeyboard()

        async def close() -> None:
            screen.close()

        def listen(stop_key: Chord, stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
            return PortableListener(stop_key, stop, touched).close

        return Backend(
            name="windows",
            screen=screen,
            pointer=PortablePointer(_NOTCH),
            keyboard=keyboard,
            exact=DirectTyping(keyboard),
            windows=Win32Windows(),
            apps=StartMenu(),
            clipboard=PowerShellClipboard(),
            accessibility=NoAccessibility("Wisp does not read Windows' accessibility tree."),
            close=close,
            listen=listen,
        )
