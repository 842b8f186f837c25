"""The chain of the audit: what was changed, removed or cut off is found, and said by entry."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from app.services.journal.audit import AuditEntry, AuditFault, ChainHead, append, newest, verify
from app.services.journal.database import Database, JournalFailed


async def _written(folder: Path, count: int) -> Path:
    database = Database(folder / "journal.db")
    for number in range(count):
        await database.run(partial(append, entry=AuditEntry(1000.0 + number, "call", "talk", "turn", f"[{number}]")))
    database.close()
    return folder / "journal.db"


def _tampered(path: Path, *statements: str) -> None:
    """As somebody would who knows SQLite: the guards are dropped first."""
    with closing(sqlite3.connect(path)) as db, db:
        for name in ("audit_is_never_changed", "audit_is_never_deleted"):
            db.execute(f"drop trigger if exists {name}")
        for statement in statements:
            db.execute(statement)


def _found(path: Path) -> list[AuditFault]:
    with closing(sqlite3.connect(path)) as db, db:
        return verify(db, ChainHead(path.with_name("journal.head")).read())


async def test_what_nobody_touched_is_whole(tmp_path: Path) -> None:
    path = await _written(tmp_path, 5)
    assert _found(path) == []
    with closing(sqlite3.connect(path)) as db, db:
        assert [(one.number, one.entry.details) for one in newest(db, 2)] == [(4, "[3]"), (5, "[4]")]


async def test_an_empty_audit_is_whole(tmp_path: Path) -> None:
    database = Database(tmp_path / "journal.db")
    await database.run(lambda db: db.execute("select 1").fetchone())
    database.close()
    assert _found(tmp_path / "journal.db") == []


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (
            ["update audit set details = '[9]' where number = 3"],
            [AuditFault(3, "It was changed after it was written.")],
        ),
        (["update audit set at = 1.0 where number = 1"], [AuditFault(1, "It was changed after it was written.")]),
        (["delete from audit where number = 2"], [AuditFault(2, "It is missing.")]),
        (["delete from audit where number in (2, 3)"], [AuditFault(2, "The entries 2 to 3 are missing.")]),
        (["delete from audit where number = 5"], [AuditFault(5, "It is missing: the end was cut off.")]),
        (
            ["delete from audit where number > 2"],
            [AuditFault(3, "The entries 3 to 5 are missing: the end was cut off.")],
        ),
        (["delete from audit"], [AuditFault(1, "The entries 1 to 5 are missing: the end was cut off.")]),
        (
            ["delete from audit where number = 2", "update audit set number = number - 1 where number > 2"],
            [
                AuditFault(2, "It does not follow on the entry before it: one was put in its place."),
                AuditFault(2, "It was changed after it was written."),
                AuditFault(3, "It was changed after it was written."),
                AuditFault(4, "It was changed after it was written."),
                AuditFault(5, "It is missing: the end was cut off."),
            ],
        ),
    ],
)
async def test_a_change_is_found_at_its_entry(
    tmp_path: Path, statements: list[str], expected: list[AuditFault]
) -> None:
    path = await _written(tmp_path, 5)
    _tampered(path, *statements)
    assert _found(path) == expected


async def test_an_end_that_was_written_anew_is_found_by_the_note(tmp_path: Path) -> None:
    path = await _written(tmp_path, 5)
    head = (tmp_path / "journal.head").read_text()
    _tampered(path, "delete from audit where number = 5")
    database = Database(path)
    await database.run(partial(append, entry=AuditEntry(1004.0, "call", "talk", "turn", "[harmless]")))
    database.close()
    assert _found(path) == []  # the note follows whoever writes by the program's own means …
    (tmp_path / "journal.head").write_text(head)
    assert _found(path) == [
        AuditFault(5, "It is another one than was noted beside the journal.")
    ]  # … a copy of it tells


async def test_a_note_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    path = await _written(tmp_path, 2)
    (tmp_path / "journal.head").unlink()
    assert _found(path) == [AuditFault(2, "The note of the newest entry, beside the journal, is missing.")]


@pytest.mark.parametrize("statement", ["update audit set details = ''", "delete from audit"])
async def test_the_database_itself_refuses_to_change_entries(tmp_path: Path, statement: str) -> None:
    path = await _written(tmp_path, 2)
    database = Database(path)
    with pytest.raises(JournalFailed, match="only ever added to"):
        await database.run(lambda db: db.execute(statement))
    database.close()
    assert _found(path) == []


async def test_processes_that_write_at_once_make_one_chain(tmp_path: Path) -> None:
    first, second = Database(tmp_path / "journal.db"), Database(tmp_path / "journal.db")
    entry: Callable[[str], partial[None]] = lambda name: partial(append, entry=AuditEntry(1.0, name, "", "", "{}"))  # noqa: E731
    for _ in range(30):
        first.soon(entry("first"))
        second.soon(entry("second"))
    assert [await first.done(), await second.done()] == ["", ""]
    for database in (first, second):
        database.close()
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db, db:
        assert sorted(one.entry.kind for one in newest(db, 100)) == ["first"] * 30 + ["second"] * 30
    assert _found(tmp_path / "journal.db") == []
