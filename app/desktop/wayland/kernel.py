"""What only Linux has: memory that is shared by a descriptor, and sockets that carry descriptors."""

# mypy: no-warn-unreachable

from __future__ import annotations

import array
import asyncio
import mmap
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

_READ_BYTES = 1 << 16
_NOWHERE_ELSE = "Wayland is for Linux alone."


def connected(path: Path, limit_s: float) -> socket.socket:
    """Each call of the socket may take so long. Raises OSError."""
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(limit_s)
        opened.connect(str(path))
    except OSError:
        opened.close()
        raise
    return opened


def memory(name: str, size: int) -> int:
    """A descriptor of `size` bytes of shared memory."""
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    handle = os.memfd_create(name)
    os.ftruncate(handle, size)
    return handle


def content(handle: int, size: int) -> bytes:
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    with mmap.mmap(handle, size, mmap.MAP_PRIVATE, mmap.PROT_READ) as held:
        return held[:]


def send(to: socket.socket, data: bytes | bytearray, files: Sequence[int]) -> int:
    """Send data and descriptors. Returns how many bytes went."""
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    carried = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    return to.sendmsg([data], carried)


def receive(by: socket.socket, size: int, most_files: int) -> tuple[bytes, list[int]]:
    """Return the data and descriptors that have arrived. Blocks if there are none."""
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    data, files, _, _ = socket.recv_fds(by, size, most_files)
    return data, files


def hear(events: socket.socket, told: Callable[[], None]) -> None:
    """Call `told` whenever something arrives, on the running event loop, until the other side ends."""
    loop = asyncio.get_running_loop()
    events.setblocking(False)

    def read() -> None:
        with suppress(OSError):  # because it may have ended; the next question tells
            if events.recv(_READ_BYTES):
                told()
            else:
                loop.remove_reader(events.fileno())

    loop.add_reader(events.fileno(), read)


def never_block(handle: int) -> None:
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    os.set_blocking(handle, False)


def is_own(process: Path) -> bool:
    """True if a folder of /proc is that of a process of this person."""
    if sys.platform != "linux":
        raise OSError(_NOWHERE_ELSE)
    return process.stat().st_uid == os.getuid()
