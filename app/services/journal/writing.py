"""What is written into the journal. Each function is one piece of work for the database, in its transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """`said` is what a search finds of it; `turn` is the turn it belongs to."""

    turn: str
    at: float
    event: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One message of the history, as JSON. `altered` says that something was left out of it."""

    kind: str
    message: str
    altered: bool = False


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call that was begun; `outcome` is the text its model was to read, None while it runs."""

    turn: str
    call_id: str
    tool: str
    arguments: str
    began_at: float
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """What a turn used so far."""

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
    """What the person said, and the process that carries it out. `title` names a conversation that has none."""

    id: str
    title: str
    at: float
    model: str
    holder: str


def begin_turn(db: sqlite3.Connection, conversation: str, turn: StoredTurn) -> None:
    """The conversation is made with its first turn. One turn runs at a time: an earlier one is over."""
    db.execute(
        "insert into conversations (id, title, began_at, changed_at, holder) values (?, ?, ?, ?, ?) "
        "on conflict (id) do update set changed_at = excluded.changed_at, holder = excluded.holder",
        (conversation, turn.title, turn.at, turn.at, turn.holder),
    )
    end_open_turns(db, conversation, "lost")
    db.execute(
        "insert into turns (id, conversation, began_at, model) values (?, ?, ?, ?)",
        (turn.id, conversation, turn.at, turn.model),
    )


def end_turn(db: sqlite3.Connection, conversation: str, turn: str, outcome: str, at: float) -> None:
    db.execute("update turns set ended = ? where id = ?", (outcome, turn))
    db.execute("update conversations set changed_at = ? where id = ?", (at, conversation))
    _forget_pass(db, conversation)
    db.execute("delete from meanwhile where conversation = ?", (conversation,))


def end_open_turns(db: sqlite3.Connection, conversation: str, outcome: str) -> None:
    """Turns whose process died are over."""
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
    """Append to the history; the running pass is among them now, and so are the `heard` oldest words said meanwhile."""
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
    """Another history in place of the old one. What was left out of that is wanting in the new one too."""
    was = db.execute("select max(altered) from entries where conversation = ?", (conversation,)).fetchone()[0]
    db.execute("delete from entries where conversation = ?", (conversation,))
    add_entries(db, conversation, [replace(entry, altered=bool(was) or entry.altered) for entry in entries], heard)


def _forget_pass(db: sqlite3.Connection, conversation: str) -> None:
    db.execute("delete from drafts where conversation = ?", (conversation,))
    db.execute("delete from calls where conversation = ?", (conversation,))


def begin_call(db: sqlite3.Connection, conversation: str, draft: StoredEntry, call: StoredCall) -> None:
    """Written before the call runs: what the model has said up to it, and the call."""
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
    """Put `shown` in place of texts that should not have been written. They are JSON's spelling of them."""
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
    """Everything but what it cost. `secure_delete` and the merged index leave nothing of it on the disk."""
    db.execute("delete from said where rowid in (select number from events where conversation = ?)", (conversation,))
    for table in ("events", "entries", "drafts", "calls", "meanwhile", "turns"):
        db.execute(f"delete from {table} where conversation = ?", (conversation,))
    db.execute("delete from conversations where id = ?", (conversation,))
    db.execute("insert into said (said) values ('optimize')")


def prune(db: sqlite3.Connection, before: float) -> int:
    """Delete what was last changed before that moment, and say how much."""
    old = [row[0] for row in db.execute("select id from conversations where changed_at < ?", (before,))]
    for conversation in old:
        delete(db, conversation)
    return len(old)
