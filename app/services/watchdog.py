"""When a program counts as hung, and what is to be done then. Words in, deeds out; no clock and no process."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from enum import StrEnum

import psutil

from app.services.processes.starting import RUN_MARK

BEAT_S = 1.0
"""So often the program says that it lives."""
_UNHEARD_S = 1.5
"""A stop that the event loop has not noticed after this time is carried out from outside."""
_UNFINISHED_S = 10.0
"""So long a turn may take to wind up once the loop has noticed."""
_HUNG_S = 8.0


class WatchdogWord(StrEnum):
    """What the program tells its watchdog, a line each."""

    BEAT = "beat"
    STOP = "stop"
    HEARD = "heard"
    STOPPED = "stopped"
    BYE = "bye"
    GONE = "gone"


class Deed(StrEnum):
    """What the watchdog does, and tells the program when it listens again."""

    END_ALL = "end all"
    LET_GO = "let go"
    TELL_HUNG = "tell hung"


class Vigil:
    """`now` is seconds on a clock that only goes forward."""

    def __init__(self, now: float) -> None:
        self._beat_at = now
        self._limit: float | None = None
        self._is_told = False
        self.is_over = False

    def heard(self, word: str, now: float) -> Deed | None:
        """What a word calls for at once. A program that is gone without a word may have left keys pressed."""
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
        """What has to be done because time has passed."""
        if self._limit is not None and now >= self._limit:
            self._limit = None
            return Deed.END_ALL
        if now - self._beat_at >= _HUNG_S and not self._is_told:
            self._is_told = True
            return Deed.TELL_HUNG
        return None


_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError)


def end_commands(parent: int) -> int:
    """Kill the commands of that program with all they started; how many processes there were.

    Whatever carries the mark of one of its runs belongs to it, also what has left its parent.
    """
    runs = {mark for child in _children(parent) if (mark := _mark(child))}
    found = {process.pid: process for process in psutil.process_iter() if _mark(process) in runs}
    for child in list(found.values()):
        found.update({below.pid: below for below in _below(child)})
    found.pop(os.getpid(), None)
    # Stop all first, so that none can start another.
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
    """The run it belongs to; empty where it is none of ours."""
    with suppress(*_GONE):  # because it may have ended, or belong to another user
        return process.environ().get(RUN_MARK, "")
    return ""
