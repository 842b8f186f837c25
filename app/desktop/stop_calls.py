"""`wisp stop`: stop every Wisp of this person on this display, as the stop key does.

Each Wisp that acts on a desktop waits for such calls at a socket, on a thread of its own: a stop needs neither its
event loop nor its model. Wayland compositors give no program a key of its own, so there the stop key is their binding
to this command. It must start fast, so this module imports little.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import threading
from collections.abc import Callable

from app.base import paths

_log = logging.getLogger(__name__)
_LIMIT_S = 1.0
_HEARD = b"stopped"
_NUMBERS = itertools.count(1)


class StopCalls:
    """Calls `stop` at each `wisp stop`, until `close`. Does nothing where the system has no such sockets."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._path = paths.display_socket(f"stop-{os.getpid()}-{next(_NUMBERS)}", of="")
        self._socket: socket.socket | None = None
        if not hasattr(socket, "AF_UNIX"):
            return
        listening = socket.socket(socket.AF_UNIX)
        try:
            self._path.unlink(missing_ok=True)  # because a killed process of this number may have left it
            listening.bind(str(self._path))
        except OSError as error:
            listening.close()
            _log.warning("`wisp stop` cannot reach this process at %s: %s", self._path, error)
            return
        listening.listen()
        self._socket = listening
        threading.Thread(target=self._wait, args=(listening,), name="stop calls", daemon=True).start()

    def _wait(self, listening: socket.socket) -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:  # because it was closed
                return
            with caller, contextlib.suppress(OSError):  # because the caller may have gone
                self._stop()
                caller.sendall(_HEARD)

    def close(self) -> None:
        """Wait for no more calls."""
        listening, self._socket = self._socket, None
        if listening is not None:
            with contextlib.suppress(OSError):  # macOS: a socket that only listens is not connected
                listening.shutdown(socket.SHUT_RDWR)  # because closing alone does not wake the thread
            listening.close()
            self._path.unlink(missing_ok=True)


def stop_all() -> int:
    """Stop every Wisp of this person on this display. Returns how many have stopped."""
    if not hasattr(socket, "AF_UNIX"):
        return 0
    calls = []
    for path in paths.display_socket("stop-*", of="").parent.glob(paths.display_socket("stop-*", of="").name):
        call = socket.socket(socket.AF_UNIX)
        call.settimeout(_LIMIT_S)
        try:
            call.connect(str(path))
        except OSError:
            call.close()
            path.unlink(missing_ok=True)  # because that process was killed
        else:
            calls.append(call)
    stopped = 0
    for call in calls:
        with call, contextlib.suppress(OSError):
            stopped += call.recv(len(_HEARD)) == _HEARD
    return stopped
