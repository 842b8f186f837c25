"""Whether anybody called: a listener on all of this machine's addresses, and every address that was tried."""

from __future__ import annotations

import socket
import sys
import threading
from typing import Any


class CallWatch:
    """`port` listens on IPv4 and IPv6, TCP and UDP. `calls` are the peers that came; `tried` what this process dialled.

    The second is the interpreter's own audit trail: it sees a dial to an address nobody answers at.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.tried: list[str] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port = 0
        self._is_open = True

    def __enter__(self) -> CallWatch:
        for family in (socket.AF_INET, socket.AF_INET6):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                self._listen(family, kind)
        _TRAIL.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        _TRAIL.remove(self)
        for thread in self._threads:
            thread.join(10)
        for listener in self._sockets:
            listener.close()

    def _listen(self, family: socket.AddressFamily, kind: socket.SocketKind) -> None:
        listener = socket.socket(family, kind)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(("" if family == socket.AF_INET else "::", self.port))
        self.port = listener.getsockname()[1]
        if kind == socket.SOCK_STREAM:
            listener.listen(64)
        listener.settimeout(0.1)
        self._sockets.append(listener)
        self._threads.append(threading.Thread(target=self._hear, args=(listener, kind), daemon=True))
        self._threads[-1].start()

    def _hear(self, listener: socket.socket, kind: socket.SocketKind) -> None:
        while self._is_open:
            try:
                if kind == socket.SOCK_STREAM:
                    caller, peer = listener.accept()
                    caller.close()
                else:
                    _, peer = listener.recvfrom(1)
                self.calls.append(str(peer))
            except TimeoutError:
                continue
            except OSError:
                return

    def forget(self) -> None:
        self.calls.clear()
        self.tried.clear()


_TRAIL: list[CallWatch] = []


def _note(event: str, args: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto") and _TRAIL and isinstance(args[1], tuple):
        for watch in _TRAIL:
            watch.tried.append(f"{args[1][0]}:{args[1][1]}")


sys.addaudithook(_note)
