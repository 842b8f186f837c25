"""Connects the presence to the desktop: tray, summon key, notifications, autostart, crash reports.

A crash report is a file in the state folder, without secrets. Wisp never sends one by itself. Two kinds of failure are
caught: an unhandled exception (in a slot, a thread or a task; the presence goes on), and a crash of the process in
native code, which `faulthandler` writes to a file that the next start finds.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import faulthandler
import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from app.agent.agent_events import AgentEvent
from app.base import ids, logs, paths
from app.base.withheld import without_secrets
from app.settings import catalog, tokens
from app.settings.catalog import Setting
from app.settings.store import Settings
from app.ui.approvals.devices import WITNESS
from app.ui.machine import HearKey, hear_no_key
from app.ui.presence import Presence
from app.ui.system import autostart, tray
from app.ui.system.hotkey import Hotkey
from app.ui.system.tray import BusNotifier, Note, Notifier, Show
from app.ui.theme.appearance import DesktopWishes, Look, look_of, scheme_of
from app.ui.windows.overlays import NoteWindow

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

    from app.ui.system.speech import Voice

_log = logging.getLogger(__name__)
_FATAL = "fatal.txt"
_REPORTS_KEPT = 10
_LOG_CHARS = 20_000
_PORTAL = "org.freedesktop.portal.Desktop"
_PATH = "/org/freedesktop/portal/desktop"
_SETTINGS = "org.freedesktop.portal.Settings"
_ANIMATIONS = ("org.gnome.desktop.interface", "enable-animations")
_SCHEME = ("org.freedesktop.appearance", "color-scheme")
_DARK, _LIGHT = 1, 2
"""The portal's answers about the scheme; 0 is no preference."""
_PORTAL_LIMIT_S = 10.0
"""For one answer of the portal, which may be starting or stuck."""
_CLIENT_AREA_ANIMATION = 0x1042
"""SPI_GETCLIENTAREAANIMATION of SystemParametersInfo."""


class SystemPreferences(QObject):
    """The desktop's preferences for programs. `changed` is emitted once for several changes at the same time."""

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
        """Read the desktop's preferences, and keep up with their changes if the desktop reports them."""
        if QGuiApplication.platformName() in ("xcb", "wayland"):
            await self._follow_portal()
        else:
            # On a thread, because a subprocess may take seconds.
            self._note(replace(self.wanted, reduced=await asyncio.to_thread(_is_reduced)))

    def close(self) -> None:
        """Stop following the preferences."""
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
                answer = await asyncio.wait_for(self._bus.call(asked), _PORTAL_LIMIT_S)
                if answer is not None and answer.message_type is MessageType.METHOD_RETURN:
                    self._told(key, answer.body[0])
        except (OSError, EOFError, TimeoutError, DBusError, InvalidAddressError) as error:
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
    """A hidden widget that notices changes of the font. An event filter on the application would run for every
    event."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ApplicationFontChange:
            self._changed()
        return super().event(event)


def _bare(value: Any) -> Any:
    """The value inside D-Bus variants, which may be nested: the portal's Read wraps its answer twice."""
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


class System(QObject):
    """Connects the presence to the services of the desktop. Needs a running event loop.

    `restyled` is emitted after the presence took another look.
    """

    restyled = Signal()

    def __init__(
        self,
        application: QApplication,
        presence: Presence,
        look: Look,
        settings: Settings,
        hear_key: HearKey = hear_no_key,
    ) -> None:
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
        self._speaking = (False, "")
        """Whether it is to speak, and in which voice."""
        self._tray = tray.Tray(look.theme, presence.actions, look.name) if tray.has_tray() else None
        self.hotkey = Hotkey(hear_key)
        self.hotkey.pressed.connect(self.summon)
        self.hotkey.lost.connect(lambda problem: presence.tell("warning", problem))
        self._bus = BusNotifier(look.name, presence.open)
        self.notifier = Notifier(self._ways(), on=settings[catalog.NOTIFICATIONS])
        presence.inbox.view_changed.connect(self.notifier.show_view)
        presence.inbox.events_shown.connect(self._chime)
        if self._tray is not None:
            presence.inbox.view_changed.connect(self._tray.show_view)
        self._reports = CrashReports(self._failed)
        self._open_reports()
        self._start_with_the_session(settings)
        self._told: frozenset[str] = frozenset()
        self._tell_theme_errors()
        self.apply(settings)
        self._note_scheme()

    def apply(self, settings: Settings) -> None:
        """Apply all settings that concern the presence and the desktop."""
        before, self._settings = self._settings, settings
        if _looks(before) != _looks(settings):
            self._restyle()
        WITNESS.prepare()
        self.notifier.on = settings[catalog.NOTIFICATIONS]
        self._speak(settings)
        if problem := self.hotkey.use(settings[catalog.SUMMON_KEY]):
            self._presence.tell("warning", problem)

    def follow(self, settings: Settings) -> None:
        """Apply the settings if one of the presence is different from before, whoever wrote it."""
        if _of_presence(self._settings) != _of_presence(settings):
            self.apply(settings)

    def show_crash_note(self) -> None:
        """Show a note if there is a report of an earlier crash that the person has not seen."""
        found = unseen_reports()
        if not found:
            return
        tr = QCoreApplication.translate
        sentence = tr("Crash", "Wisp crashed the last time. A report of that is on this computer; nothing was sent.")
        answers = {tr("Crash", "Open folder"): self._open_folder, tr("Crash", "Dismiss"): dismiss_reports}
        self._note = NoteWindow(self._look, "alert", sentence, answers)
        self._note.show_beside(self._presence.orb.rest_rect(), self._presence.stage.placement.screen())

    def close(self) -> None:
        """Release all services and note a clean end, so that the next start reports no crash."""
        self._asking.cancel()
        self._preferences.close()
        self._hush()
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
        self._tell_theme_errors()
        self._note_scheme()
        self._bus.rename(self._look.name)
        if self._tray is not None:
            self._tray.restyle(self._look.theme, self._look.name)
        self.restyled.emit()

    def _note_scheme(self) -> None:
        tokens.note_shown(scheme_of(self._application, dark=self._preferences.wanted.dark))

    def _tell_theme_errors(self) -> None:
        """Tell what is wrong with the person's theme file: each error once, and those of one look in one notice."""
        first, *more = [problem for problem in self._look.theme.problems if problem not in self._told] or [""]
        self._told |= {*self._look.theme.problems}
        told = QCoreApplication.translate(
            "Theme", "{problem} There are more mistakes in it: “wisp theme” in a terminal lists all."
        )
        if first:
            self._presence.tell("info", told.format(problem=first) if more else first)

    def summon(self) -> None:
        """Do what the summon key does: open the bubble, or close it if it already has the keyboard."""
        stage = self._presence.stage
        if stage.is_open and stage.bubble.isActiveWindow():
            self._presence.close()
        else:
            self._presence.open()

    def _speak(self, settings: Settings) -> None:
        """Speak, in the voice that the person wants, or be silent."""
        wanted = settings[catalog.SPEAK], settings[catalog.VOICE]
        if wanted == self._speaking:
            return
        self._speaking = wanted
        self._hush()
        if not settings[catalog.SPEAK]:
            return
        from app.ui.system.speech import QtEngine, Voice

        try:
            engine = QtEngine()
        except ValueError as error:
            self._presence.tell("warning", str(error))
            return
        if problem := engine.use(settings[catalog.VOICE]):
            self._presence.tell("warning", problem)
        self._voice = Voice(engine)
        self._presence.inbox.events_shown.connect(self._voice.hear)

    def _hush(self) -> None:
        if self._voice is not None:
            self._presence.inbox.events_shown.disconnect(self._voice.hear)
            self._voice.hush()
            self._voice = None

    def _chime(self, events: Sequence[AgentEvent]) -> None:
        if self._settings[catalog.SOUNDS]:
            from app.ui.system.speech import chime

            chime(events)

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
        dismiss_reports()
        self._presence.close()  # because the folder's window may open below the bubble
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(crash_folder())))

    def _start_with_the_session(self, settings: Settings) -> None:
        """Write the autostart entry if the person wants one and it is missing. Only a change in the settings removes
        it."""
        entry = autostart.entry()
        try:
            if settings[catalog.AUTOSTART] and not entry.is_there():
                entry.write()
        except OSError as error:
            self._presence.tell("warning", str(error))


def _of_presence(settings: Settings) -> list[object]:
    """The values of all settings that the presence applies itself, to compare them with others."""
    every: Sequence[Setting[Any]] = catalog.every()
    return [settings[one] for one in every if one.group == catalog.NAME.group]


def _looks(settings: Settings) -> tuple[object, ...]:
    """The values of the settings that decide the look, to compare them with others."""
    theme = settings[catalog.THEME], settings[catalog.SCHEME], settings[catalog.FONTS], settings[catalog.PALETTE]
    return (*theme, settings[catalog.NAME], settings[catalog.REDUCED_MOTION], settings[catalog.POINTER_RING])


class CrashReports:
    """Writes a report for each failure, once for equal failures in a run, and calls `told` with the report's path."""

    def __init__(self, told: Callable[[Path], None]) -> None:
        self._told = told
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._fatal: TextIO | None = None

    def open(self) -> None:
        """Catch unhandled errors from now on. Raises OSError if the folder cannot be written."""
        self._fatal = (crash_folder() / _FATAL).open("w", encoding="utf-8")
        faulthandler.enable(self._fatal)
        sys.excepthook = self._unhandled
        threading.excepthook = lambda args: self._in_thread(args.exc_type, args.exc_value, args.exc_traceback)

    def close(self) -> None:
        """Note a clean end, so that the next start finds no crash."""
        sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
        if self._fatal is not None:
            faulthandler.disable()
            self._fatal.close()
            self._fatal = None
            (crash_folder() / _FATAL).unlink(missing_ok=True)

    def of_loop(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Report an exception of a task or callback that nothing awaited. This is asyncio's exception handler."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._unhandled(type(error), error, error.__traceback__)
        else:
            loop.default_exception_handler(dict(context))

    def _in_thread(self, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        self._unhandled(kind, error or kind(), trace)

    def _unhandled(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, Exception):
            sys.__excepthook__(kind, error, trace)  # because Ctrl+C and exits are no crashes
            return
        _log.error("Nobody handled this.", exc_info=(kind, error, trace))
        text = "".join(traceback.format_exception(kind, error, trace))
        where = traceback.extract_tb(trace)[-1:] if trace else []
        mark = f"{kind.__name__} {[(frame.filename, frame.lineno) for frame in where]}"
        with self._lock:
            is_new = mark not in self._seen
            self._seen.add(mark)
        if is_new:
            with contextlib.suppress(OSError):  # because a full disk must not raise inside the exception hook
                self._told(write_report(text))


def crash_folder() -> Path:
    made = paths.state_dir() / "crashes"
    made.mkdir(mode=0o700, exist_ok=True)
    return made


def write_report(failure: str) -> Path:
    """Write a report about a failure, without secrets, and return its path. Raises OSError."""
    now = datetime.datetime.now().astimezone()
    path = crash_folder() / f"crash-{now:%Y%m%d-%H%M%S}-{ids.unique()[:6]}.txt"
    parts = [*_facts(now), "", failure.strip(), "", "The end of the log:", _end_of_log()]
    path.write_text(without_secrets("\n".join(parts)), encoding="utf-8")
    for old in sorted(crash_folder().glob("crash-*.txt"))[:-_REPORTS_KEPT]:
        old.unlink(missing_ok=True)
    return path


def unseen_reports() -> list[Path]:
    """Return the reports that the person has not seen, the newest last. If the last process crashed in native code,
    write a report of that first."""
    fatal = crash_folder() / _FATAL
    if fatal.is_file():
        text = fatal.read_text(encoding="utf-8", errors="replace")
        fatal.unlink(missing_ok=True)
        if text.strip():
            write_report(text)
    marks = crash_folder() / "seen"
    known = set(marks.read_text(encoding="utf-8").split()) if marks.is_file() else set()
    return [path for path in sorted(crash_folder().glob("crash-*.txt")) if path.name not in known]


def dismiss_reports() -> None:
    """Mark all reports as seen by the person."""
    names = [path.name for path in sorted(crash_folder().glob("crash-*.txt"))]
    (crash_folder() / "seen").write_text("\n".join(names), encoding="utf-8")


def _facts(now: datetime.datetime) -> Iterator[str]:
    from PySide6.QtCore import qVersion

    yield f"Wisp, {now.isoformat(timespec='seconds')}"
    yield f"Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}"


def _end_of_log() -> str:
    try:
        return logs.path().read_text(encoding="utf-8", errors="replace")[-_LOG_CHARS:]
    except OSError:
        return "(there is none)"
