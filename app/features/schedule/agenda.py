"""The file that keeps scheduled tasks, their runs and the inbox.

A run is claimed in the same transaction that sets the next time, so a process that is killed never runs it twice. An
interrupted run is in the inbox. Blocks: call the agenda in a thread.
"""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil

from app.base import paths
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed
from app.base.signs import plain
from app.base.values import dataclass, replace
from app.base.withheld import without_secrets
from app.features.schedule.times import When, clock_time, next_times
from app.services.journal.database import open_private, transaction

LATE_S = 300.0  # because a run this late shows that the computer was off or asleep when it was due
_BUSY_S = 10.0
_MOST_JOBS = 200
_KEPT_S = 90 * 86_400.0
_TABLES = """
create table jobs (
  id integer primary key autoincrement, title text not null, task text not null, kind text not null,
  schedule text not null, zone text not null, workspace text not null, allowed text not null, made_by text not null,
  made_at real not null, next real, tainted text not null, until text not null default '',
  waits_for text not null default '');
create table runs (
  id integer primary key autoincrement, job integer not null, due real not null, began real not null,
  is_late integer not null, runner text not null, outcome text not null default '', unique (job, due));
create index open_runs on runs (began) where outcome = '';
create index due_jobs on jobs (next);
create table inbox (
  id integer primary key autoincrement, at real not null, kind text not null, title text not null, body text not null,
  is_read integer not null default 0);
"""
_JOB = "id, title, task, kind, schedule, zone, workspace, allowed, made_by, made_at, next, tainted, until, waits_for"


@dataclass(frozen=True, slots=True)
class Job:
    """A scheduled task. `allowed` are rules (in short form) that hold while it runs. `made_by`: `person` or `model`.

    `next_at` is when it is due, None if it is over. `tainted_by` names whose words the turn that created it had read.
    With `until` (`18:00`) the job uses the person's screen: it waits for that screen, but begins no later than this
    time of day. `waits_for` is why it waits now, "" if it does not.
    """

    title: str
    task: str
    when: When
    workspace: str
    allowed: tuple[str, ...] = ()
    made_by: str = "person"
    made_at: float = 0.0
    id: int = 0
    next_at: float | None = None
    tainted_by: tuple[str, ...] = ()
    until: str = ""
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that this process has claimed. `due_at` is when it should have begun."""

    id: int
    job: Job
    due_at: float
    is_late: bool


@dataclass(frozen=True, slots=True)
class InboxItem:
    """A message in the inbox. `kind` is `run` (the outcome of a run) or `message` (any other)."""

    id: int
    at: float
    kind: str
    title: str
    body: str
    is_read: bool = False


class Agenda:
    """The stored schedules. Opened at the first use; several threads and processes may use it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def add(self, job: Job) -> Job:
        """Save a job, with secrets in its texts removed. Returns the job with its id and its first time.

        Raises ToolFailed if there are too many.
        """
        job = replace(job, title=_kept(job.title), task=_kept(job.task))
        now = self._clock.wall()
        first = next_times(job.when, now, now, 1)[0]
        with self._writing() as db:
            if db.execute("select count(*) from jobs where next is not null").fetchone()[0] >= _MOST_JOBS:
                raise ToolFailed(f"There are {_MOST_JOBS} schedules already: remove some first.")
            when, allowed = job.when, json.dumps(job.allowed)
            values = (
                job.title,
                job.task,
                when.kind,
                when.text,
                when.zone,
                job.workspace,
                allowed,
                job.made_by,
                now,
                first,
                json.dumps(job.tainted_by),
                job.until,
                "",
            )
            columns = _JOB.partition(", ")[2]
            added = db.execute(
                f"insert into jobs ({columns}) values ({', '.join('?' * len(values))})", values
            ).lastrowid
        return replace(job, id=int(added or 0), made_at=now, next_at=first)

    def all(self) -> list[Job]:
        """Those that will run again, the next one first."""
        if not self._is_there:
            return []
        with self._lock:
            return _jobs(self._opened(), "where next is not null order by next, id")

    def remove(self, job_id: int) -> Job:
        """Remove a job. Raises ToolFailed if it does not exist."""
        with self._writing() as db:
            found = _jobs(db, "where id = ? and next is not null", (job_id,))
            if not found:
                raise ToolFailed(f"There is no planned task {job_id}. The list has their numbers.")
            db.execute("update jobs set next = null where id = ?", (job_id,))
        return found[0]

    def next_due(self) -> float | None:
        """Return when the next run is due, in seconds since 1970; None if no run is planned."""
        if not self._is_there:
            return None
        with self._lock:
            found: float | None = self._opened().execute("select min(next) from jobs").fetchone()[0]
            return found

    def claim(self, occupied: str = "") -> DueRun | None:
        """Claim the run that has been due longest. Several missed runs of a job become one late run.

        `occupied` is why the person's screen cannot be used now ("" if it can): a job with `until` then waits. Returns
        None if no run may begin now, or another process runs one.
        """
        if not self._is_there:
            return None
        now = self._clock.wall()
        with self._writing() as db:
            if self._is_running(db):
                return None
            ready = "where next <= ? and (until = '' or ? = '') order by next, id limit 1"
            due = _jobs(db, ready, (now, occupied))
            if occupied:
                db.execute("update jobs set waits_for = ? where next <= ? and until != ''", (occupied, now))
            return self._begun(db, due[0], now) if due else None

    def is_screen_wanted(self) -> bool:
        """True if a job that uses the person's screen is due."""
        now = self._clock.wall()
        return any(job.until for job in self.all() if job.next_at is not None and job.next_at <= now)

    def give_up_waiting(self) -> list[InboxItem]:
        """End the runs that waited beyond their `until`. Returns inbox messages that say why they did not run."""
        if not self.is_screen_wanted():
            return []
        now, told = self._clock.wall(), []
        with self._writing() as db:
            for job in _jobs(db, "where next <= ? and until != '' order by next, id", (now,)):
                last = latest_begin(job)
                if last is None or now <= last:
                    continue
                run = self._begun(db, job, now)
                db.execute("update runs set outcome = 'not begun' where id = ?", (run.id,))
                why = job.waits_for or "Wisp was not running"
                due, end = (clock_time(at, job.when.zone) for at in (run.due_at, last))
                body = f"It was due {due} and had to begin by {end}, but {why}. It was not begun: {job.task}"
                told.append(self._posted(db, "run", f"{job.title}: not begun", body))
        return told

    def _begun(self, db: sqlite3.Connection, job: Job, now: float, due: float | None = None) -> DueRun:
        due_at = due if due is not None else job.next_at if job.next_at is not None else now
        if due is None:
            following = next(iter(next_times(job.when, now, job.made_at, 1)), None)
            db.execute("update jobs set next = ?, waits_for = '' where id = ?", (following, job.id))
        db.execute("delete from runs where began < ? and outcome != ''", (now - _KEPT_S,))
        is_late = now - due_at > LATE_S
        added = db.execute(
            "insert into runs (job, due, began, is_late, runner) values (?, ?, ?, ?, ?)",
            (job.id, due_at, now, is_late, _this_process()),
        ).lastrowid
        return DueRun(int(added or 0), job, due_at, is_late)

    def run_now(self, job_id: int) -> DueRun:
        """Claim a run of a job at once, because the person asks for it. Raises ToolFailed if there is no such job."""
        now = self._clock.wall()
        with self._writing() as db:
            found = _jobs(db, "where id = ? and next is not null", (job_id,))
            if not found or self._is_running(db):
                why = "Another planned task is running." if found else f"There is no planned task {job_id}."
                raise ToolFailed(f"{why} Nothing was started.")
            return self._begun(db, found[0], now, now)

    def is_at_work(self) -> bool:
        """True if a living process runs a job. Then no other job can begin."""
        with self._writing() as db:
            return self._is_running(db)

    def newest_run(self, job_id: int) -> int:
        """0 if no run of the job began."""
        with self._writing() as db:
            return int(db.execute("select coalesce(max(id), 0) from runs where job = ?", (job_id,)).fetchone()[0])

    def finish(self, run: DueRun, outcome: str, body: str, reminder: str = "") -> InboxItem:
        """Save the run's outcome and an inbox message about it, in one transaction. Returns the message.

        With `reminder`, that is the title of the message, which then does not mention the outcome.
        """
        late = f" (late: it was due {clock_time(run.due_at, run.job.when.zone)})" if run.is_late else ""
        with self._writing() as db:
            db.execute("update runs set outcome = ? where id = ?", (outcome, run.id))
            title = f"{reminder}{late}" if reminder else f"{run.job.title}{late}: {outcome}"
            return self._posted(db, "reminder" if reminder else "run", title, body)

    def post(self, kind: str, title: str, body: str) -> InboxItem:
        """Put a message into the inbox. Returns it."""
        with self._writing() as db:
            return self._posted(db, kind, title, body)

    def inbox(self, limit: int = 50, *, only_unread: bool = False) -> list[InboxItem]:
        """The newest item is first."""
        if not self._is_there:
            return []
        rest = "where is_read = 0" if only_unread else ""
        with self._lock:
            rows = self._opened().execute(
                f"select id, at, kind, title, body, is_read from inbox {rest} order by id desc limit ?", (limit,)
            )
            return [InboxItem(*row) for row in rows]

    def mark_read(self, items: Sequence[InboxItem]) -> None:
        with self._writing() as db:
            db.executemany("update inbox set is_read = 1 where id = ?", [(item.id,) for item in items])

    def close(self) -> None:
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    @property
    def _is_there(self) -> bool:
        return self._connection is not None or self._path.exists()

    def _posted(self, db: sqlite3.Connection, kind: str, title: str, body: str) -> InboxItem:
        at = self._clock.wall()
        title, body = _kept(title), _kept(body)
        values = (at, kind, title, body)
        added = db.execute("insert into inbox (at, kind, title, body) values (?, ?, ?, ?)", values).lastrowid
        return InboxItem(int(added or 0), at, kind, title, body)

    def _is_running(self, db: sqlite3.Connection) -> bool:
        """True if a living process runs a job. Runs whose process died end here, with an inbox message."""
        open_runs = db.execute("select id, job, due, runner from runs where outcome = ''").fetchall()
        for run_id, job_id, due, runner in open_runs:
            if _is_alive(runner):
                return True
            job = _jobs(db, "where id = ?", (job_id,))[0]
            db.execute("update runs set outcome = 'interrupted' where id = ?", (run_id,))
            told = (
                f"Wisp was ended while this ran, due {clock_time(due, job.when.zone)}. It was not run again: {job.task}"
            )
            self._posted(db, "run", f"{job.title}: interrupted", told)
        return False

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Return a context manager with one transaction.

        Raises NeedsPerson if the file cannot be opened, and ToolFailed if it cannot be written.
        """
        with self._lock:
            db = self._opened()
            try:
                with transaction(db):
                    yield db
            except sqlite3.Error as error:
                raise ToolFailed(
                    f"The schedules cannot be written ({error}): nothing was changed. {self._path}"
                ) from error

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = open_private(self._path, _BUSY_S, _prepare)
            except (sqlite3.Error, OSError) as error:
                raise NeedsPerson(f"The schedules cannot be opened ({error}): {self._path}") from error
        return self._connection


def _jobs(db: sqlite3.Connection, rest: str, values: Sequence[object] = ()) -> list[Job]:
    found = []
    for row in db.execute(f"select {_JOB} from jobs {rest}", tuple(values)):
        job_id, title, task, kind, schedule, zone, workspace, allowed, made_by, made_at, next_at, tainted = row[:-2]
        when, rules, read_before = When(kind, schedule, zone), _texts(allowed), _texts(tainted)
        found.append(
            Job(title, task, when, workspace, rules, made_by, made_at, job_id, next_at, read_before, *row[-2:])
        )
    return found


def latest_begin(job: Job) -> float | None:
    """Return until when (s since 1970) a due job may begin: when the clock next shows `until`. None without a limit."""
    if not job.until or job.next_at is None:
        return None
    due = datetime.datetime.fromtimestamp(job.next_at, ZoneInfo(job.when.zone))
    hour, minute = map(int, job.until.split(":"))
    end = due.replace(hour=hour, minute=minute, second=0, microsecond=0)
    # By wall time, because such a day may have 23 or 25 hours.
    return (end if end > due else end + datetime.timedelta(days=1)).timestamp()


def _texts(written: str) -> tuple[str, ...]:
    """() if the JSON string is damaged, so that it allows nothing."""
    try:
        found = json.loads(written)
    except ValueError:  # A damaged list counts as empty, so that it allows nothing.
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _kept(text: str) -> str:
    """Without secrets and terminal control characters."""
    return without_secrets(plain(text)[0])


def _this_process() -> str:
    return f"{os.getpid()} {psutil.Process().create_time()}"


def _is_alive(runner: str) -> bool:
    pid, _, born = runner.partition(" ")
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(born)) < 2.0
    except (psutil.Error, ValueError):
        return False


def _prepare(db: sqlite3.Connection) -> None:
    with transaction(db):
        version = db.execute("pragma user_version").fetchone()[0]
        if version > 3:
            raise sqlite3.DatabaseError(f"a newer Wisp wrote it, version {version}")
        for statement in _TABLES.split(";\n") if not version else ():
            db.execute(statement)
        if version == 1:
            db.execute("alter table jobs add column tainted text not null default '[\"conversation\"]'")
        for column in ("until", "waits_for") if version in (1, 2) else ():
            db.execute(f"alter table jobs add column {column} text not null default ''")
        db.execute("pragma user_version = 3")


def standard_agenda(clock: Clock) -> Agenda:
    """All sessions of this person share the schedules and the inbox."""
    return Agenda(paths.data_dir() / "agenda.db", clock)
