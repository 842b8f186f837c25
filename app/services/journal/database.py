"""One SQLite database, and the only thread of this process that uses it.

Jobs run in the order in which they are queued. Jobs that wait together share one commit, and are on the disk when
`done` or `run` returns. While another program holds the database locked, they wait in the queue. Any other disk error
is reported once, and the unwritten jobs are lost; it never stops the program.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import queue
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from app.base import resources
from app.base.errors import NeedsPerson, WispError
from app.base.values import dataclass, field
from app.services.journal.audit import ChainHead


def steps() -> list[Path]:
    """Return the migration scripts in order: the first creates version 1, the last the current version."""
    return sorted(resources.path("journal").glob("*.sql"), key=lambda step: int(step.stem))


def migrate(connection: sqlite3.Connection) -> None:
    """Run all missing migrations, each in its own transaction.

    Raises NeedsPerson if the database is newer than this program: it is not changed.
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
    """Run a migration unless the database already has its version: another process may have run it meanwhile."""
    with transaction(connection):
        if _version(connection) < number:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")


def _statements(script: str) -> list[str]:
    """Split a script into statements. `executescript` would commit what was done before it.

    https://docs.python.org/3/library/sqlite3.html#sqlite3.Connection.executescript
    """
    found, gathered = [], ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            found.append(gathered)
            gathered = ""
    return found


T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_BUSY_S = 5.0  # https://sqlite.org/c3ref/busy_timeout.html
_LIMIT_S = 30.0
"""How long a caller, or the end of the program, waits for another program that holds the database locked."""
_REST_S = 30.0
"""How long nothing is tried after a failure, because a slow disk that fails would delay every step of a turn."""
_TOGETHER = 500
_PRIVATE = 0o600  # so that other users of the computer cannot read it
_HELD_UP = "Another program holds the journal locked ({path}). What happens is kept once that program lets go."
_BROKEN = ("malformed", "not a database", "corrupt")
_log = logging.getLogger(__name__)


class JournalFailed(WispError):
    """Raised if the journal could not do a job. The message is written for the person."""


@dataclass(slots=True)
class _Job:
    work: Work[Any] | None
    future: Future[Any] = field(default_factory=Future)


class Database:
    """A database that its thread opens at the first job. All methods may be called from any thread."""

    def __init__(
        self, path: Path, *, busy_s: float = _BUSY_S, limit_s: float = _LIMIT_S, rest_s: float = _REST_S
    ) -> None:
        self._path = path
        self._busy_s = busy_s
        self._limit_s = limit_s
        self._rest_s = rest_s
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread = ThreadPoolExecutor(1, "journal")
        self._connection: sqlite3.Connection | None = None
        self._head = ChainHead(path.with_name(f"{path.stem}.head"))
        self._locked_since = math.inf
        self._ends_at = math.inf
        self._rests_until = 0.0
        self._problem = ""
        self._told = {""}
        self.losses = 0
        """How many jobs were lost so far. A caller that can repeat its work compares it."""

    def soon(self, work: Work[Any]) -> None:
        """Queue a job and return at once. If the job fails, `done` reports a loss."""
        self._give(_Job(work))

    async def run(self, work: Work[T]) -> T:
        """Run a job and return its result. Raises JournalFailed."""
        answer: T = await self._outcome(_Job(work))
        return answer

    async def done(self) -> str:
        """Wait for all queued writes. Returns an error message if any were lost or still wait, once per cause, else
        "".
        """
        try:
            await self._outcome(_Job(None))
            problem, self._problem = self._problem, ""
        except JournalFailed as error:
            problem = str(error)
        if problem in self._told:
            return ""
        self._told.add(problem)
        return problem

    @property
    def is_held_up(self) -> bool:
        """Whether another program has held the database locked for so long that nobody waits for it any more."""
        return time.monotonic() >= self._locked_since + self._limit_s

    async def _outcome(self, job: _Job) -> Any:
        """Queue a job and wait for its result. Raises JournalFailed, also if another program holds everything up."""
        self._give(job)
        answer = asyncio.wrap_future(job.future)
        try:
            while not answer.done():
                left_s = min(self._locked_since - time.monotonic(), 0) + self._limit_s
                await asyncio.wait([answer], timeout=max(left_s, 0))
                if self.is_held_up and not answer.done():
                    raise JournalFailed(_HELD_UP.format(path=self._path))
            return answer.result()
        finally:
            answer.cancel()  # so that what was given up does not happen later

    def close(self) -> None:
        """Finish the queued jobs, then close the database."""
        self._ends_at = time.monotonic() + self._limit_s
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
        while True:
            jobs = [job for job in jobs if not job.future.cancelled()]
            try:
                answers = self._transaction([job.work for job in jobs if job.work])
            except WispError as error:
                self._failed(jobs, str(error))
            except (sqlite3.Error, OSError) as error:
                if _is_locked(error) and time.monotonic() < self._ends_at:
                    self._locked_since = min(self._locked_since, time.monotonic() - self._busy_s)
                    continue
                self._failed(jobs, self._complaint(error))
            else:
                for job in jobs:
                    _answer(job, answers.pop(0) if job.work else None)
            self._locked_since = math.inf
            return

    def _transaction(self, works: list[Work[Any]]) -> list[object]:
        if not works:
            return []
        if time.monotonic() < self._rests_until:
            raise JournalFailed("The journal could not be used a moment ago; try again in half a minute.")
        connection = self._opened()
        with transaction(connection):
            answers = [self._alone(connection, work) for work in works]
        self._head.note(connection)
        return answers

    def _alone(self, connection: sqlite3.Connection, work: Work[Any]) -> object:
        """Run one job so that its error undoes only this job. Returns its result, or the WispError that it raised."""
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
        """Rename a damaged database, so that a person can repair it and a new one is created."""
        aside = self._path.with_name(f"{self._path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        self._problem = f"The journal was damaged. What is left of it is in {aside}; a new one was begun."
        _log.error("%s", self._problem)
        self._let_go()
        os.replace(self._path, aside)
        for ending in ("-wal", "-shm"):
            # because a log of another file damages the new one: https://www.sqlite.org/howtocorrupt.html
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


def _is_locked(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _is_broken(error: Exception) -> bool:
    return any(word in str(error) for word in _BROKEN)


def _reason(error: sqlite3.Error | OSError) -> str:
    words = str(error).lower()
    if "full" in words or "no space" in words:
        return "the disk is full"
    if isinstance(error, OSError) or "readonly" in words or "unable to open" in words:
        return "its folder cannot be written to"
    if _is_locked(error):
        return "another program holds the journal locked"
    return f"the journal cannot be used: {error}"


def open_private(path: Path, busy_s: float, prepare: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    """Open a database that only its owner can read. It survives crashes, and overwrites what is deleted.

    `prepare` creates or migrates its tables. Raises sqlite3.Error or OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Create it first, because SQLite would create it readable for others. One that is there is not opened: to close it
    # again would drop the locks of this process's other connections: https://www.sqlite.org/howtocorrupt.html
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE))
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        _write_ahead(connection, busy_s)
        connection.execute("pragma synchronous = full")
        # Otherwise deleted words stay in the file: https://www.sqlite.org/pragma.html#pragma_secure_delete
        connection.execute("pragma secure_delete = on")
        prepare(connection)
    except BaseException:  # so that a failed start holds no lock on the file
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection, busy_s: float) -> None:
    """Use a write-ahead log. Raises sqlite3.OperationalError if the database stays locked for `busy_s` seconds.

    Try again here, because SQLite calls no busy handler where that could become a deadlock, as where two processes
    create the same database at once: https://sqlite.org/c3ref/busy_handler.html
    """
    limit = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if not _is_locked(error) or time.monotonic() > limit:
                raise
            with transaction(connection):  # this waits for the other process' lock
                continue
        return


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commits all changes at its end, or none. Raises sqlite3.Error."""
    # because a reader that becomes a writer later may fail: https://www.sqlite.org/lang_transaction.html
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:  # so that half a change is never kept, also where the thread is ended
        with suppress(sqlite3.Error):  # so that the first error is the one that is raised
            connection.execute("rollback")
        raise
