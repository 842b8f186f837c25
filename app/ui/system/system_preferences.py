"""Read the desktop's preferences for all programs: dark or light, text size, reduced motion."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.theme.appearance import DesktopWishes

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

_log = logging.getLogger(__name__)
_PORTAL = "org.freedesktop.portal.Desktop"
_PATH = "/org/freedesktop/portal/desktop"
_SETTINGS = "org.freedesktop.portal.Settings"
_ANIMATIONS = ("org.gnome.desktop.interface", "enable-animations")
_SCHEME = ("org.freedesktop.appearance", "color-scheme")
_DARK, _LIGHT = 1, 2
"""The portal's answers about the scheme; 0 is no preference."""
_CLIENT_AREA_ANIMATION = 0x1042
"""SPI_GETCLIENTAREAANIMATION of SystemParametersInfo."""


class Taste(QObject):
    """The desktop's preferences. `changed` is emitted once for several changes together."""

    changed = Signal()

    def __init__(self, application: QApplication) -> None:
        super().__init__()
        self.wanted = DesktopWishes()
        self._application = application
        self._bus: MessageBus | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.changed)
        application.styleHints().colorSchemeChanged.connect(self._soon.start)
        self._ear = _Ear(self._soon.start)

    async def follow(self) -> None:
        """Ask the system, and listen from then on where it tells."""
        if QGuiApplication.platformName() in ("xcb", "wayland"):
            await self._follow_portal()
        else:
            # On a thread, because a subprocess may take seconds.
            self._note(replace(self.wanted, reduced=await asyncio.to_thread(_is_reduced)))

    def close(self) -> None:
        """Listen no more."""
        self._ear.deleteLater()
        self._application.styleHints().colorSchemeChanged.disconnect(self._soon.start)
        if self._bus is not None and self._bus.connected:
            self._bus.disconnect()

    async def _follow_portal(self) -> None:
        from dbus_fast import Message, MessageType
        from dbus_fast.aio import MessageBus
        from dbus_fast.errors import DBusError, InvalidAddressError

        try:
            self._bus = await MessageBus().connect()
            self._bus.add_message_handler(self._heard)
            rule = f"type='signal',interface='{_SETTINGS}',member='SettingChanged'"
            name, path = "org.freedesktop.DBus", "/org/freedesktop/DBus"
            await self._bus.call(Message(name, path, name, "AddMatch", signature="s", body=[rule]))
            for key in (_ANIMATIONS, _SCHEME):
                asked = Message(_PORTAL, _PATH, _SETTINGS, "Read", signature="ss", body=list(key))
                answer = await self._bus.call(asked)
                if answer is not None and answer.message_type is MessageType.METHOD_RETURN:
                    self._told(key, answer.body[0])
        except (OSError, EOFError, DBusError, InvalidAddressError) as error:
            _log.info("The desktop does not say what it wants of its programs: %s", error)

    def _heard(self, message: Message) -> None:
        if message.member == "SettingChanged" and message.interface == _SETTINGS:
            namespace, key, value = message.body
            self._told((namespace, key), value)

    def _told(self, key: tuple[str, str], value: Any) -> None:
        bare = _bare(value)
        if key == _ANIMATIONS:
            self._note(replace(self.wanted, reduced=bare is False))
        elif key == _SCHEME:
            self._note(replace(self.wanted, dark={_DARK: True, _LIGHT: False}.get(bare)))

    def _note(self, wanted: DesktopWishes) -> None:
        if wanted != self.wanted:
            self.wanted = wanted
            self._soon.start()


class _Ear(QWidget):
    """A hidden widget that hears of font changes. A filter on the application would run for every event."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ApplicationFontChange:
            self._changed()
        return super().event(event)


def _bare(value: Any) -> Any:
    """What is inside a variant; the portal's Read wraps twice."""
    from dbus_fast import Variant

    while isinstance(value, Variant):
        value = value.value
    return value


if sys.platform == "win32":

    def _is_reduced() -> bool:
        import ctypes

        animated = ctypes.c_int(1)
        ctypes.windll.user32.SystemParametersInfoW(_CLIENT_AREA_ANIMATION, 0, ctypes.byref(animated), 0)
        return not animated.value

else:

    def _is_reduced() -> bool:
        """Read the setting on macOS; False on other systems, which lack the command."""
        import subprocess

        command = ["defaults", "read", "com.apple.universalaccess", "reduceMotion"]
        try:
            told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return told.stdout.strip() == "1"
