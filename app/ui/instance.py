"""One presence per person and display: a second start summons the first."""

from __future__ import annotations

import hashlib
import os

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.base import paths

_LIMIT_MS = 500
OPEN, WELCOME = "open", "welcome"
_WORD_BYTES = 64


class Instance(QObject):
    """The claim to be the only one. `summoned` tells that somebody started another, and what for: OPEN or WELCOME."""

    summoned = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._server: QLocalServer | None = None

    def claim(self, word: str = OPEN) -> bool:
        """True where this is the first; otherwise the first one has been summoned with the word."""
        name = _name()
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
            QLocalServer.removeServer(name)  # left behind by one that was killed
            server.listen(name)
        self._server = server
        return True

    def release(self) -> None:
        """Let another be the first."""
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
        self.summoned.emit(WELCOME if word == WELCOME else OPEN)


def _name() -> str:
    """A socket's path that only this person can reach, another one for each display."""
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or "local"
    short = hashlib.sha256(display.encode()).hexdigest()[:8]
    return os.path.join(paths.runtime_dir(), f"presence-{short}")
