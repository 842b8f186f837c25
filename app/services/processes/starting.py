"""Start a command: in its own session, with a recorder for its output, and with its own terminal if requested.

The recorder is a separate process, so that memory stays limited whatever a command prints, a command that was to go on
does so when Wisp ends, and any other ends even if Wisp is killed.
"""

from __future__ import annotations

import asyncio
import errno
import marshal
import os
import re
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from app.base.errors import ToolFailed, ToolMisuse
from app.base.startup import worker_command
from app.base.values import dataclass
from app.base.withheld import redaction, redaction_table
from app.services.processes.output_recorder import KEPT_BYTES, STREAMS, OutputRecorder, record_here

_CHUNK = 65_536
_AT_TERMINAL = 'exec "$@" <"$0" >"$0" 2>&1'
"""Opening a terminal in a new session makes it the session's own, so no Python runs between fork and exec."""
_BEHIND_A_WALL = ("setsid", "--ctty")
"""In the sandbox the terminal has no name, and bubblewrap's own process leads the session."""

Ended = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start, where its output goes and how much is kept. `prefix` puts the command into its sandbox."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    folder: Path
    pty: bool = False
    kept_bytes: int = KEPT_BYTES
    prefix: Sequence[str] = ()


class Terminal:
    """Wisp's side of a command's pseudo-terminal: Wisp types into it and reads what the command prints."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._is_open = True

    def write(self, data: bytes) -> bool:
        """Write to the terminal. Returns False if the terminal is closed or did not take all of it."""
        with self._lock, suppress(OSError):
            return self._is_open and os.write(self._fd, data) == len(data)
        return False

    def copy(self, writer: int) -> None:
        """Copy what the terminal prints to the recorder, until the last process has closed the terminal."""
        # Ignore an error, because Linux reports EIO when the last process has closed the terminal.
        with suppress(OSError), open(writer, "wb", buffering=0) as file:
            while data := os.read(self._fd, _CHUNK):
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        with self._lock:
            self._is_open = False
            os.close(self._fd)


_CATCH_UP_S = 10.0


class Recording:
    """Wisp's end of a run's recorder. The command writes to `writers`; the caller closes them after the start."""

    def __init__(self, folder: Path, kept_bytes: int) -> None:
        pipes = [os.pipe() for _ in STREAMS]
        self.writers = [writer for _, writer in pipes]
        sources = [source for source, _ in pipes]
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []
        if os.name == "nt":
            recorder, lock = OutputRecorder(str(folder), redaction(), kept_bytes), threading.Lock()
            for number, source in enumerate(sources):
                thread = threading.Thread(target=record_here, args=(recorder, lock, number, source), daemon=True)
                thread.start()
                self._threads.append(thread)
            return
        mark, _, rules = redaction_table()
        table = marshal.dumps((mark, rules, worker_command("ender", str(folder))))
        arguments = [str(folder), str(kept_bytes), *map(str, sources)]
        try:
            self._process = subprocess.Popen(
                worker_command("recorder", *arguments),
                bufsize=0,
                cwd="/",
                env={},  # without the run's mark, so that it is not ended with the run but sees its last words
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=sources,
                start_new_session=True,
            )
            self._ask(len(table).to_bytes(8, "big") + table)
        except BaseException:  # so that a failed start leaks no pipe
            self.release()
            raise
        finally:
            for source in sources:
                os.close(source)

    def release(self) -> None:
        """Close Wisp's copy of `writers`: the command has its own copy, or was not started."""
        for writer in self.writers:
            os.close(writer)
        self.writers = []

    def catch_up(self) -> None:
        """Wait until everything written so far is on disk."""
        if self._process is not None and self._process.stdout is not None:
            with suppress(OSError):  # because it ends by itself when nothing can write any more
                self._ask(b".")
                select.select([self._process.stdout], [], [], _CATCH_UP_S)
        for thread in self._threads:
            thread.join(1.0)

    def close(self) -> None:
        """Say that the run is over. Wait until no process can write to the recorder any more, and it has ended."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return
        with suppress(OSError):  # because the recorder may be killed
            self._ask(b"!")
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, data: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(data)


def start(launch: Launch, ended: Ended) -> tuple[int, Terminal | None]:
    """Start the command. Returns its process id and, if `launch.pty` is set, its terminal (else None).

    `ended(exit_code)` is called from a thread. Raises ToolMisuse and ToolFailed.
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
    recording = Recording(launch.folder, launch.kept_bytes)
    try:
        process = _popen(launch, launch.argv, (subprocess.DEVNULL, *recording.writers))
    except BaseException:  # so that a failed start leaks no process
        recording.release()
        recording.close()
        raise
    recording.release()

    def wait() -> None:
        code = process.wait()
        recording.catch_up()
        ended(code)
        recording.close()

    threading.Thread(target=wait, name="run", daemon=True).start()
    return process.pid


def _popen(launch: Launch, argv: Sequence[str], streams: Sequence[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (*launch.prefix, *argv),
        cwd=launch.cwd,
        env=dict(launch.environment),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        start_new_session=True,  # so that the command has no terminal and gets no Ctrl+C
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _at_terminal(launch: Launch, ended: Ended) -> tuple[int, Terminal]:
    opener, name_of = getattr(os, "openpty", None), getattr(os, "ttyname", None)
    if opener is None or name_of is None:
        raise ToolMisuse("pty: this system has no terminals of that kind. Start the command without pty.")
    recording = Recording(launch.folder, launch.kept_bytes)
    ours, theirs = opener()
    try:
        if launch.prefix:
            process = _popen(launch, (*_BEHIND_A_WALL, *launch.argv), (theirs, theirs, theirs))
        else:
            argv = ["/bin/sh", "-c", _AT_TERMINAL, name_of(theirs), *launch.argv]
            process = _popen(launch, argv, (subprocess.DEVNULL, recording.writers[1], recording.writers[1]))
        writer = os.dup(recording.writers[0])
    except BaseException:  # so that a failed start leaks no terminal and no process
        os.close(ours)
        os.close(theirs)
        recording.release()
        recording.close()
        raise
    recording.release()
    terminal = Terminal(ours)
    copier = threading.Thread(target=terminal.copy, args=(writer,), name="terminal", daemon=True)
    copier.start()

    def wait() -> None:
        code = process.wait()
        os.close(theirs)
        copier.join(1.0)
        recording.catch_up()
        ended(code)
        recording.close()

    threading.Thread(target=wait, name="run", daemon=True).start()
    return process.pid, terminal


RUN_MARK = "WISP_RUN_ID"
"""Set in every command's environment, so that children that left its process group are still found."""

_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE")
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]{0,200}:[^/\s@]{1,200}@"  # an address with a password in it
    r"|\b(?:sk|pk|rk)[-_][\w-]{16}|\bgh[pousr]_\w{16}|\bgithub_pat_\w{16}|\bglpat-[\w-]{16}|\bxox[abeoprs]-[\w-]{10}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30}|\beyJ[\w-]{10,2000}\.eyJ|-----BEGIN [A-Z ]{0,30}PRIVATE KEY"
)
"""The formats of well-known services' keys, because a variable may have any name."""
_OURS = "WISP_"
_SHELLS = ("bash", "zsh", "dash", "ksh", "mksh", "sh")


def for_command(run_id: str, *, pty: bool) -> dict[str, str]:
    """Without secrets. Pagers are off, because nobody can press a key in one."""
    kept = {name: value for name, value in os.environ.items() if not is_secret(name, value)}
    return {**kept, RUN_MARK: run_id, "TERM": "xterm-256color" if pty else "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}


def shell() -> Sequence[str]:
    """Return how to run a command in the person's shell; if that is an unusual one, in bash or sh."""
    if os.name == "nt":
        return ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command")
    own = Path(os.environ.get("SHELL", ""))
    places = (own, Path("/bin/bash"), Path("/usr/bin/bash"), Path("/bin/sh"))
    found = next((path for path in places if path.name in _SHELLS and os.access(path, os.X_OK)), Path("/bin/sh"))
    return (str(found), "-c")


def is_secret(name: str, value: str) -> bool:
    """True if a variable's name or value looks like a secret. Started programs do not get it."""
    upper = name.upper()
    is_named_so = any(word in upper.split("_") or upper.endswith(word) for word in _SECRET_WORDS)
    return upper.startswith(_OURS) or is_named_so or _SECRET_VALUE.search(value) is not None


_GRACE_S = 2.0
_KILL_LIMIT_S = 10.0
_EMPTY_LOOKS = 2
"""Two, because one look may miss a chain of short-lived processes on a slow machine."""
_STEP_S = 0.05
_MOST_PIDS = 100_000
_WALLS = ("bwrap",)
"""Programs that get no SIGTERM, because they would kill their command at once; they end with it."""
_GONE = (psutil.NoSuchProcess, psutil.AccessDenied)


def is_alive(pid: int, born: float) -> bool:
    """`born` is the start time of the process, because another one may have its pid now."""
    try:
        process = psutil.Process(pid)
        # The start time must match too, since a process id is used again.
        return abs(process.create_time() - born) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except _GONE:
        return False


def born(pid: int) -> float:
    """Return the kernel's start time of the process; 0 if it is gone."""
    try:
        return psutil.Process(pid).create_time()
    except _GONE:
        return 0.0


def members(run_id: str, pid: int, started: float) -> list[psutil.Process]:
    """Return all living processes of a run, the oldest first: by session, descent, or the mark in the environment.

    `started` is the start time of process `pid`; if another process has that pid now, only the mark counts.
    """
    return list(_members(run_id, pid, started))[::-1]


async def end(run_id: str, pid: int, started: float, *, grace_s: float = _GRACE_S) -> int:
    """Send SIGTERM to all processes of a run, then kill those that are left. Returns how many were killed."""
    loop = asyncio.get_running_loop()
    found = await asyncio.to_thread(members, run_id, pid, started)
    _signal([process for process in found if not _is_wall(process)], signal.SIGTERM)
    until = loop.time() + grace_s
    while found and loop.time() < until:
        await asyncio.sleep(_STEP_S)
        found = [process for process in found if _lives(process)]
    killed = 0
    until = loop.time() + _KILL_LIMIT_S
    empty = 0
    while empty < _EMPTY_LOOKS and loop.time() < until:
        found = await asyncio.to_thread(_held, run_id, pid, started)
        empty = 0 if found else empty + 1
        killed += len(found)
        for process in found:
            with suppress(*_GONE):  # because it may have ended by itself
                process.kill()
        await asyncio.sleep(_STEP_S)
    return killed


def _members(run_id: str, pid: int, started: float) -> Iterator[psutil.Process]:
    """Yield a run's processes, the youngest first: one that forks and exits in a loop is found before its next fork."""
    if psutil.pid_exists(pid) and abs(born(pid) - started) > 1.0:
        pid = 0
    below = _descendants(pid) if pid else set()
    looked: set[int] = set()
    # Repeat for new processes, because a child of a process that just ended is in no earlier list.
    while (born_since := {*psutil.pids()} - looked) and len(looked) < _MOST_PIDS:
        looked |= born_since
        for number in sorted(born_since, reverse=True):
            with suppress(*_GONE):  # because processes end while they are listed
                process = psutil.Process(number)
                if _belongs(process, run_id, pid, below):
                    yield process


def _held(run_id: str, pid: int, started: float) -> list[psutil.Process]:
    """Each process is stopped as soon as it is found, so that a fork bomb cannot escape."""
    found = []
    for process in _members(run_id, pid, started):
        with suppress(*_GONE):  # because it may have ended by itself
            process.send_signal(getattr(signal, "SIGSTOP", signal.SIGTERM))
        found.append(process)
    return found


def _belongs(process: psutil.Process, run_id: str, pid: int, below: set[int]) -> bool:
    if process.pid == os.getpid() or not _lives(process):
        return False
    mine = bool(pid) and (process.pid == pid or process.pid in below or _session(process.pid) == pid)
    return mine or _is_marked(process, run_id)


def _is_marked(process: psutil.Process, run_id: str) -> bool:
    try:
        return process.environ().get(RUN_MARK) == run_id
    except (*_GONE, OSError):  # because other users' processes hide their environment
        return False


def _is_wall(process: psutil.Process) -> bool:
    try:
        return process.name() in _WALLS
    except _GONE:
        return False


def _session(pid: int) -> int:
    find = getattr(os, "getsid", None)
    if find is None:
        return 0
    try:
        session: int = find(pid)
    except OSError:  # because the process has ended
        return 0
    return session


def _descendants(pid: int) -> set[int]:
    try:
        return {process.pid for process in psutil.Process(pid).children(recursive=True)}
    except _GONE:
        return set()


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except _GONE:
        return False


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(*_GONE):  # because it may have ended by itself
            process.send_signal(number)
