"""Ctrl+C, a polite kill and the session's end: each quits, none is an accident."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QSocketNotifier
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication

from app.base.interrupts import STOPPED

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """While inside, signals and the session's end call `quit_`. Python only sees signals between its own instructions,
    and an idle Qt loop runs none: the signal's number is written to a socket that Qt watches."""

    def __init__(self, application: QApplication, quit_: Callable[[], None]) -> None:
        self._application = application
        self._quit = quit_
        self._reading, self._writing = socket.socketpair()
        self._before: dict[int, object] = {}
        self.is_stopped = False

    def exit_code(self, code: int) -> int:
        """The exit code of what ran inside: 130 where Ctrl+C ended it, otherwise `code`."""
        return STOPPED if self.is_stopped else code

    def __enter__(self) -> Interrupts:
        self._writing.setblocking(False)
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read)
        self._notifier.activated.connect(self._arrived)
        self._old_fd = signal.set_wakeup_fd(self._writing.fileno())
        self._before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        self._application.commitDataRequest.connect(self._session_ends)
        return self

    def __exit__(self, *_: object) -> None:
        self._application.commitDataRequest.disconnect(self._session_ends)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._old_fd)
        self._notifier.setEnabled(False)
        self._reading.close()
        self._writing.close()

    def _arrived(self) -> None:
        self.is_stopped = self.is_stopped or signal.SIGINT in self._reading.recv(64)
        self._quit()

    def _session_ends(self, manager: QSessionManager) -> None:
        """The autostart entry brings Wisp back, so the session need not remember it as well."""
        manager.setRestartHint(QSessionManager.RestartHint.RestartNever)
        self._quit()
