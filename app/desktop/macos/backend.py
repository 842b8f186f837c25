"""All seams of macOS."""

from __future__ import annotations

from collections.abc import Callable

from app.desktop.backend import Backend
from app.desktop.elements import NoAccessibility
from app.desktop.keys import Chord
from app.desktop.macos.apps import MacApps, MacClipboard
from app.desktop.macos.windows import MacWindows
from app.desktop.portable.keyboard import DirectTyping, PortableKeyboard
from app.desktop.portable.listening import PortableListener
from app.desktop.portable.pointer import PortablePointer
from app.desktop.portable.screen import PortableScreen


def make_backend() -> Backend:
    """On the desktop thread."""
    screen, keyboard = PortableScreen(), PortableKeyboard()

    async def close() -> None:
        screen.close()

    def listen(_stop_key: Chord, stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        return PortableListener(None, stop, touched).close

    return Backend(
        name="macos",
        screen=screen,
        pointer=PortablePointer(),
        keyboard=keyboard,
        exact=DirectTyping(keyboard),
        windows=MacWindows(),
        apps=MacApps(),
        clipboard=MacClipboard(),
        accessibility=NoAccessibility("Wisp does not read macOS's accessibility tree."),
        close=close,
        listen=listen,
    )
