"""A command with everything it started, also what left its process group or lost its parent."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil

from app.services.processes.environment import RUN_MARK

_GRACE_S = 2.0
_KILL_LIMIT_S = 10.0
_STEP_S = 0.05
_WALLS = ("bwrap",)
"""Asked to end, they would not let their command end in peace; they end with it."""
_GONE = (psutil.NoSuchProcess, psutil.AccessDenied)


def is_alive(pid: int, born: float) -> bool:
    """Whether that process still runs (and is no other of the same number)."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - born) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except _GONE:
        return False


def born(pid: int) -> float:
    """When the process began, by the kernel; 0 where it is gone."""
    try:
        return psutil.Process(pid).create_time()
    except _GONE:
        return 0.0


def members(run_id: str, pid: int, started: float) -> list[psutil.Process]:
    """All living processes of a run, the oldest first: of its session, its descendants, or marked by its environment.

    `started` is when the process `pid` was born; where another has that number now, only the mark counts.
    """
    return list(_members(run_id, pid, started))[::-1]


async def end(run_id: str, pid: int, started: float, *, grace_s: float = _GRACE_S) -> int:
    """Ask all to end, then kill what is left: how many were still there to be killed."""
    loop = asyncio.get_running_loop()
    found = await asyncio.to_thread(members, run_id, pid, started)
    _signal([process for process in found if not _is_wall(process)], signal.SIGTERM)
    until = loop.time() + grace_s
    while found and loop.time() < until:
        await asyncio.sleep(_STEP_S)
        found = [process for process in found if _lives(process)]
    killed = 0
    until = loop.time() + _KILL_LIMIT_S
    while (found := await asyncio.to_thread(_held, run_id, pid, started)) and loop.time() < until:
        killed += len(found)
        for process in found:
            with suppress(*_GONE):
                process.kill()
        await asyncio.sleep(_STEP_S)
    return killed


def _members(run_id: str, pid: int, started: float) -> Iterator[psutil.Process]:
    """The youngest first: one that starts a child and ends, again and again, is found before it has done so."""
    if psutil.pid_exists(pid) and abs(born(pid) - started) > 1.0:
        pid = 0
    below = _descendants(pid) if pid else set()
    for number in sorted(psutil.pids(), reverse=True):
        with suppress(*_GONE):
            process = psutil.Process(number)
            if _belongs(process, run_id, pid, below):
                yield process


def _held(run_id: str, pid: int, started: float) -> list[psutil.Process]:
    """All members, each held still as soon as it is found, so that a fork bomb cannot outrun its end."""
    found = []
    for process in _members(run_id, pid, started):
        with suppress(*_GONE):
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
    except (*_GONE, OSError):
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
    except OSError:
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
        with suppress(*_GONE):
            process.send_signal(number)
