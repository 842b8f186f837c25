"""Write Wisp's own files: they are whole at any time, and no process loses what another one changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.base.ids import unique

_PRIVATE = 0o600  # so that other users of the computer cannot read it


def write(path: Path, content: str | bytes, mode: int = _PRIVATE) -> None:
    """Replace the file's content; a crash or a power cut leaves the old one or the new one. Raises OSError."""
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{unique()}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:  # so that a full disk is not filled further by what nobody reads
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path, *, waits: bool = True) -> Iterator[None]:
    """Return a context manager inside which no other thread or process holds the lock of the file. It is not reentrant.

    Hold it while the file is read, changed and written. Raises OSError; one that does not wait raises it at once if
    another one holds the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The lock is a file of its own, because a folder cannot be locked on Windows and on network file systems.
    held = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, _PRIVATE)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(held, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(held)  # which lets go of the lock as well
