"""Keep the content of files before each change, so that it can be undone, even after a crash.

`objects/` holds copies named by the SHA-256 of their content. `changes.db` lists the changes; each is written and
synced before it happens. The copies are limited in size and age: the oldest changes are dropped first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from app.base import paths
from app.base.errors import ToolFailed
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.values import dataclass, fields

KEPT_BYTES = 500_000_000
KEPT_SECONDS = 7 * 86_400.0
MOST_BYTES = 100_000_000
"""A bigger file is not copied; its change cannot be undone, and the answer says so."""


class UndoCheck(StrEnum):
    """What the place of a change must be so that the change may be undone."""

    WRITABLE = ""
    CARRIED = "carried"
    """As writable, but it may start by itself: it moved with its folder."""
    NONE = "none"
    """Wisp's own place, or where a command of the person's deleted the file."""


_CHUNK = 1 << 20
_PRIVATE = 0o600  # so that other users of the computer cannot read the copies
_BUSY_S = 10.0
_LOOSE_S = 3600.0
"""An unused copy is dropped only after this time, because its change may be about to be written."""

_ELSEWHERE = "WISP_DATA_DIR=/some/folder"
_UNWRITABLE = (
    "The list of changes for undo cannot be used, so nothing was changed: its folder {folder} cannot be written to. "
    "{setting!r} moves all that Wisp keeps."
)
_TABLE = """
create table if not exists changes (
  number integer primary key autoincrement, id text not null unique, turn text not null, tool text not null,
  path text not null, before text, after text, mode integer not null, at real not null, kept integer not null,
  undo_check text not null default '')
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file. `before` and `after` are content digests; None if the file did not or does not exist.

    `turn` is the turn's id, or `turn/call` if all changes of a call are undone together. `tool` is shown to people.
    `kept` says whether `before` is in the store. `at` is in seconds since 1970.
    """

    id: str
    turn: str
    tool: str
    path: str
    before: str | None
    after: str | None
    mode: int
    at: float
    kept: bool = True
    undo_check: str = UndoCheck.WRITABLE


_COLUMNS = tuple(field.name for field in fields(Change))


def digest_of(stream: BinaryIO) -> str:
    """Read the stream to its end and return the SHA-256 of its content."""
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _is_of(change: Change, turn: str) -> bool:
    """`turn` may also be the id of a call, such as a command's run."""
    return f"{change.turn}/".startswith(f"{turn}/") or change.turn.rpartition("/")[2] == turn


class Checkpoints:
    """The store of old contents. Several threads and processes may use it at once."""

    def __init__(self, folder: Path, *, kept_bytes: int = KEPT_BYTES, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._kept_bytes = kept_bytes
        self._most_bytes = most_bytes
        self._until_prune = kept_bytes // 10
        (folder / "objects").mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._list() as table:
            # so that readers do not wait for a writer: https://www.sqlite.org/wal.html
            table.execute("pragma journal_mode=wal")
            table.execute("begin immediate")
            table.execute(_TABLE)
            if "undo_check" not in {row[1] for row in table.execute("pragma table_info(changes)")}:
                table.execute("alter table changes add column undo_check text not null default ''")

    def keep(self, source: BinaryIO, size_bytes: int) -> tuple[str, bool]:
        """Copy a content into the store. Returns its digest, and False if it was too large to be kept."""
        if size_bytes > self._most_bytes:
            return digest_of(source), False
        beside = self._folder / "objects" / unique("new-")
        digest = hashlib.sha256()
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as copy:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    copy.write(chunk)
                copy.flush()
                os.fsync(copy.fileno())
            # Rename it last, so that an object is whole as soon as it has its name.
            os.replace(beside, self._object(digest.hexdigest()))
        finally:
            beside.unlink(missing_ok=True)
        self._count(size_bytes)
        return digest.hexdigest(), True

    def adopt(self, copy: Path) -> str:
        """Move a file on the same disk into the store. Returns the digest of its content."""
        with copy.open("rb") as source:
            digest, size = digest_of(source), os.fstat(source.fileno()).st_size
        shutil.move(copy, self._object(digest))
        self._count(size)
        return digest

    def open(self, name: str) -> BinaryIO:
        """Open a kept content by its digest. Raises FileNotFoundError if it was dropped."""
        return self._object(name).open("rb")

    def add(self, *changes: Change) -> None:
        """Record the changes in one transaction. Call it before they are carried out."""
        places = ", ".join("?" * len(_COLUMNS))
        with self._list() as table:
            rows = [[getattr(change, column) for column in _COLUMNS] for change in changes]
            table.executemany(f"insert into changes ({', '.join(_COLUMNS)}) values ({places})", rows)

    def forget(self, *ids: str) -> None:
        """Remove records of changes that were undone or were never carried out."""
        with self._list() as table:
            table.executemany("delete from changes where id = ?", [(name,) for name in ids])

    def changes(self, turn: str | None = None) -> list[Change]:
        """Return the changes that can be undone, oldest first: all, or of one turn or command (`turn/run` or `run`)."""
        with self._list() as table:
            rows = table.execute(f"select {', '.join(_COLUMNS)} from changes order by number").fetchall()
        found = [Change(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]
        return [change for change in found if turn is None or _is_of(change, turn)]

    def turns(self) -> list[str]:
        """Return the turns that changed files, oldest first."""
        return list(dict.fromkeys(change.turn.partition("/")[0] for change in self.changes()))

    def prune(self) -> None:
        """Delete the oldest changes beyond the limits of age and total size, and contents that no change needs.

        Contents that were stored in the last hour stay, because their change may not be recorded yet.
        """
        changes = self.changes()
        kept = self._affordable(changes)
        self.forget(*(change.id for change in changes[: len(changes) - len(kept)]))
        needed = {change.before for change in kept}
        latest = time.time() - _LOOSE_S
        for file in (self._folder / "objects").iterdir():
            if file.name not in needed and file.stat().st_mtime < latest:
                file.unlink(missing_ok=True)

    def _affordable(self, changes: list[Change]) -> list[Change]:
        left, oldest = self._kept_bytes, time.time() - KEPT_SECONDS
        for number, change in enumerate(reversed(changes)):
            left -= self._size(change.before) if change.before and change.kept else 0
            if left < 0 or change.at < oldest:
                return changes[len(changes) - number :]
        return changes

    def _count(self, size_bytes: int) -> None:
        self._until_prune -= size_bytes
        if self._until_prune < 0:
            self._until_prune = self._kept_bytes // 10
            self.prune()

    def _size(self, name: str) -> int:
        try:
            return self._object(name).stat().st_size
        except FileNotFoundError:  # because another process may have pruned it
            return 0

    def _object(self, name: str) -> Path:
        return self._folder / "objects" / name

    @contextmanager
    def _list(self) -> Iterator[sqlite3.Connection]:
        """The table in one transaction. Raises ToolFailed if it cannot be used."""
        try:
            with closing(sqlite3.connect(self._folder / "changes.db", timeout=_BUSY_S)) as table, table:
                # because WAL alone may lose the last commit: https://www.sqlite.org/pragma.html#pragma_synchronous
                table.execute("pragma synchronous=full")
                yield table
        except sqlite3.Error as error:
            if not os.access(self._folder, os.W_OK):
                raise ToolFailed(Phrase(_UNWRITABLE, {"folder": str(self._folder), "setting": _ELSEWHERE})) from error
            raise ToolFailed(
                f"The list of changes for undo cannot be used ({error}), so nothing was changed."
            ) from error


def standard_checkpoints() -> Checkpoints:
    """The old file contents, which make changes undoable. All sessions of this person share them."""
    return Checkpoints(paths.data_dir() / "checkpoints")
