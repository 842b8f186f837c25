"""The watchdog: when the program counts as hung, what is done then, and the process that watches it.

`Vigil` decides: it gets words and returns actions (`Deed`), without a clock or a process of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import psutil

from app.base.startup import worker_command
from app.services.processes.starting import RUN_MARK

_log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
_CLOSING_S = 2.0

Report = Callable[[str, int], None]

BEAT_S = 1.0
"""How often the program reports that it is alive."""
_UNHEARD_S = 1.5
"""If the event loop has not noticed a stop after this time, the watchdog carries it out."""
_UNFINISHED_S = 10.0
"""How long a turn may take to end after the event loop has noticed the stop."""
_HUNG_S = 8.0


class WatchdogWord(StrEnum):
    """What the program sends to its watchdog: one word on each line."""

    BEAT = "beat"
    STOP = "stop"
    HEARD = "heard"
    STOPPED = "stopped"
    BYE = "bye"
    GONE = "gone"


class Deed(StrEnum):
    """What the watchdog does if the program hangs or has vanished. `Vigil` decides on it.

    END_ALL kills its commands and releases keys and buttons, LET_GO only releases them, TELL_HUNG informs the person.
    """

    END_ALL = "end all"
    LET_GO = "let go"
    TELL_HUNG = "tell hung"


class Vigil:
    """Decides when the watchdog acts because the program hangs or has vanished. `now`: monotonic time in seconds."""

    def __init__(self, now: float) -> None:
        self._beat_at = now
        self._limit: float | None = None
        self._is_told = False
        self.is_over = False

    def heard(self, word: str, now: float) -> Deed | None:
        """Return what to do at once after a word; None: nothing. A vanished program may have keys pressed."""
        self._beat_at = now
        match word:
            case WatchdogWord.BEAT:
                self._is_told = False
            case WatchdogWord.STOP:
                self._limit = now + _UNHEARD_S
            case WatchdogWord.HEARD if self._limit is not None:
                self._limit = now + _UNFINISHED_S
            case WatchdogWord.STOPPED:
                self._limit = None
            case WatchdogWord.BYE:
                self.is_over = True
            case WatchdogWord.GONE:
                self.is_over = True
                return Deed.LET_GO
        return None

    def due(self, now: float) -> Deed | None:
        """Return what to do because no word came in time; None if it is not too late."""
        if self._limit is not None and now >= self._limit:
            self._limit = None
            return Deed.END_ALL
        if now - self._beat_at >= _HUNG_S and not self._is_told:
            self._is_told = True
            return Deed.TELL_HUNG
        return None


_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError)


def end_commands(parent: int) -> int:
    """Kill the commands of the program `parent` and all their children. Returns how many processes were killed.

    Each process with the mark of a run counts, even if its parent is another process by now.
    """
    runs = {mark for child in _children(parent) if (mark := _mark(child))}
    found = {process.pid: process for process in psutil.process_iter() if _mark(process) in runs}
    for child in list(found.values()):
        found.update({below.pid: below for below in _below(child)})
    found.pop(os.getpid(), None)
    # Stop all of them first, so that none can start another.
    for number in (getattr(signal, "SIGSTOP", signal.SIGTERM), getattr(signal, "SIGKILL", signal.SIGTERM)):
        for process in found.values():
            with suppress(*_GONE):  # because the process may have ended by itself
                process.send_signal(number)
    return len(found)


def _children(parent: int) -> list[psutil.Process]:
    with suppress(*_GONE):  # because the parent may have ended meanwhile
        return psutil.Process(parent).children()
    return []


def _below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(*_GONE):  # because the process may have ended meanwhile
        return process.children(recursive=True)
    return []


def _mark(process: psutil.Process) -> str:
    """The id of the run to which the process belongs, from its environment; "" if there is none."""
    with suppress(*_GONE):  # because it may have ended, or belong to another user
        return process.environ().get(RUN_MARK, "")
    return ""


class WatchdogProcess:
    """The watchdog process, started with the first turn. `report(word, count)` is called on a thread.

    If no process can be started, that is logged, and Wisp works without it.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._process: subprocess.Popen[bytes] | None = None
        self._beating: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Start the watchdog, on the event loop that it watches. A second call does nothing."""
        if self._process is not None:
            return
        try:
            self._process = subprocess.Popen(
                worker_command("watchdog", str(os.getpid())),
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that Ctrl+C in the terminal does not end the watchdog too
            )
        except OSError as error:  # Go on, because Wisp works without it: only a hanging Wisp is then not noticed.
            _log.warning("There is no watchdog: %s", error)
            return
        # Looked up by name, because Windows lacks it before Python 3.12.
        set_blocking = getattr(os, "set_blocking", None)
        if set_blocking and self._process.stdin:
            set_blocking(self._process.stdin.fileno(), False)
        threading.Thread(target=self._listen, name="watchdog", daemon=True).start()
        self._beat()

    def tell(self, word: WatchdogWord) -> None:
        """Send a word to the watchdog, from any thread. Returns at once, even if the watchdog is gone."""
        process = self._process
        if process and process.stdin:
            with suppress(OSError, ValueError):  # because the watchdog may have ended, or its pipe may be full
                os.write(process.stdin.fileno(), f"{word}\n".encode())

    def close(self) -> None:
        """End the watchdog, because nothing needs watching any more."""
        if self._beating:
            self._beating.cancel()
        process = self._process
        if process is None:
            return
        self.tell(WatchdogWord.BYE)
        if process.stdin:
            with suppress(OSError):  # because the watchdog may have closed the pipe first
                process.stdin.close()
        try:
            process.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:  # because a hanging watchdog would outlive Wisp
            process.kill()
            process.wait()

    def _beat(self) -> None:
        self.tell(WatchdogWord.BEAT)
        self._beating = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _listen(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                word, _, count = line.decode().strip().partition(" ")
                if count.isdigit():
                    self._report(word, int(count))
