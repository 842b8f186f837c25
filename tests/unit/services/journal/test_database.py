"""The database under a session: what refuses is told once, and the session goes on without."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.agent.agent_events import Notice, Outcome, ToolFinished
from app.agent.policy import Mode
from app.base.errors import WispError
from app.services.journal.database import Database, open_private, steps
from tests.support.archived import Kept
from tests.support.waiting import until

DATA = Path(__file__).parents[3] / "data" / "journal"


def _warnings(kept: Kept) -> list[str]:
    return [event.sentence for event in kept.stage.of(Notice) if isinstance(event, Notice) and event.level == "warning"]


async def test_files_are_the_owners_alone(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "new" / "data", "Hello.")
    (tmp_path / "new" / "data").mkdir(parents=True, mode=0o700, exist_ok=True)
    await kept.stage.send("Hi.")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in kept.path.parent.glob("journal.*")}
    assert modes == dict.fromkeys(("journal.db", "journal.db-wal", "journal.db-shm", "journal.head"), 0o600)
    await kept.close()


async def test_a_full_disk_is_told_once_and_what_was_lost_is_kept_when_there_is_room_again(tmp_path: Path) -> None:
    kept = Kept(
        tmp_path, "One.", " ".join(f"Line {number} of two." for number in range(6_000)), "Three.", "Four.", rest_s=0.0
    )
    await kept.stage.send("First.")
    await kept.database.run(lambda db: db.execute("pragma max_page_count = 1").fetchone())
    ended = [await kept.stage.send("Second."), await kept.stage.send("Third.")]
    assert [one.outcome for one in ended] == [Outcome.FINISHED, Outcome.FINISHED]
    assert _warnings(kept) == [f"This conversation is not being kept: the disk is full ({kept.path})."]
    await kept.database.run(lambda db: db.execute("pragma max_page_count = 1000000").fetchone())
    await kept.stage.send("Fourth.")
    history = kept.stage.session.history.entries
    await kept.close()
    again = Kept(tmp_path, "Five.")
    await again.reopen_newest()
    assert again.stage.session.history.entries == history
    await again.close()


async def test_a_disk_that_is_read_only_is_told_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "One.", "Two.", rest_s=0.0)
    await kept.database.run(lambda db: db.execute("pragma query_only = on").fetchone())
    assert (await kept.stage.send("First.")).outcome is Outcome.FINISHED
    assert (await kept.stage.send("Second.")).outcome is Outcome.FINISHED
    assert _warnings(kept) == [f"This conversation is not being kept: its folder cannot be written to ({kept.path})."]
    await kept.close()


async def test_a_folder_that_cannot_be_made_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = Kept(tmp_path, "One.", file="file/journal.db", rest_s=0.0)
    assert (await kept.stage.send("First.")).outcome is Outcome.FINISHED
    assert _warnings(kept) == [f"This conversation is not being kept: its folder cannot be written to ({kept.path})."]
    with pytest.raises(WispError, match="cannot be written"):
        await kept.archive.conversations()
    await kept.close()


async def test_while_another_program_holds_the_database_nothing_changes_and_nothing_is_lost(tmp_path: Path) -> None:
    call = '<write path="a.txt">new</write>'
    kept = Kept(tmp_path, "One.", call, "Two.", call, "Three.", busy_s=0.05, limit_s=0.1, mode=Mode.YOLO)
    done = kept.stage.bench.done
    await kept.stage.send("First.")
    with closing(sqlite3.connect(kept.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        await kept.stage.send("Second.")
        assert (done, [one.ok for one in kept.stage.events if isinstance(one, ToolFinished)]) == ([], [False])
        with pytest.raises(WispError, match="holds the journal locked"):
            await kept.archive.conversations()
    (warning,) = _warnings(kept)
    assert "holds the journal locked" in warning
    await until(lambda: not kept.record.is_held_up)
    await kept.stage.send("Third.")
    assert [one.ok for one in kept.stage.events if isinstance(one, ToolFinished)] == [False, True]
    assert (await kept.newest()).turns == 3
    await kept.close()


async def test_what_is_queued_while_another_program_holds_the_database_waits_also_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    database = Database(path, busy_s=0.05)
    await database.run(lambda db: db.execute("create table notes (text)") and None)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        database.soon(lambda db: db.execute("insert into notes values ('kept')"))
        closed = asyncio.ensure_future(asyncio.to_thread(database.close))
        await asyncio.wait([closed], timeout=0.3)
        assert not closed.done()
    await closed
    with closing(sqlite3.connect(path)) as again:
        assert again.execute("select text from notes").fetchall() == [("kept",)]


@pytest.mark.parametrize("damage", ["garbage", "middle"])
async def test_a_damaged_database_is_set_aside_and_a_new_one_begun(tmp_path: Path, damage: str) -> None:
    first = Kept(tmp_path, "One.")
    await first.stage.send("First.")
    await first.close()
    whole = first.path.read_bytes()
    if damage == "garbage":
        first.path.write_bytes(b"This is no database. " * 1000)
    else:
        first.path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    damaged = first.path.read_bytes()
    kept = Kept(tmp_path, "Two.", "Three.", rest_s=0.0)
    await kept.stage.send("Second.")
    await kept.stage.send("Third.")
    (aside,) = tmp_path.glob("journal.db.damaged-*")
    assert aside.read_bytes() == damaged
    assert _warnings(kept) == [f"The journal was damaged. What is left of it is in {aside}; a new one was begun."]
    assert (await kept.newest()).title in ("Second.", "Third.")
    await kept.close()


async def test_a_database_of_a_newer_wisp_is_told_and_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db, db:
        db.execute("create table future (a)")
        db.execute("pragma user_version = 999")
    db.close()
    before = (tmp_path / "journal.db").read_bytes()
    kept = Kept(tmp_path, "One.", rest_s=0.0)
    assert (await kept.stage.send("First.")).outcome is Outcome.FINISHED
    (warning,) = _warnings(kept)
    assert warning.startswith("The journal was written by a newer Wisp (version 999;")
    await kept.close()
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db, db:
        assert [row[0] for row in db.execute("select name from sqlite_master")] == ["future"]
    db.close()
    assert len(before) == (tmp_path / "journal.db").stat().st_size


async def test_two_sessions_keep_their_conversations_side_by_side(tmp_path: Path) -> None:
    first, second = Kept(tmp_path, *["A."] * 5), Kept(tmp_path, *["B."] * 5)

    async def talk(kept: Kept, words: str) -> None:
        for number in range(5):
            await kept.stage.send(f"{words} {number}")

    await asyncio.gather(talk(first, "First"), talk(second, "Second"))
    found = await first.archive.conversations()
    assert sorted((past.title, past.turns) for past in found) == [("First 0", 5), ("Second 0", 5)]
    assert [_warnings(first), _warnings(second)] == [[], []]
    await first.close()
    await second.close()


async def test_databases_that_are_created_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    for number in range(40):
        both = [Database(tmp_path / f"{number}.db") for _ in range(2)]
        for database in both:
            database.soon(lambda db: db.execute("select 1"))
        assert [await database.done() for database in both] == ["", ""]
        for database in both:
            database.close()


async def test_after_closing_nothing_hangs_and_what_was_asked_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "journal.db")
    database.close()
    database.soon(lambda db: None)
    with pytest.raises(WispError, match="closed"):
        await database.run(lambda db: None)


@pytest.mark.parametrize("version", range(1, len(steps())))
async def test_what_an_earlier_version_wrote_is_read_after_its_migration(tmp_path: Path, version: int) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript((DATA / f"version_{version}.sql").read_text(encoding="utf-8"))
    db.close()
    kept = Kept(tmp_path, "And Rome is Italy's.")
    (past,) = await kept.archive.conversations("seine")
    assert (past.title, past.turns, past.cost_usd) == ("What is the capital of France?", 1, 0.25)
    shown = await kept.reopen_newest()
    assert len(shown) == 5
    await kept.stage.send("And Italy's?")
    assert (await kept.newest()).turns == 2
    assert await kept.database.run(lambda db: db.execute("pragma user_version").fetchone()[0]) == len(steps())
    await kept.close()


_OTHER = """
import sys
from pathlib import Path
from app.services.journal.database import open_private
found = open_private(Path(sys.argv[1]), 5, lambda made: None)
print([row[0] for row in found.execute("select text from notes")])
found.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the locks that a process loses by closing a file are POSIX's")
def test_what_is_written_while_others_come_and_go_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"

    def opened() -> sqlite3.Connection:
        return open_private(path, 5, lambda made: made.execute("create table if not exists notes (text)"))

    def seen_elsewhere() -> str:
        return subprocess.run(
            [sys.executable, "-c", _OTHER, str(path)], check=True, capture_output=True, text=True
        ).stdout.strip()

    first = opened()
    first.execute("insert into notes values ('one')")
    second = opened()
    assert seen_elsewhere() == "['one']"
    for connection, text in ((first, "two"), (second, "three")):
        connection.execute("insert into notes values (?)", (text,))
    assert seen_elsewhere() == "['one', 'two', 'three']"
    second.close()
    first.close()
