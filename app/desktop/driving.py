"""Who acts on a display now, so that two programs never type and click at the same time.

Wisp's own tasks share it and do not hinder each other. A program that acts through Wisp has it alone. It is a lock of
the kernel, which goes with the process that holds it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.signs import plain

_IDLE_S = 60.0
_NAME_CHARS = 60
_NOTE_BYTES = 1 << 10
_ALONE, _SHARED = "alone", "shared"
_NAMELESS = "another program"
_HINT = "Only one may act on the screen at a time. Do what needs no screen, or wait and try again."
_ADVICE = Phrase("Wait until that is done, or press the stop key.")


class Driving:
    """The right to act on a display. It is given up by itself once nothing was done for a minute.

    `path` is the display's lock file; None where nothing really happens. There, and on Windows, nobody hinders anybody.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = None if sys.platform == "win32" else path
        self._file: int | None = None
        self._is_alone = False
        self._acting: asyncio.Task[object] | None = None
        self._idle: asyncio.TimerHandle | None = None

    def take(self, name: str, *, alone: bool) -> None:
        """Take the display, or keep it. Raises ToolFailed with the name of who has it. Needs a running event loop.

        It is not given up before the running task is done. What is held alone stays so until `release`.
        """
        if self._path is None:
            return
        if alone or not self._is_alone:
            self._lock(self._path, name, alone=alone)
        self._acting = asyncio.current_task()
        self._wait()

    def release(self) -> None:
        """Give it up. Does nothing if it is not held."""
        if self._idle is not None:
            self._idle.cancel()
        if self._file is not None:
            os.close(self._file)  # which lets go of the lock as well
        self._file = self._idle = self._acting = None
        self._is_alone = False

    def _lock(self, path: Path, name: str, *, alone: bool) -> None:
        if self._file is None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.lseek(self._file, 0, os.SEEK_SET)
        if not _is_locked(self._file, alone=alone):
            kind, _, holder = os.read(self._file, _NOTE_BYTES).decode("utf-8", "replace").partition("\n")
            self.release()
            raise _occupied(kind, holder)
        self._is_alone = alone
        note = f"{_ALONE if alone else _SHARED}\n{clip_line(plain(name)[0], _NAME_CHARS)}".encode("utf-8", "replace")
        os.ftruncate(self._file, os.write(self._file, note))

    def _wait(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(_IDLE_S, self._give_up)

    def _give_up(self) -> None:
        if self._acting is not None and not self._acting.done():
            self._wait()
        else:
            self.release()


def _occupied(kind: str, holder: str) -> ToolFailed:
    named = {"name": holder or _NAMELESS}
    if kind == _SHARED:
        what = Phrase("{name} is at work on this desktop.", named)
    else:
        what = Phrase("{name!r} is using this desktop through Wisp.", named)
    return ToolFailed(what, _HINT, advice=_ADVICE)


if sys.platform == "win32":

    def _is_locked(file: int, *, alone: bool) -> bool:  # noqa: ARG001
        return True

else:
    import fcntl

    def _is_locked(file: int, *, alone: bool) -> bool:
        """Lock the open file, and return whether that worked. If it did not, what was held before is lost."""
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
