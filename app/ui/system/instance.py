"""Keep one presence per person and display. A second start shows the first presence."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier, Signal
from PySide6.QtGui import QSessionManager
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication

from app.base import paths
from app.base.startup import STOPPED

_LIMIT_MS = 500
OPEN, WELCOME, TOGGLE = "open", "welcome", "toggle"
SOCKET = "presence"
_WORD_BYTES = 64


class Instance(QObject):
    """The claim to be the only presence. When Wisp is started again, `summoned` carries what that start wants: OPEN,
    WELCOME or TOGGLE."""

    summoned = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._server: QLocalServer | None = None

    def claim(self, word: str = OPEN) -> bool:
        """True if this is the first presence. Otherwise sends `word` to the first one."""
        name = str(paths.display_socket(SOCKET))
        other = QLocalSocket()
        other.connectToServer(name)
        if other.waitForConnected(_LIMIT_MS):
            other.write(word.encode())
            other.waitForBytesWritten(_LIMIT_MS)
            other.disconnectFromServer()
            return False
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        server.newConnection.connect(self._arrived)
        if not server.listen(name):
            QLocalServer.removeServer(name)  # because a killed instance leaves its socket behind
            server.listen(name)
        self._server = server
        return True

    def release(self) -> None:
        """Give up the claim, so that another start becomes the first presence."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _arrived(self) -> None:
        assert self._server is not None
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(lambda other=connection: self._heard(other))
            if connection.state() is QLocalSocket.LocalSocketState.UnconnectedState:
                self._heard(connection)

    def _heard(self, other: QLocalSocket) -> None:
        word = bytes(other.read(_WORD_BYTES).data()).decode("ascii", "replace")
        other.disconnected.disconnect()
        other.deleteLater()
        self.summoned.emit(word if word in (WELCOME, TOGGLE) else OPEN)


_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """A context manager: a signal or the end of the session calls `quit_`. Python only handles signals while it runs
    code, and an idle Qt loop runs none. So each signal's number is written to a socket, which wakes Qt."""

    def __init__(self, application: QApplication, quit_: Callable[[], None]) -> None:
        self._application = application
        self._quit = quit_
        self._reading, self._writing = socket.socketpair()
        self._before: dict[int, object] = {}
        self.is_stopped = False

    def exit_code(self, code: int) -> int:
        """130 if Ctrl+C ended what ran inside, otherwise `code`."""
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
        """Quit, and tell the session not to start Wisp again by itself, because the autostart entry does that."""
        manager.setRestartHint(QSessionManager.RestartHint.RestartNever)
        self._quit()
