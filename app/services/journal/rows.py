"""What is written into the journal. Each function is one job for the database and runs in its transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from app.base.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event. `said` is the text that a search finds; `turn` is the turn it belongs to."""

    turn: str
    at: float
    event: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One message of the history, as JSON. `altered`: parts such as secrets were removed from it."""

    kind: str
    message: str
    altered: bool = False


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call that began. `outcome` is the result that the model reads, None while it runs."""

    turn: str
    call_id: str
    tool: str
    arguments: str
    began_at: float
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """What a turn has used so far."""

    turn: str
    at: float
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn of the person, and the process that runs it. `title` is used for a conversation that has no title yet."""

    id: str
    title: str
    at: float
    model: str
    holder: str
    provider: str


def begin_turn(db: sqlite3.Connection, conversation: str, turn: StoredTurn) -> None:
    """Record the start of a turn (and of a new conversation). An earlier open turn ends: only one runs at a time."""
    db.execute(
        "insert into conversations (id, title, began_at, changed_at, holder) values (?, ?, ?, ?, ?) "
        "on conflict (id) do update set changed_at = excluded.changed_at, holder = excluded.holder",
        (conversation, turn.title, turn.at, turn.at, turn.holder),
    )
    end_open_turns(db, conversation, "lost")
    db.execute(
        "insert into turns (id, conversation, began_at, model, provider) values (?, ?, ?, ?, ?)",
        (turn.id, conversation, turn.at, turn.model, turn.provider),
    )


def end_turn(db: sqlite3.Connection, conversation: str, turn: str, outcome: str, at: float) -> None:
    db.execute("update turns set ended = ? where id = ?", (outcome, turn))
    db.execute("update conversations set changed_at = ? where id = ?", (at, conversation))
    _forget_pass(db, conversation)
    db.execute("delete from meanwhile where conversation = ?", (conversation,))


def end_open_turns(db: sqlite3.Connection, conversation: str, outcome: str) -> None:
    """Record this outcome for the turns that never ended, because their process died."""
    db.execute("update turns set ended = ? where conversation = ? and ended = ''", (outcome, conversation))


def let_go(db: sqlite3.Connection, conversation: str, holder: str) -> None:
    db.execute("update conversations set holder = '' where id = ? and holder = ?", (conversation, holder))


def hold(db: sqlite3.Connection, conversation: str, holder: str) -> None:
    db.execute("update conversations set holder = ? where id = ?", (holder, conversation))


def add_event(db: sqlite3.Connection, conversation: str, stored: StoredEvent) -> None:
    added = db.execute(
        "insert into events (conversation, turn, at, event) values (?, ?, ?, ?)",
        (conversation, stored.turn, stored.at, stored.event),
    )
    if stored.said:
        db.execute(
            "insert into said (rowid, text, conversation) values (?, ?, ?)",
            (added.lastrowid, stored.said, conversation),
        )


def add_entries(db: sqlite3.Connection, conversation: str, entries: Sequence[StoredEntry], heard: int = 0) -> None:
    """Append entries to the saved history.

    They replace the draft of the running pass, and the `heard` oldest of the sentences that the person said meanwhile.
    """
    db.executemany(
        "insert into entries (conversation, kind, message, altered) values (?, ?, ?, ?)",
        [(conversation, entry.kind, entry.message, entry.altered) for entry in entries],
    )
    _forget_pass(db, conversation)
    db.execute(
        "delete from meanwhile where number in (select number from meanwhile where conversation = ? limit ?)",
        (conversation, heard),
    )


def replace_entries(db: sqlite3.Connection, conversation: str, entries: Sequence[StoredEntry], heard: int = 0) -> None:
    """Replace the saved history. If any old entry was `altered`, all new entries are marked as altered."""
    was = db.execute("select max(altered) from entries where conversation = ?", (conversation,)).fetchone()[0]
    db.execute("delete from entries where conversation = ?", (conversation,))
    add_entries(db, conversation, [replace(entry, altered=bool(was) or entry.altered) for entry in entries], heard)


def _forget_pass(db: sqlite3.Connection, conversation: str) -> None:
    db.execute("delete from drafts where conversation = ?", (conversation,))
    db.execute("delete from calls where conversation = ?", (conversation,))


def begin_call(db: sqlite3.Connection, conversation: str, draft: StoredEntry, call: StoredCall) -> None:
    """Record a call before it runs, with what the model has said so far in this pass (`draft`)."""
    db.execute(
        "insert into drafts (conversation, message, altered) values (?, ?, ?) on conflict (conversation) "
        "do update set message = excluded.message, altered = excluded.altered",
        (conversation, draft.message, draft.altered),
    )
    db.execute(
        "insert into calls (conversation, turn, call_id, tool, arguments, began_at) values (?, ?, ?, ?, ?, ?)",
        (conversation, call.turn, call.call_id, call.tool, call.arguments, call.began_at),
    )


def end_call(db: sqlite3.Connection, conversation: str, call_id: str, outcome: str) -> None:
    db.execute("update calls set outcome = ? where conversation = ? and call_id = ?", (outcome, conversation, call_id))


def say_meanwhile(db: sqlite3.Connection, conversation: str, text: str) -> None:
    db.execute("insert into meanwhile (conversation, text) values (?, ?)", (conversation, text))


def blank_out(db: sqlite3.Connection, conversation: str, secrets: Sequence[str], shown: str) -> None:
    """Replace these secrets with `shown` everywhere in a conversation. They are given as JSON writes them."""
    columns = (("events", "event"), ("drafts", "message"), ("calls", "arguments"), ("calls", "outcome"))
    for secret in secrets:
        for table, column in (*columns, ("entries", "message"), ("meanwhile", "text"), ("said", "text")):
            db.execute(
                f"update {table} set {column} = replace({column}, ?, ?) where conversation = ? and instr({column}, ?)",
                (secret, shown, conversation, secret),
            )
        db.execute("update conversations set title = replace(title, ?, ?) where id = ?", (secret, shown, conversation))
    db.execute("insert into said (said) values ('optimize')")


def use(db: sqlite3.Connection, figures: Figures) -> None:
    db.execute(
        "insert or replace into usage values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            figures.turn,
            figures.at,
            figures.model,
            figures.input_tokens,
            figures.output_tokens,
            figures.cache_read_tokens,
            figures.cache_write_tokens,
            figures.cost_usd,
        ),
    )


def rename(db: sqlite3.Connection, conversation: str, title: str) -> None:
    db.execute("update conversations set title = ? where id = ?", (title, conversation))


def delete(db: sqlite3.Connection, conversation: str) -> None:
    """Delete a conversation; only its cost stays. `secure_delete` and the merged index leave no more on the disk."""
    db.execute("delete from said where rowid in (select number from events where conversation = ?)", (conversation,))
    for table in ("events", "entries", "drafts", "calls", "meanwhile", "turns"):
        db.execute(f"delete from {table} where conversation = ?", (conversation,))
    db.execute("delete from conversations where id = ?", (conversation,))
    db.execute("insert into said (said) values ('optimize')")


def prune(db: sqlite3.Connection, before: float) -> int:
    """Delete conversations that were last changed before `before` (s since 1970). Returns how many."""
    old = [row[0] for row in db.execute("select id from conversations where changed_at < ?", (before,))]
    for conversation in old:
        delete(db, conversation)
    return len(old)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in the list. `is_open`: its last turn never ended; `holder` is the process that runs it."""

    id: str
    title: str
    began_at: float
    changed_at: float
    turns: int
    cost_usd: float | None
    holder: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A past turn. `ended` is its outcome; "" if it runs or its process died. `provider`: "" in an older journal."""

    id: str
    conversation: str
    model: str
    provider: str
    ended: str


@dataclass(frozen=True, slots=True)
class Left:
    """The state in which a conversation was left: its history, and the calls that began but are missing in it."""

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
_TURNS = "select id, conversation, model, provider, ended from turns"
_FOUND = "c.id in (select conversation from said where said match ? union select id from conversations where {title})"


def conversations(db: sqlite3.Connection, search: str, limit: int) -> list[ConversationRow]:
    """The newest first. Each word of `search` must begin a word in the title or in a message."""
    words = search.split()
    found = [_FOUND.format(title="title like ? escape '!'") for _ in words]
    values = [value for word in words for value in (_phrase(word), _containing(word))]
    where = f"where {' and '.join(found)} " if found else ""
    rows = db.execute(
        f"{_LIST}{where}group by c.number order by c.changed_at desc, c.number desc limit ?", (*values, limit)
    )
    return [_conversation(row) for row in rows]


def said(db: sqlite3.Connection, stems: Sequence[str], limit: int, but: str = "") -> list[tuple[str, str, float, str]]:
    """Return past messages with words that begin with one of `stems`, best first: conversation, title, time, excerpt.

    `but` is the id of a conversation to leave out.
    """
    rows = db.execute(
        "select e.conversation, c.title, e.at, snippet(said, 0, '', '', '…', 24) from said "
        "join events e on e.number = said.rowid join conversations c on c.id = e.conversation "
        "where said match ? and e.conversation <> ? order by said.rank limit ?",
        (" OR ".join(map(_phrase, stems)), but, limit),
    )
    return list(rows)


def _phrase(word: str) -> str:
    """A word in which nothing is an operator for the index: https://www.sqlite.org/fts5.html"""
    quoted = word.replace('"', '""')
    return f'"{quoted}" *'


def _containing(word: str) -> str:
    for special in "!%_":
        word = word.replace(special, f"!{special}")
    return f"%{word}%"


def conversation(db: sqlite3.Connection, conversation_id: str) -> ConversationRow | None:
    row = db.execute(f"{_LIST}where c.id = ? group by c.number", (conversation_id,)).fetchone()
    return _conversation(row) if row else None


def _conversation(row: tuple[Any, ...]) -> ConversationRow:
    return ConversationRow(*(*row[:7], bool(row[7])))


def events(db: sqlite3.Connection, conversation_id: str) -> list[StoredEvent]:
    rows = db.execute("select turn, at, event from events where conversation = ? order by number", (conversation_id,))
    return [StoredEvent(*row) for row in rows]


def turns(db: sqlite3.Connection, name: str) -> list[TurnRow]:
    """Return the turn with this id, or all turns of the conversation with this id, oldest first."""
    rows = db.execute(f"{_TURNS} where id = ? or conversation = ? order by number", (name, name))
    return [TurnRow(*row) for row in rows]


def newest_turn(db: sqlite3.Connection) -> list[TurnRow]:
    """Return the newest turn alone; [] if there is none."""
    return [TurnRow(*row) for row in db.execute(f"{_TURNS} order by number desc limit 1")]


def left(db: sqlite3.Connection, conversation_id: str) -> Left:
    """Return everything needed to continue a conversation."""
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
    """Return the use since then: tokens read, written, from cache, to cache; dollars (None: price unknown); turns."""
    row = db.execute(
        "select coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cache_read_tokens), 0), "
        "coalesce(sum(cache_write_tokens), 0), "
        "case when sum(cost_usd is null) then null else coalesce(sum(cost_usd), 0.0) end, count(*) "
        "from usage where at >= ?",
        (since,),
    ).fetchone()
    return (int(row[0]), int(row[1]), int(row[2]), int(row[3]), row[4], int(row[5]))
