"""Scheduled tasks: when they are due, and the file that keeps them, their runs and the inbox.

A run is claimed in the same transaction that sets the next time, so a process that is killed never runs it twice. An
interrupted run is in the inbox. Blocks: call the agenda in a thread.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import psutil

from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.texts import plain, without_secrets
from app.base.values import dataclass, replace
from app.services.journal.database import open_private, transaction

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_GROUPS = {"daily": "*", "day": "*", "weekdays": "1-5", "weekday": "1-5", "weekends": "0,6", "weekend": "0,6"}
_EVERY = re.compile(r"every (?:(\d{1,4}) )?(minute|hour|day|week)s?")
_WEEKLY = re.compile(r"(?:every )?([a-z]{3,9}(?:\s*,\s*[a-z]{3,9})*)(?: at)? (\d{1,2}):(\d\d)")
_NEXT = re.compile(r"(?:(today|tomorrow)(?: at)?|at) (\d{1,2}):(\d\d)")
_AHEAD = re.compile(r"in (\d{1,4}|an?) (minute|hour|day|week)s?")
_SECONDS = {"minute": 60, "hour": 3_600}
_UNITDAYS = {"day": 1, "week": 7}
_LAST_HOUR, _LAST_MINUTE = 23, 59
_SHORTEST_S = 300.0
"""The shortest time between runs, because a run may cost money."""
_CHECKED = 12
LATE_S = 300.0  # because a run this late shows that the computer was off or asleep when it was due
_FORMS = (
    "Write the schedule as a time (2026-11-24T09:00, “tomorrow 9:00”, “in 2 hours”), as “every 30 minutes”, "
    "“daily 9:00”, “mon,thu 7:30”, “weekdays 18:00”, or as a cron expression (30 7 * * 1-5)."
)


@dataclass(frozen=True, slots=True)
class When:
    """A schedule. `kind` is `once` (`text` is an ISO time), `every` (`text` is `2 hour`) or `cron`. `zone` names it."""

    kind: str
    text: str
    zone: str


def zone_name() -> str:
    """Return the name of this machine's time zone; UTC if it has none."""
    link = os.path.realpath("/etc/localtime")
    for name in (os.environ.get("TZ", "").lstrip(":"), link.partition("zoneinfo/")[2]):
        try:
            return ZoneInfo(name).key if name else "UTC"
        except (ZoneInfoNotFoundError, ValueError, OSError):  # because the computer may lack the time zone database
            continue
    return "UTC"


def read(text: str, now: float, zone: str) -> When:
    """Read a schedule. Raises ToolMisuse if it is invalid, over, or too frequent."""
    words = " ".join(text.lower().replace("noon", "12:00").split())
    once = _once(text.strip(), zone) or _ahead(words, now, zone)
    when = once or _every(words, zone) or _weekly(words, zone) or _cron(words, zone)
    times = next_times(when, now, now, _CHECKED)
    if not times:
        raise ToolMisuse(f"schedule: {text!r} is over, or never comes. {_FORMS}")
    if any(later - sooner < _SHORTEST_S for sooner, later in pairwise(times)):
        raise ToolMisuse(f"schedule: {text!r} comes more often than every {_SHORTEST_S / 60:g} minutes.")
    return when


def _once(text: str, zone: str) -> When | None:
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if len(text) < len("2026-11-24T09"):
        raise ToolMisuse(f"schedule: {text!r} has no time of the day. {_FORMS}")
    return When("once", (at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).isoformat(), zone)


def _ahead(words: str, now: float, zone: str) -> When | None:
    """Read a time from now: `in 2 hours`, `tomorrow 9:00`. `at 9:00` is today, or tomorrow if it is past."""
    here = datetime.datetime.fromtimestamp(now, ZoneInfo(zone))
    if match := _AHEAD.fullmatch(words):
        number, unit = int(match[1]) if match[1].isdigit() else 1, match[2]
        if unit in _UNITDAYS:
            at = here + datetime.timedelta(days=number * _UNITDAYS[unit])
        else:  # in seconds since 1970, because the clock may be put forward or back in between
            at = datetime.datetime.fromtimestamp(now + number * _SECONDS[unit], ZoneInfo(zone))
        return When("once", at.isoformat(), zone)
    match = _NEXT.fullmatch(words)
    if not match or int(match[2]) > _LAST_HOUR or int(match[3]) > _LAST_MINUTE:
        return None
    at = here.replace(hour=int(match[2]), minute=int(match[3]), second=0, microsecond=0, fold=0)
    is_next_day = match[1] == "tomorrow" or (not match[1] and at <= here)
    return When("once", (at + datetime.timedelta(days=is_next_day)).isoformat(), zone)


def _every(words: str, zone: str) -> When | None:
    match = _EVERY.fullmatch(words)
    return When("every", f"{int(match[1] or 1)} {match[2]}", zone) if match and int(match[1] or 1) else None


def _weekly(words: str, zone: str) -> When | None:
    match = _WEEKLY.fullmatch(words)
    if not match:
        return None
    named = [day.strip()[:3] for day in match[1].split(",")]
    if match[1] not in _GROUPS and not set(named) <= set(DAYS):
        return None
    days = _GROUPS.get(match[1]) or ",".join(str(DAYS.index(day)) for day in dict.fromkeys(named))
    return _cron(f"{int(match[3])} {int(match[2])} * * {days}", zone)


def _cron(words: str, zone: str) -> When:
    from cronsim import CronSim, CronSimError

    text = _MACROS.get(words, words)
    try:
        CronSim(text, datetime.datetime.now(ZoneInfo(zone)))
    except CronSimError as error:
        raise ToolMisuse(f"schedule: {words!r} is no schedule ({error}). {_FORMS}") from None
    return When("cron", text, zone)


def next_times(when: When, after: float, anchor: float, count: int = 3) -> list[float]:
    """Return the next times in seconds since 1970. `anchor` is when the schedule was made: intervals start there."""
    found: list[float] = []
    while len(found) < count and (at := _next(when, found[-1] if found else after, anchor)) is not None:
        found.append(at)
    return found


def _next(when: When, after: float, anchor: float) -> float | None:
    from cronsim import CronSim

    zone = ZoneInfo(when.zone)
    if when.kind == "once":
        at = datetime.datetime.fromisoformat(when.text).timestamp()
        return at if at > after else None
    if when.kind == "cron":
        start = datetime.datetime.fromtimestamp(after, zone)
        return next((at.timestamp() for at in CronSim(when.text, start) if at.timestamp() > after), None)
    number, unit = when.text.split()
    if unit in _SECONDS:
        step = int(number) * _SECONDS[unit]
        return anchor + step * (math.floor((after - anchor) / step) + 1)
    days, first = int(number) * _UNITDAYS[unit], datetime.datetime.fromtimestamp(anchor, zone)
    turns = max(int((after - anchor) // (days * 86_400)) - 1, 1)
    # Count in calendar days, because a day with a clock change has 23 or 25 hours.
    while (at := (first + datetime.timedelta(days=days * turns)).timestamp()) <= after:
        turns += 1
    return at


def in_words(when: When) -> str:
    """Return the schedule in words for a person."""
    from cronsim import CronSim

    zone = ZoneInfo(when.zone)
    if when.kind == "once":
        return "once, on " + datetime.datetime.fromisoformat(when.text).astimezone(zone).strftime(
            "%A %-d %B %Y at %H:%M"
        )
    if when.kind == "every":
        number, unit = when.text.split()
        return f"every {unit}" if number == "1" else f"every {number} {unit}s"
    said: str = CronSim(when.text, datetime.datetime.now(zone)).explain()
    return said[0].lower() + said[1:]


def read_back(when: When, now: float) -> str:
    """Return the words and the next three times, for the person to agree to."""
    times = [clock_time(at, when.zone) for at in next_times(when, now, now)]
    return f"{in_words(when)} ({when.zone}); next: {', '.join(times)}"


def clock_time(at: float, zone: str) -> str:
    return datetime.datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M")


_BUSY_S = 10.0
_MOST_JOBS = 200
_KEPT_S = 90 * 86_400.0
_TABLES = """
create table jobs (
  id integer primary key autoincrement, title text not null, task text not null, kind text not null,
  schedule text not null, zone text not null, workspace text not null, allowed text not null, made_by text not null,
  made_at real not null, next real, tainted text not null);
create table runs (
  id integer primary key autoincrement, job integer not null, due real not null, began real not null,
  is_late integer not null, runner text not null, outcome text not null default '', unique (job, due));
create index open_runs on runs (began) where outcome = '';
create index due_jobs on jobs (next);
create table inbox (
  id integer primary key autoincrement, at real not null, kind text not null, title text not null, body text not null,
  is_read integer not null default 0);
"""
_JOB = "id, title, task, kind, schedule, zone, workspace, allowed, made_by, made_at, next, tainted"


@dataclass(frozen=True, slots=True)
class Job:
    """A scheduled task. `allowed` are rules in short form that count while it runs. `made_by` is `person` or `model`.

    `next_at` is when it is due, None if it is over. `tainted_by` names whose words the turn that created it had read.
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


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that this process has claimed. `due_at` is when it should have begun."""

    id: int
    job: Job
    due_at: float
    is_late: bool


@dataclass(frozen=True, slots=True)
class InboxItem:
    """A message that waits for the person. `kind` is `run` or `message`."""

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
        """Save a job, without secrets. Returns it with its id and its first time.

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
            )
            columns = _JOB.partition(", ")[2]
            added = db.execute(
                f"insert into jobs ({columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values
            ).lastrowid
        return replace(job, id=int(added or 0), made_at=now, next_at=first)

    def all(self) -> list[Job]:
        """Return the jobs that are still to come, the next one first."""
        if not self._is_there:
            return []
        with self._lock:
            return _jobs(self._opened(), "where next is not null order by next, id")

    def remove(self, job_id: int) -> Job:
        """Remove a job. Raises ToolFailed if it does not exist."""
        with self._writing() as db:
            found = _jobs(db, "where id = ? and next is not null", (job_id,))
            if not found:
                raise ToolFailed(f"There is no schedule {job_id}. The list has their numbers.")
            db.execute("update jobs set next = null where id = ?", (job_id,))
        return found[0]

    def next_due(self) -> float | None:
        """Return when the next run is due."""
        if not self._is_there:
            return None
        with self._lock:
            found: float | None = self._opened().execute("select min(next) from jobs").fetchone()[0]
            return found

    def claim(self) -> DueRun | None:
        """Claim the run that is due longest. Several missed runs of a job become one late run.

        Returns None if nothing is due, or another process runs one.
        """
        if not self._is_there:
            return None
        now = self._clock.wall()
        with self._writing() as db:
            if self._is_running(db):
                return None
            due = _jobs(db, "where next <= ? order by next limit 1", (now,))
            return self._begun(db, due[0], now) if due else None

    def _begun(self, db: sqlite3.Connection, job: Job, now: float, due: float | None = None) -> DueRun:
        due_at = due if due is not None else job.next_at if job.next_at is not None else now
        if due is None:
            following = next(iter(next_times(job.when, now, job.made_at, 1)), None)
            db.execute("update jobs set next = ? where id = ?", (following, job.id))
        db.execute("delete from runs where began < ? and outcome != ''", (now - _KEPT_S,))
        is_late = now - due_at > LATE_S
        added = db.execute(
            "insert into runs (job, due, began, is_late, runner) values (?, ?, ?, ?, ?)",
            (job.id, due_at, now, is_late, _this_process()),
        ).lastrowid
        return DueRun(int(added or 0), job, due_at, is_late)

    def run_now(self, job_id: int) -> DueRun:
        """Claim a run that the person asks for now. Raises ToolFailed if there is no such job."""
        now = self._clock.wall()
        with self._writing() as db:
            found = _jobs(db, "where id = ? and next is not null", (job_id,))
            if not found or self._is_running(db):
                why = "Another run is at work." if found else f"There is no schedule {job_id}."
                raise ToolFailed(f"{why} Nothing was run.")
            return self._begun(db, found[0], now, now)

    def is_at_work(self) -> bool:
        """Return whether a living process runs a job: another one cannot begin then."""
        with self._writing() as db:
            return self._is_running(db)

    def newest_run(self, job_id: int) -> int:
        """Return the id of the job's last run that began; 0 if none did."""
        with self._writing() as db:
            return int(db.execute("select coalesce(max(id), 0) from runs where job = ?", (job_id,)).fetchone()[0])

    def finish(self, run: DueRun, outcome: str, body: str) -> InboxItem:
        """Save the run's outcome and the inbox message about it, in one transaction."""
        late = f" (late: it was due {clock_time(run.due_at, run.job.when.zone)})" if run.is_late else ""
        with self._writing() as db:
            db.execute("update runs set outcome = ? where id = ?", (outcome, run.id))
            return self._posted(db, "run", f"{run.job.title}{late}: {outcome}", body)

    def post(self, kind: str, title: str, body: str) -> InboxItem:
        """Put a message into the inbox."""
        with self._writing() as db:
            return self._posted(db, kind, title, body)

    def inbox(self, limit: int = 50, *, only_unread: bool = False) -> list[InboxItem]:
        """Return the inbox, the newest first."""
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
        """Return whether a living process runs a job. Runs of dead processes end, with an inbox message."""
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
        """Return a context manager with one transaction. Raises ToolFailed if the file cannot be written."""
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
        job_id, title, task, kind, schedule, zone, workspace, allowed, made_by, made_at, next_at, tainted = row
        when, rules, read_before = When(kind, schedule, zone), _texts(allowed), _texts(tainted)
        found.append(Job(title, task, when, workspace, rules, made_by, made_at, job_id, next_at, read_before))
    return found


def _texts(written: str) -> tuple[str, ...]:
    """Read a list of texts; empty if it is damaged, so that nothing is allowed."""
    try:
        found = json.loads(written)
    except ValueError:  # A damaged list counts as empty, so that it allows nothing.
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _kept(text: str) -> str:
    """Return the text without secrets and terminal control characters."""
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
        if version > 2:
            raise sqlite3.DatabaseError(f"a newer Wisp wrote it, version {version}")
        for statement in _TABLES.split(";\n") if not version else ():
            db.execute(statement)
        if version == 1:
            db.execute("alter table jobs add column tainted text not null default '[\"conversation\"]'")
        db.execute("pragma user_version = 2")
