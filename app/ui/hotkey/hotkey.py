"""One summon key, on whatever system this is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtGui import QGuiApplication

from app.ui.hotkey.keys import Keys, parsed


class Grab(Protocol):
    """A key that is held against all other programs until it is closed."""

    def close(self) -> None: ...


class Hotkey(QObject):
    """`pressed` is told on the GUI thread."""

    pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._grab: Grab | None = None

    def use(self, text: str) -> str:
        """Listen to this key from now on, to none where it is empty. What is wrong with it; empty where nothing is."""
        self.close()
        if not text.strip():
            return ""
        try:
            self._grab = _grabbed(parsed(text), self.pressed.emit)
        except ValueError as error:
            return QCoreApplication.translate("Hotkey", "The key that calls Wisp, {keys}, does not work: {why}").format(
                keys=text, why=error
            )
        return ""

    def close(self) -> None:
        """Give the key back to the other programs."""
        if self._grab is not None:
            self._grab.close()
            self._grab = None


def _grabbed(keys: Keys, pressed: Callable[[], None]) -> Grab:
    platform = QGuiApplication.platformName()
    if platform == "xcb":
        from app.ui.hotkey.x11 import X11Grab

        return X11Grab(keys, pressed)
    if platform in ("windows", "cocoa"):
        from app.ui.hotkey.portable import PortableGrab

        return PortableGrab(keys, pressed)
    raise ValueError(
        QCoreApplication.translate("Hotkey", "Here the system itself must do it: bind a key to the command “wisp”.")
    )
