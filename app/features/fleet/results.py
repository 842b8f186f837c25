"""What came of the tasks of a batch: one SQLite file, the same as JSON lines, and pictures, in one folder.

A task that has acted never runs again by itself. So the file knows before a task acts that it begins, on the disk, and
what has begun without an end counts as interrupted. https://www.sqlite.org/wal.html says what outlasts a power cut.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from app.base import own_files
from app.base.errors import NeedsPerson
from app.features.fleet.attempts import Ended, Result
from app.features.fleet.tasks import Task
from app.protocol.call import JsonValue

_SCHEMA = """
create table if not exists tasks (
    id text primary key,
    number integer not null,
    given text not null,
    is_open integer not null default 1  -- it may begin
);
create table if not exists attempts (
    task text not null references tasks (id),
    number integer not null,
    began_at real,                      -- seconds since 1970; null if it has not begun
    node text not null default '',
    result text,                        -- a JSON object; null while it runs
    primary key (task, number)
);
"""
_BUSY_S = 60.0
_ENDINGS = {"image/jpeg": "jpg", "image/png": "png"}
_WHY = {
    Ended.INTERRUPTED: "It had begun when its process or its computer ended. What it did is not known.",
    Ended.NOT_BEGUN: "The batch ended before it began.",
}
_CLAIM = "update tasks set is_open = 0 where id = ? and is_open"
_BEGIN = """
insert into attempts (task, number, began_at, node)
select ?, coalesce(max(number), 0) + 1, ?, ? from attempts where task = ?
"""
_END = "update attempts set result = ? where task = ? and result is null"
_CHANGED = (
    "The task {id!r} has run, and it reads otherwise now. Give it another id, let it run again (--again {id}), or "
    "write into another folder (--results FOLDER)."
)
FAILED = "failed"
"""Names every task that has not passed."""
_NEWEST = """
select tasks.id, tasks.number, tasks.given, attempts.number, attempts.began_at, attempts.node, attempts.result
from tasks join attempts on attempts.task = tasks.id
where attempts.number = (select max(number) from attempts where task = tasks.id) and attempts.result is not null
"""


class Results:
    """The folder of a batch. Any thread may use it, and other processes may use the same folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder
        self._lock = threading.Lock()
        self._is_halted = self._is_ending = False
        self._db = sqlite3.connect(folder / "results.db", timeout=_BUSY_S, check_same_thread=False)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(_SCHEMA)
        self._lines: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._lines:
            self._lines.close()
        self._db.close()

    # --- before the tasks run

    def plan(self, tasks: Sequence[Task], again: Collection[str] = ()) -> list[Task]:
        """Take in the tasks, and return those that are to run now, in the order of their file.

        Those are the ones that have not begun, and those that `again` names: by their ids, by outcomes, or FAILED. What
        a process began that has died is noted as interrupted. Raises NeedsPerson if a task that has run reads otherwise
        now.
        """
        self.settle(dict.fromkeys(self._unfinished(), ""))
        ran = list(self.newest())
        known_words = {FAILED, *Ended, *(str(one[name]) for one in ran for name in ("id", "outcome"))}
        if unknown := [word for word in again if word not in known_words]:
            raise NeedsPerson(f"No task that has run, and no outcome, is called {unknown[0]!r}.")
        meant = {Ended.NOT_BEGUN.value, *again}
        named = {str(one["id"]) for one in ran if _is_meant(one, meant)}
        with self._lock, self._db:
            known = {one[0]: one[1:] for one in self._db.execute("select id, given, is_open from tasks")}
            for task in tasks:
                given, is_open = known.get(task.id, (task.given, 1))
                if given != task.given and not is_open and task.id not in named:
                    raise NeedsPerson(_CHANGED.format(id=task.id))
            self._db.executemany(
                "insert into tasks (id, number, given) values (?, ?, ?) on conflict (id) do update set "
                "number = excluded.number, given = excluded.given",
                [(task.id, number, task.given) for number, task in enumerate(tasks, 1)],
            )
            self._db.executemany("update tasks set is_open = 1 where id = ?", [(name,) for name in named])
            is_open = {name for (name,) in self._db.execute("select id from tasks where is_open")}
        self._open_lines(is_open)
        return [task for task in tasks if task.id in is_open]

    def _unfinished(self) -> list[str]:
        return [name for (name,) in self._db.execute("select task from attempts where result is null")]

    # --- while they run

    def begin(self, task: str, node: str) -> bool:
        """As `attempts.Ledger` says. It is on the disk when this returns."""
        with self._lock, self._db:
            if self._is_halted or not self._db.execute(_CLAIM, (task,)).rowcount:
                return False
            self._db.execute(_BEGIN, (task, time.time(), node, task))
        return True

    def finish(self, result: Result) -> None:
        text = json.dumps({**result.told, "pictures": self._kept(result)}, ensure_ascii=False)
        with self._lock, self._db:
            self._db.execute(_END, (text, result.task))

    def is_waiting(self, task: str) -> bool:
        """Whether the task may still begin."""
        with self._lock:
            return bool(self._db.execute("select 1 from tasks where id = ? and is_open", (task,)).fetchone())

    def halt(self) -> None:
        """Let no further task begin."""
        self._is_halted = True

    @property
    def is_halted(self) -> bool:
        return self._is_halted

    def stop(self) -> None:
        """Let no further task begin, and end those that run."""
        self._is_halted = self._is_ending = True

    def is_stopped(self) -> bool:
        return self._is_ending

    def settle(self, ended: Mapping[str, str]) -> Sequence[Mapping[str, JsonValue]]:
        """Return the results of tasks whose attempts have ended, and add them to the JSON lines.

        `ended` says why an attempt ended by a fault, "" if by none. One without a result has none to come: if it had
        begun, it counts as interrupted.
        """
        with self._lock:
            with self._db:
                for name, why in ended.items():
                    self._settle(name, why)
            told = [one for name in ended for one in self._told("and tasks.id = ?", name)]
        self._append(told)
        return told

    def _settle(self, name: str, why: str) -> None:
        running = self._db.execute("select 1 from attempts where task = ? and result is null", (name,)).fetchone()
        is_open = self._db.execute("select 1 from tasks where id = ? and is_open", (name,)).fetchone()
        if running or is_open:
            how = Ended.INTERRUPTED if running else Ended.NOT_BEGUN
            told = {"outcome": how.value, "passed": None, "why": why or _WHY[how], "acted": bool(running)}
            if is_open:
                self._db.execute(_CLAIM, (name,))
                self._db.execute(_BEGIN, (name, None, "", name))
            self._db.execute(_END, (json.dumps(told, ensure_ascii=False), name))

    def _kept(self, result: Result) -> list[JsonValue]:
        """Write the pictures and the trace. Returns what is told of each picture."""
        if result.trace:
            path = self.folder / "traces" / f"{result.task}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join([*result.trace, ""]), encoding="utf-8")
        pictures: list[JsonValue] = []
        shutil.rmtree(self.folder / "pictures" / result.task, ignore_errors=True)  # those of an earlier attempt
        for number, one in enumerate(result.pictures, 1):
            path = self.folder / "pictures" / result.task / f"{number:03}.{_ENDINGS.get(one.media_type, 'bin')}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.data)
            where = path.relative_to(self.folder).as_posix()
            pictures.append({"at_s": one.at_s, "label": one.label, "path": where})
        return pictures

    # --- afterwards

    def newest(self) -> Iterator[Mapping[str, JsonValue]]:
        """Yield the newest result of each task, in the order of the tasks."""
        with self._lock:
            found = list(self._told("order by tasks.number"))
        yield from found

    def _told(self, which: str, *values: str) -> Iterator[dict[str, JsonValue]]:
        for name, number, given, attempt, began_at, node, result in self._db.execute(f"{_NEWEST} {which}", values):
            task = json.loads(given)
            asked = {"words": task.get("words", "")}
            ran = {"attempt": attempt, "began_at": began_at, "node": node}
            yield {"id": name, "number": number, **asked, **ran, **json.loads(result)}

    def _open_lines(self, is_open: Collection[str]) -> None:
        """Write the JSON lines anew, because the last process may have ended between the two files.

        A task that is to run again gets its line when it ends, so that each has one.
        """
        path = self.folder / "results.jsonl"
        own_files.write(path, "".join(f"{_line(one)}\n" for one in self.newest() if one["id"] not in is_open))
        self._lines = path.open("a", encoding="utf-8")

    def _append(self, told: Sequence[Mapping[str, JsonValue]]) -> None:
        if self._lines:
            self._lines.writelines(f"{_line(one)}\n" for one in told)
            self._lines.flush()


def _is_meant(told: Mapping[str, JsonValue], again: Collection[str]) -> bool:
    return told["id"] in again or told["outcome"] in again or (FAILED in again and not told.get("passed"))


def _line(told: Mapping[str, JsonValue]) -> str:
    return json.dumps(told, ensure_ascii=False)
