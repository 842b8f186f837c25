"""Ends every command that a program has started, from outside of it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import psutil

from app.services.processes.environment import RUN_MARK

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
    for number in (getattr(signal, "SIGSTOP", signal.SIGTERM), getattr(signal, "SIGKILL", signal.SIGTERM)):
        for process in found.values():
            with suppress(*_GONE):
                process.send_signal(number)
    return len(found)


def _children(parent: int) -> list[psutil.Process]:
    with suppress(*_GONE):
        return psutil.Process(parent).children()
    return []


def _below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(*_GONE):
        return process.children(recursive=True)
    return []


def _mark(process: psutil.Process) -> str:
    """The run it belongs to; empty where it is none of ours."""
    with suppress(*_GONE):
        return process.environ().get(RUN_MARK, "")
    return ""
