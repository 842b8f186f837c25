"""What ties the presence to the system around it: tray, summon key, notifications, autostart, crash reports."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from app.settings import catalog
from app.settings.store import Settings
from app.ui.approvals.devices import WITNESS
from app.ui.presence import Presence
from app.ui.system import autostart, crash, tray
from app.ui.system.hotkey import Hotkey
from app.ui.system.tray import BusNotifier, Note, Notifier, Show
from app.ui.theme.appearance import DesktopWishes, Look, look_of
from app.ui.windows.overlays import NoteWindow

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus


_PORTAL = "org.freedesktop.portal.Desktop"
_PATH = "/org/freedesktop/portal/desktop"
_SETTINGS = "org.freedesktop.portal.Settings"
_ANIMATIONS = ("org.gnome.desktop.interface", "enable-animations")
_SCHEME = ("org.freedesktop.appearance", "color-scheme")
_DARK, _LIGHT = 1, 2
"""The portal's answers about the scheme; 0 is no preference."""
_CLIENT_AREA_ANIMATION = 0x1042
"""SPI_GETCLIENTAREAANIMATION of SystemParametersInfo."""


class SystemPreferences(QObject):
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


if TYPE_CHECKING:
    from app.ui.system.speech import Voice

_log = logging.getLogger(__name__)


class System(QObject):
    """Stands ready while the presence lives; needs a running event loop."""

    def __init__(self, application: QApplication, presence: Presence, look: Look, settings: Settings) -> None:
        super().__init__()
        self._presence = presence
        self._application = application
        self._look = look
        self._settings = settings
        self._preferences = SystemPreferences(application)
        self._preferences.changed.connect(self._restyle)
        self._asking = asyncio.ensure_future(self._preferences.follow())
        self._note: NoteWindow | None = None
        self._voice: Voice | None = None
        self._tray = tray.Tray(look.theme, presence.actions, look.name) if tray.has_tray() else None
        self.hotkey = Hotkey()
        self.hotkey.pressed.connect(self._summoned)
        self._bus = BusNotifier(look.name, presence.open)
        self.notifier = Notifier(self._ways(), on=settings[catalog.NOTIFICATIONS])
        presence.inbox.view_changed.connect(self.notifier.show_view)
        if self._tray is not None:
            presence.inbox.view_changed.connect(self._tray.show_view)
        self._reports = crash.Reports(self._failed)
        self._open_reports()
        self._start_with_the_session(settings)
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """Apply the person's settings, the theme among them."""
        before, self._settings = self._settings, settings
        if _looks(before) != _looks(settings):
            self._restyle()
        WITNESS.prepare()
        self.notifier.on = settings[catalog.NOTIFICATIONS]
        self._speak(on=settings[catalog.SPEAK])
        if problem := self.hotkey.use(settings[catalog.SUMMON_KEY]):
            self._presence.tell("warning", problem)

    def show_crash_note(self) -> None:
        """A word about what failed before, where the person has not had it yet."""
        found = crash.unseen()
        if not found:
            return
        tr = QCoreApplication.translate
        sentence = tr("Crash", "Wisp failed the last time. A report was saved on this computer; nothing was sent.")
        answers = {tr("Crash", "Open folder"): self._open_folder, tr("Crash", "Dismiss"): crash.dismiss}
        self._note = NoteWindow(self._look, "alert", sentence, answers)
        self._note.show_beside(self._presence.orb.rest_rect(), self._presence.stage.placement.screen())

    def close(self) -> None:
        """Let go of everything; a clean end."""
        self._asking.cancel()
        self._preferences.close()
        self._speak(on=False)
        self.hotkey.close()
        self._bus.close()
        if self._tray is not None:
            self._tray.hide()
        if self._note is not None:
            self._note.close()
        self._reports.close()

    def _restyle(self) -> None:
        """Build and apply the look again, after the person or the system changed a preference."""
        self._look = look_of(self._application, self._settings, self._look, self._preferences.wanted)
        self._presence.restyle(self._look)
        if self._tray is not None:
            self._tray.restyle(self._look.theme)

    def _summoned(self) -> None:
        """The key opens, and closes again where the keyboard is in the composer."""
        stage = self._presence.stage
        if stage.is_open and stage.bubble.isActiveWindow():
            self._presence.close()
        else:
            self._presence.open()

    def _speak(self, *, on: bool) -> None:
        """Speak from now on, or not."""
        if on is (self._voice is not None):
            return
        if self._voice is not None:
            self._presence.inbox.events_shown.disconnect(self._voice.hear)
            self._voice.hush()
            self._voice = None
            return
        from app.ui.system.speech import QtEngine, Voice

        try:
            self._voice = Voice(QtEngine())
        except ValueError as error:
            self._presence.tell("warning", str(error))
            return
        self._presence.inbox.events_shown.connect(self._voice.hear)

    def _ways(self) -> tuple[Show, ...]:
        ways: list[Show] = []
        if QGuiApplication.platformName() in ("xcb", "wayland"):
            ways.append(self._bus.show)
        if self._tray is not None:
            ways.append(self._shown_by_tray)
        return tuple(ways)

    async def _shown_by_tray(self, note: Note) -> bool:
        assert self._tray is not None
        return self._tray.show_note(note)

    def _open_reports(self) -> None:
        try:
            self.show_crash_note()
            self._reports.open()
        except OSError as error:
            _log.warning("Crash reports cannot be kept: %s", error)
            return
        asyncio.get_running_loop().set_exception_handler(self._reports.of_loop)

    def _failed(self, report: Path) -> None:
        sorry = QCoreApplication.translate("Crash", "Something failed inside Wisp. A report was saved: {path}")
        self._presence.tell("error", sorry.format(path=report))

    def _open_folder(self) -> None:
        crash.dismiss()
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(crash.folder())))

    def _start_with_the_session(self, settings: Settings) -> None:
        """Write the autostart entry if the person wants one and it is missing. Only the settings remove it."""
        entry = autostart.entry()
        try:
            if settings[catalog.AUTOSTART] and not entry.is_there():
                entry.write()
        except OSError as error:
            self._presence.tell("warning", str(error))


def _looks(settings: Settings) -> tuple[object, ...]:
    """The choices that the looks are made of."""
    chosen = settings[catalog.THEME], settings[catalog.REDUCED_MOTION], settings[catalog.POINTER_RING]
    return (*chosen, settings[catalog.NAME])
