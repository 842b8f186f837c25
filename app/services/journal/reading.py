"""What is read from the journal. Each function is one piece of work for the database."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from app.services.journal.writing import StoredCall, StoredEntry, StoredEvent


@dataclass(frozen=True, slots=True)
class Conversation:
    """One line of the list. `is_open` says that its last turn never ended; `holder` is the process that has it."""

    id: str
    title: str
    began_at: float
    changed_at: float
    turns: int
    cost_usd: float | None
    holder: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Left:
    """How a conversation was left: its history, and what had begun and is not in it."""

    entries: tuple[StoredEntry, ...]
    draft: StoredEntry | None
    calls: tuple[StoredCall, ...]
    meanwhile: tuple[str, ...]
    is_open: bool


_LIST = """
select c.id, c.title, c.began_at, c.changed_at, count(t.id),
  case when sum(u.turn is not null and u.cost_usd is null) then null else coalesce(sum(u.cost_usd), 0.0) end,
  c.holder, max(t.ended = '')
from conversations c left join turns t on t.conversation = c.id left join usage u on u.turn = t.id
"""
_FOUND = "c.id in (select conversation from said where said match ? union select id from conversations where {title})"


def conversations(db: sqlite3.Connection, search: str, limit: int) -> list[Conversation]:
    """The newest first. Each word of `search` must begin a word of the title or of something said."""
    words = search.split()
    found = [_FOUND.format(title="title like ? escape '!'") for _ in words]
    values = [value for word in words for value in (_phrase(word), _containing(word))]
    where = f"where {' and '.join(found)} " if found else ""
    rows = db.execute(
        f"{_LIST}{where}group by c.number order by c.changed_at desc, c.number desc limit ?", (*values, limit)
    )
    return [_conversation(row) for row in rows]


def _phrase(word: str) -> str:
    """The word as the index takes it: quoted, so that nothing in it is an operator."""
    quoted = word.replace('"', '""')
    return f'"{quoted}" *'


def _containing(word: str) -> str:
    for special in "!%_":
        word = word.replace(special, f"!{special}")
    return f"%{word}%"


def conversation(db: sqlite3.Connection, conversation_id: str) -> Conversation | None:
    row = db.execute(f"{_LIST}where c.id = ? group by c.number", (conversation_id,)).fetchone()
    return _conversation(row) if row else None


def _conversation(row: tuple[Any, ...]) -> Conversation:
    return Conversation(*(*row[:7], bool(row[7])))


def events(db: sqlite3.Connection, conversation_id: str) -> list[StoredEvent]:
    rows = db.execute("select turn, at, event from events where conversation = ? order by number", (conversation_id,))
    return [StoredEvent(*row) for row in rows]


def left(db: sqlite3.Connection, conversation_id: str) -> Left:
    """Everything needed to go on with it."""
    of = (conversation_id,)
    entries = db.execute("select kind, message, altered from entries where conversation = ? order by number", of)
    draft = db.execute("select 'MODEL', message, altered from drafts where conversation = ?", of).fetchone()
    calls = db.execute(
        "select turn, call_id, tool, arguments, began_at, nullif(outcome, '') from calls "
        "where conversation = ? order by number",
        of,
    )
    said = db.execute("select text from meanwhile where conversation = ? order by number", of)
    still = db.execute("select count(*) from turns where conversation = ? and ended = ''", of).fetchone()[0]
    return Left(
        tuple(_entry(row) for row in entries),
        _entry(draft) if draft else None,
        tuple(StoredCall(*row) for row in calls),
        tuple(row[0] for row in said),
        bool(still),
    )


def _entry(row: tuple[str, str, int]) -> StoredEntry:
    return StoredEntry(row[0], row[1], bool(row[2]))


def used(db: sqlite3.Connection, since: float) -> tuple[int, int, int, int, float | None, int]:
    """Tokens read, written, from and to the cache; dollars, None where a price was not known; and turns."""
    row = db.execute(
        "select coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cache_read_tokens), 0), "
        "coalesce(sum(cache_write_tokens), 0), "
        "case when sum(cost_usd is null) then null else coalesce(sum(cost_usd), 0.0) end, count(*) "
        "from usage where at >= ?",
        (since,),
    ).fetchone()
    return (int(row[0]), int(row[1]), int(row[2]), int(row[3]), row[4], int(row[5]))
