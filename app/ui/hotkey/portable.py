"""The summon key on Windows and macOS, heard by pynput on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal

from app.ui.hotkey.keys import Keys

_NAMES = {"super": "cmd", "pageup": "page_up", "pagedown": "page_down", "escape": "esc", "print": "print_screen"}


class PortableGrab(QObject):
    """Raises ValueError where the key cannot be had."""

    _heard = Signal()

    def __init__(self, keys: Keys, pressed: Callable[[], None]) -> None:
        super().__init__()
        try:
            from pynput import keyboard
        except (ImportError, OSError) as error:
            sorry = QCoreApplication.translate("Hotkey", "No key can be heard here ({why}). Reinstall Wisp.")
            raise ValueError(sorry.format(why=error)) from None
        self._heard.connect(pressed, Qt.ConnectionType.QueuedConnection)
        self._listener = keyboard.GlobalHotKeys({written(keys): self._heard.emit})
        self._listener.start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.stop()


def written(keys: Keys) -> str:
    """The keys in pynput's way: `<ctrl>+<alt>+<space>`."""
    parts = [*sorted(keys.modifiers), keys.key]
    return "+".join(part if len(part) == 1 else f"<{_NAMES.get(part, part)}>" for part in parts)
