"""The audit: an append-only log of every change of state. Each entry holds the hash of the entry before it.

A changed or removed entry breaks the chain from there on. Cutting off the end would leave a valid chain, so a small
file beside the database also holds the newest entry's number and hash. A program that can write both files can forge
both: the chain detects accidents and careless programs, not the owner of the account.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from app.base import own_files
from app.base.values import dataclass

_NONE = "0" * 64
_PRIVATE = 0o600  # so that other users of the computer cannot read it
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry. `details` is a JSON object; `at` is in seconds since 1970."""

    at: float
    kind: str
    conversation: str
    turn: str
    details: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """An entry as it is stored: with its number, its hash, and the hash of the entry before it."""

    number: int
    entry: AuditEntry
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditFault:
    """A fault in the chain: at entry `number`, described in a sentence."""

    number: int
    sentence: str


def seal(number: int, entry: AuditEntry, previous: str) -> str:
    """Return the SHA-256 of one JSON array: the whole entry, its number, and the hash of the entry before it."""
    told = [number, entry.at, entry.kind, entry.conversation, entry.turn, entry.details, previous]
    return hashlib.sha256(json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode("ascii")).hexdigest()


def append(db: sqlite3.Connection, entry: AuditEntry) -> None:
    """Add an entry. The caller's transaction prevents that another process uses the same number."""
    last, previous = _last(db)
    number = last + 1
    db.execute(
        "insert into audit (number, at, kind, conversation, turn, details, previous, hash) "
        "values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            entry.at,
            entry.kind,
            entry.conversation,
            entry.turn,
            entry.details,
            previous,
            seal(number, entry, previous),
        ),
    )


def entries(db: sqlite3.Connection, after: int = 0) -> Iterator[Sealed]:
    """Yield the entries after number `after`, oldest first."""
    rows = db.execute(
        "select number, at, kind, conversation, turn, details, previous, hash from audit where number > ? "
        "order by number",
        (after,),
    )
    for number, at, kind, conversation, turn, details, previous, hash_ in rows:
        yield Sealed(number, AuditEntry(at, kind, conversation, turn, details), previous, hash_)


def of_conversation(db: sqlite3.Connection, conversation: str) -> list[AuditEntry]:
    """Return the entries of a conversation, oldest first."""
    rows = db.execute(
        "select at, kind, conversation, turn, details from audit where conversation = ? order by number",
        (conversation,),
    )
    return [AuditEntry(*row) for row in rows]


def newest(db: sqlite3.Connection, limit: int) -> list[Sealed]:
    """Return the newest `limit` entries, oldest first."""
    last = db.execute("select coalesce(max(number), 0) from audit").fetchone()[0]
    return list(entries(db, max(last - limit, 0)))


def verify(db: sqlite3.Connection, head: tuple[int, str] | None) -> list[AuditFault]:
    """Return all faults; [] if the chain is complete and ends at `head`, the noted number and hash (None: no note)."""
    findings: list[AuditFault] = []
    expected, previous, last = 1, _NONE, 0
    for one in entries(db):
        if one.number > expected:
            findings.append(AuditFault(expected, f"{_counted(expected, one.number - 1)} missing."))
        elif one.previous != previous:
            findings.append(
                AuditFault(one.number, "It does not follow on the entry before it: one was put in its place.")
            )
        if seal(one.number, one.entry, one.previous) != one.hash:
            findings.append(AuditFault(one.number, "It was changed after it was written."))
        if head and head[0] == one.number and head[1] != one.hash:
            findings.append(AuditFault(one.number, "It is another one than was noted beside the journal."))
        expected, previous, last = one.number + 1, one.hash, one.number
    if head is None and last:
        findings.append(AuditFault(last, "The note of the newest entry, beside the journal, is missing."))
    if head and head[0] > last:
        findings.append(AuditFault(last + 1, f"{_counted(last + 1, head[0])} missing: the end was cut off."))
    return findings


def _counted(first: int, last: int) -> str:
    return "It is" if first == last else f"The entries {first} to {last} are"


class ChainHead:
    """The file that holds the newest entry's number and hash. If it cannot be written, the log says so."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._noted = 0

    def read(self) -> tuple[int, str] | None:
        """Return the noted number and hash; None if there is no note. Raises ValueError or OSError."""
        try:
            number, _, hash_ = self._path.read_text(encoding="ascii").strip().partition(" ")
        except FileNotFoundError:  # because the audit may be new
            return None
        return int(number), hash_

    def begin(self, db: sqlite3.Connection) -> None:
        """Before the first entry, write a note, so that a missing note later proves that somebody removed it."""
        if _last(db)[0] == 0 and not self._path.exists():
            self._write(0, _NONE)

    def note(self, db: sqlite3.Connection) -> None:
        """Write the newest entry's number and hash after a commit. After a crash, an older note is no fault."""
        number, hash_ = _last(db)
        if number != self._noted:
            self._write(number, hash_)
            self._noted = number

    def _write(self, number: int, hash_: str) -> None:
        try:
            own_files.write(self._path, f"{number} {hash_}\n")
        except OSError as error:  # because the chain itself is intact: only its end is unprotected
            _log.warning("The newest entry of the audit could not be noted: %s", error)


def _last(db: sqlite3.Connection) -> tuple[int, str]:
    number, hash_ = db.execute("select number, hash from audit order by number desc limit 1").fetchone() or (0, _NONE)
    return number, hash_
