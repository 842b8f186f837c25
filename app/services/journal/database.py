"""One SQLite database and the one thread of this process that touches it.

Jobs run in the order in which they are queued. Jobs that wait together share one commit, and are on the disk when
`done` or `run` returns. A disk error never stops the program: it is reported once, and the unwritten jobs are lost.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from app.base import resources
from app.base.errors import NeedsPerson, WispError
from app.base.values import dataclass, field
from app.services.journal.audit import ChainHead


def steps() -> list[Path]:
    """The steps in order: the first makes version 1 of nothing, the last makes what this program reads."""
    return sorted(resources.path("journal").glob("*.sql"), key=lambda step: int(step.stem))


def migrate(connection: sqlite3.Connection) -> None:
    """All steps that are wanting, each in a transaction of its own.

    Raises NeedsPerson where the database is newer than this program: it is left as it is.
    """
    known = steps()
    version = _version(connection)
    if version > len(known):
        raise NeedsPerson(
            f"The journal was written by a newer Wisp (version {version}; this one knows {len(known)}). "
            "It is left as it is, and nothing is kept until Wisp is brought up to date."
        )
    for number in range(version + 1, len(known) + 1):
        _step(connection, number, known[number - 1].read_text(encoding="utf-8"))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def _step(connection: sqlite3.Connection, number: int, script: str) -> None:
    """Unless another process has done it meanwhile: who comes second waits for the lock, and looks again."""
    connection.execute("begin immediate")
    try:
        if _version(connection) < number:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        connection.execute("commit")
    except BaseException:  # so that a failed migration leaves the old schema
        connection.execute("rollback")
        raise


def _statements(script: str) -> list[str]:
    """One at a time: `executescript` would commit before it begins."""
    found, gathered = [], ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            found.append(gathered)
            gathered = ""
    return found


T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_BUSY_S = 5.0
_REST_S = 30.0
"""After a failure nothing is tried for so long: a locked database would hold up every step of a turn."""
_TOGETHER = 500
_PRIVATE = 0o600
_BROKEN = ("malformed", "not a database", "corrupt")
_log = logging.getLogger(__name__)


class JournalFailed(WispError):
    """What was asked of the journal could not be done; the sentence is for the person."""


@dataclass(slots=True)
class _Job:
    work: Work[Any] | None
    future: Future[Any] = field(default_factory=Future)


class Database:
    """Opened by its own thread at the first use. All methods may be called from any thread."""

    def __init__(self, path: Path, *, busy_s: float = _BUSY_S, rest_s: float = _REST_S) -> None:
        self._path = path
        self._busy_s = busy_s
        self._rest_s = rest_s
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread = ThreadPoolExecutor(1, "journal")
        self._connection: sqlite3.Connection | None = None
        self._head = ChainHead(path.with_name(f"{path.stem}.head"))
        self._rests_until = 0.0
        self._problem = ""
        self._told = {""}
        self.losses = 0
        """How much work was lost so far: whoever can write it again compares."""

    def soon(self, work: Work[Any]) -> None:
        """Do it when its turn comes; a failure counts as a loss."""
        self._give(_Job(work))

    async def run(self, work: Work[T]) -> T:
        """Do it and answer. Raises JournalFailed."""
        job = _Job(work)
        self._give(job)
        answer: T = await asyncio.wrap_future(job.future)
        return answer

    async def done(self) -> str:
        """Wait for all queued writes. Returns an error message if any were lost, once per cause, else ""."""
        job = _Job(None)
        self._give(job)
        await asyncio.wrap_future(job.future)
        problem, self._problem = self._problem, ""
        if problem in self._told:
            return ""
        self._told.add(problem)
        return problem

    def close(self) -> None:
        """Finish what was given, then let go."""
        with suppress(RuntimeError):  # because the thread may be shut down already
            self._thread.submit(self._let_go)
        self._thread.shutdown()

    def _give(self, job: _Job) -> None:
        self._jobs.put(job)
        try:
            self._thread.submit(self._do_waiting)
        except RuntimeError:  # because the thread is shut down
            job.future.set_exception(JournalFailed("The journal is closed."))

    # on the thread

    def _do_waiting(self) -> None:
        jobs: list[_Job] = []
        with suppress(queue.Empty):
            while len(jobs) < _TOGETHER:
                jobs.append(self._jobs.get_nowait())
        try:
            self._do(jobs)
        finally:
            for job in jobs:
                if not job.future.done():
                    _log.error("A piece of work on the journal raised.", exc_info=True)
                    _answer(job, JournalFailed("Something in the journal went wrong; the log says what."))

    def _let_go(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _do(self, jobs: list[_Job]) -> None:
        try:
            answers = self._transaction([job.work for job in jobs if job.work])
        except WispError as error:
            self._failed(jobs, str(error))
        except (sqlite3.Error, OSError) as error:
            self._failed(jobs, self._complaint(error))
        else:
            for job in jobs:
                _answer(job, answers.pop(0) if job.work else None)

    def _transaction(self, works: list[Work[Any]]) -> list[object]:
        if not works:
            return []
        if time.monotonic() < self._rests_until:
            raise JournalFailed("The journal could not be used a moment ago; try again in half a minute.")
        connection = self._opened()
        connection.execute("begin immediate")
        try:
            answers = [self._alone(connection, work) for work in works]
            connection.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):  # so that the first error is the one that is raised
                connection.execute("rollback")
            raise
        self._head.note(connection)
        return answers

    def _alone(self, connection: sqlite3.Connection, work: Work[Any]) -> object:
        """What one piece of work refuses undoes only that piece."""
        connection.execute("savepoint work")
        try:
            answer = work(connection)
        except WispError as error:
            connection.execute("rollback to work")
            answer = error
        connection.execute("release work")
        return answer

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = open_private(self._path, self._busy_s, migrate)
            except sqlite3.DatabaseError as error:
                if not _is_broken(error):
                    raise
                self._set_aside()
                self._connection = open_private(self._path, self._busy_s, migrate)
            self._head.begin(self._connection)
        return self._connection

    def _set_aside(self) -> None:
        """Rename the damaged database, so that a person can repair it, and let a new one be created."""
        aside = self._path.with_name(f"{self._path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        self._problem = f"The journal was damaged. What is left of it is in {aside}; a new one was begun."
        _log.error("%s", self._problem)
        self._let_go()
        os.replace(self._path, aside)
        for ending in ("-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)

    def _failed(self, jobs: list[_Job], sentence: str) -> None:
        works = sum(job.work is not None for job in jobs)
        if time.monotonic() >= self._rests_until:
            _log.warning("The journal lost %d entries: %s", works, sentence)
            self._problem = self._problem or sentence
            self._rests_until = time.monotonic() + self._rest_s
        self.losses += works
        for job in jobs:
            _answer(job, JournalFailed(sentence) if job.work else None)

    def _complaint(self, error: sqlite3.Error | OSError) -> str:
        """What the person can do about it."""
        if _is_broken(error):
            with suppress(OSError):  # because a file system that refuses the rename must not hide the first error
                self._set_aside()
        return f"This conversation is not being kept: {_reason(error)} ({self._path})."


def _answer(job: _Job, answer: object) -> None:
    if job.future.cancelled() or not job.future.set_running_or_notify_cancel():
        return
    if isinstance(answer, Exception):
        job.future.set_exception(answer)
    else:
        job.future.set_result(answer)


def _is_broken(error: Exception) -> bool:
    return any(word in str(error) for word in _BROKEN)


def _reason(error: sqlite3.Error | OSError) -> str:
    words = str(error).lower()
    if "full" in words or "no space" in words:
        return "the disk is full"
    if isinstance(error, OSError) or "readonly" in words or "unable to open" in words:
        return "its folder cannot be written to"
    if "locked" in words or "busy" in words:
        return "another program holds the journal locked"
    return f"the journal cannot be used: {error}"


def open_private(path: Path, busy_s: float, prepare: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    """Open a database that only its owner can read: whole after a crash, and what is deleted leaves no bytes behind.

    `prepare` makes or renews its tables. Raises sqlite3.Error, OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE))
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("pragma secure_delete = on")
        prepare(connection)
    except BaseException:  # so that a failed start holds no lock on the file
        connection.close()
        raise
    return connection
