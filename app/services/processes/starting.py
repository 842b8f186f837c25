"""Starts a command: a session of its own, output straight to disk, on request at a terminal of its own.

Output goes to files and not through us, so that memory stays bounded whatever a command prints, and a server that was
started goes on when Wisp ends.
"""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.base.errors import ToolFailed, ToolMisuse

_CHUNK = 65_536
_AT_TERMINAL = 'exec "$@" <"$0" >"$0" 2>&1'
"""Opening the terminal in the new session makes it the session's own, without running Python between fork and exec."""
_BEHIND_A_WALL = ("setsid", "--ctty")
"""There the terminal has no name, and the wall's own process leads the session."""

Ended = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start and where its output goes. `most` bounds the bytes kept of a terminal's output.

    `prefix` is what puts the command behind its wall.
    """

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    folder: Path
    pty: bool = False
    most: int = 1_000_000_000
    prefix: Sequence[str] = ()


class Terminal:
    """Our end of a command's terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._is_open = True

    def write(self, data: bytes) -> bool:
        """Type; False where nobody is there any more."""
        with self._lock, suppress(OSError):
            return self._is_open and os.write(self._fd, data) == len(data)
        return False

    def copy(self, path: Path, most: int) -> None:
        """From the terminal to the file, until the last process has left it; then it is closed."""
        with path.open("wb", buffering=0) as file, suppress(OSError):
            while data := os.read(self._fd, _CHUNK):
                most -= len(data)
                if most > 0:
                    file.write(data)
        with self._lock:
            self._is_open = False
            os.close(self._fd)


def start(launch: Launch, ended: Ended) -> tuple[int, Terminal | None]:
    """The process id and, with `pty`, its terminal. `ended(exit_code)` is called from a thread.

    Raises ToolMisuse and ToolFailed.
    """
    try:
        return _at_terminal(launch, ended) if launch.pty else (_plainly(launch, ended), None)
    except OSError as error:
        raise _complaint(error, launch.cwd) from error


def _complaint(error: OSError, cwd: Path) -> ToolMisuse | ToolFailed:
    if not cwd.is_dir():
        return ToolMisuse(f"cwd: there is no folder {str(cwd)!r} (any more).")
    if error.errno == errno.E2BIG:
        return ToolMisuse("command is too long for the system. Write it into a file with write_file and run that.")
    return ToolFailed(f"command: it could not be started ({error.strerror or error}).", transient=True)


def _plainly(launch: Launch, ended: Ended) -> int:
    with (launch.folder / "stdout").open("wb") as out, (launch.folder / "stderr").open("wb") as err:
        process = _popen(launch, launch.argv, (subprocess.DEVNULL, out.fileno(), err.fileno()))
    threading.Thread(target=lambda: ended(process.wait()), name="run", daemon=True).start()
    return process.pid


def _popen(launch: Launch, argv: Sequence[str], streams: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (*launch.prefix, *argv),
        cwd=launch.cwd,
        env=dict(launch.environment),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _at_terminal(launch: Launch, ended: Ended) -> tuple[int, Terminal]:
    opener, name_of = getattr(os, "openpty", None), getattr(os, "ttyname", None)
    if opener is None or name_of is None:
        raise ToolMisuse("pty: this system has no terminals of that kind. Start the command without pty.")
    ours, theirs = opener()
    try:
        with (launch.folder / "stderr").open("wb") as err:
            if launch.prefix:
                process = _popen(launch, (*_BEHIND_A_WALL, *launch.argv), (theirs, theirs, theirs))
            else:
                argv = ["/bin/sh", "-c", _AT_TERMINAL, name_of(theirs), *launch.argv]
                process = _popen(launch, argv, (subprocess.DEVNULL, err.fileno(), err.fileno()))
    except BaseException:
        os.close(ours)
        os.close(theirs)
        raise
    terminal = Terminal(ours)
    copier = threading.Thread(
        target=terminal.copy, args=(launch.folder / "stdout", launch.most), name="terminal", daemon=True
    )
    copier.start()

    def wait() -> None:
        code = process.wait()
        os.close(theirs)
        copier.join(1.0)
        ended(code)

    threading.Thread(target=wait, name="run", daemon=True).start()
    return process.pid, terminal
