"""The facts that Wisp keeps about a person: one SQLite file with an index of their words.

A fact is on the disk when `keep` returns. A forgotten fact leaves the table and the index at once, and its pages are
overwritten. Only this process still remembers it, so that a turn can be undone. Blocks: call it in a thread.
"""

from __future__ import annotations

import datetime
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.base import paths
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
from app.base.values import dataclass, replace
from app.services import fact_search
from app.services.extras import way_to_add
from app.services.fact_search import Question, ranked, read, scored, stems_of
from app.services.journal.database import open_private, transaction

_LISTING = "`wisp memory` lists the facts with their numbers."
MOST_FACTS = 200_000
"""A further fact is refused with a sentence, so that nothing is lost silently."""
_BUSY_S = 10.0
_VERSION = 1
_MOST_POSTINGS = 4_000
"""How many places of words are weighed. Words beyond that are too common: they only find facts that contain all words
of the question."""
_LOOKED_AT = 60
_PROFILE_CHARS = 600
_ALIKE = 0.6
"""Facts that share more than this of their words say the same; the newer one counts."""

_TABLES = """
create table facts (
  id integer primary key autoincrement, kind text not null, text text not null, said_by text not null,
  quote text not null, at real not null, turn text not null, used_on text not null default '');
create index facts_of on facts (turn);
create index facts_by_text on facts (text);
create index facts_by_kind on facts (kind) where kind = 'rule';
create virtual table words using fts5(stems, detail = none, tokenize = 'unicode61 remove_diacritics 2');
create virtual table counts using fts5vocab(words, row);
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact. `kind` is `fact` or `rule`. `said_by` is `person`, or `model` if the model concluded it from `quote`.

    `quote` is what the person said. `at` is in seconds since 1970; `used_on` is a date, "" if never used.
    """

    id: int
    kind: str
    text: str
    said_by: str
    quote: str
    at: float
    turn: str
    used_on: str = ""

    @property
    def date(self) -> str:
        """The day on which it was saved."""
        return datetime.datetime.fromtimestamp(self.at).strftime("%Y-%m-%d")

    def line(self) -> str:
        """Return the fact as models and people read it."""
        who = "" if self.said_by == "person" else f", concluded from “{self.quote}”"
        return f"#{self.id} ({self.date}{who}) {self.text}"


_COLUMNS = "id, kind, text, said_by, quote, at, turn, used_on"


class FactStore:
    """The stored facts. Opened at the first use; several threads and processes may use it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._removed: dict[str, list[Fact]] = {}
        self.meanings = fact_search.index_of(self._lock, self._opened, self._writing)

    @property
    def is_empty(self) -> bool:
        """True if no fact was ever saved. Once there was one, this reads nothing from the disk."""
        return self._connection is None and not self._path.exists()

    def keep(self, fact: Fact, replaces: Sequence[int] = ()) -> Fact:
        """Save a fact, and remove those that it `replaces` (ids). Returns it with its id.

        A fact that exists with the same words stays as it is. Raises ToolFailed if `replaces` names an unknown fact.
        """
        with self._lock:
            kept, old = self._keep(fact, replaces)
            if old:
                self._wipe()
        return kept

    def _keep(self, fact: Fact, replaces: Sequence[int]) -> tuple[Fact, list[Fact]]:
        """Save a fact; return it as saved, and the facts that it replaced."""
        with self._writing() as db:
            old = self._found(db, replaces)
            same = db.execute("select id from facts where text = ? and kind = ?", (fact.text, fact.kind)).fetchone()
            if same and same[0] not in replaces:
                self._remove(db, old, fact.turn)
                return self._found(db, [same[0]])[0], old
            if db.execute("select count(*) from facts").fetchone()[0] >= MOST_FACTS:
                what = Phrase("The memory is full ({most} facts).", {"most": str(MOST_FACTS)})
                raise ToolFailed(what, "Ask the person which of them to forget.", advice=Phrase(_LISTING))
            self._remove(db, old, fact.turn)
            return self._add(db, replace(fact, at=fact.at or self._clock.wall())), old

    def forget(self, ids: Sequence[int], turn: str) -> list[Fact]:
        """Delete facts permanently, and return them; `turn` can undo it. Raises ToolFailed for an unknown id."""
        with self._lock:
            with self._writing() as db:
                gone = self._found(db, ids)
                self._remove(db, gone, turn)
            self._wipe()
        return gone

    def take_back(self, turn: str) -> list[str]:
        """Undo what a turn (or one call of it, `turn/call`) changed. Returns a sentence for each fact.

        Facts that another process deleted cannot be restored.
        """
        with self._lock:
            back = [fact for name in self._parts_of(turn) for fact in self._removed.pop(name)]
            if not back and self.is_empty:
                return []
            with self._writing() as db:
                kept = self._rows(db, "where turn = ? or substr(turn, 1, ?) = ?", (turn, len(turn) + 1, f"{turn}/"))
                self._remove(db, kept, "")
                for fact in back:
                    self._add(db, fact)
        return [f"Forgot again: {fact.text}" for fact in kept] + [f"Remembered again: {fact.text}" for fact in back]

    def _parts_of(self, turn: str) -> list[str]:
        return [name for name in self._removed if f"{name}/".startswith(f"{turn}/")]

    def search(self, question: str, limit: int = 10, *, kind: str = "", only_strong: bool = False) -> list[Fact]:
        """Return the facts that match a question, the best first.

        `only_strong` leaves out facts that share only one common word with the question.
        """
        asked = read(question)
        if self.is_empty or not asked.groups:
            return []
        with self._lock:
            db = self._opened()
            total = db.execute("select max(id) from facts").fetchone()[0] or 0
            matches = scored(asked, self._postings(db, asked), total, _LOOKED_AT)
            matches = [match for match in matches if match.is_strong or not only_strong]
            near = {fact.id: fact for fact in self._by_id(db, [match.id for match in matches])}
            found = [match.id for match in ranked(asked, matches, {fact.id: fact.text for fact in near.values()})]
            if self.meanings and not only_strong:
                found = self.meanings.fused(question, found)
                near |= {fact.id: fact for fact in self._by_id(db, [one for one in found if one not in near])}
            return [near[one] for one in found if one in near and kind in ("", near[one].kind)][:limit]

    def rules(self) -> list[Fact]:
        """What the person wants always or never. The newest rule is first."""
        return self._listed("where kind = 'rule' order by id desc")

    def profile(self) -> list[Fact]:
        """Return the facts that the person agreed to use in every conversation; [] if they agreed to none."""
        return self._listed("where id in (select fact from profile) order by id")

    def proposed_profile(self) -> list[Fact]:
        """Return facts for a short profile: first those that the person said, then used ones, then new ones.

        Of facts that say nearly the same, only one is taken. Nothing is saved.
        """
        order = "order by said_by = 'person' desc, used_on desc, id desc limit 500"
        chosen: list[Fact] = []
        left = _PROFILE_CHARS
        for fact in self._listed(f"where kind = 'fact' {order}"):
            stems = set(stems_of(fact.text).split())
            others = [set(stems_of(one.text).split()) for one in chosen]
            is_new = all(len(stems & other) <= _ALIKE * min(len(stems), len(other)) for other in others)
            if is_new and len(fact.line()) < left:
                chosen.append(fact)
                left -= len(fact.line()) + 1
        return sorted(chosen, key=lambda fact: fact.id)

    def set_profile(self, ids: Sequence[int]) -> None:
        """Save the ids of facts that the person agreed to use in every conversation; none: there is no profile."""
        with self._lock, self._writing() as db:
            db.execute("delete from profile")
            db.executemany("insert into profile (fact) values (?)", [(one,) for one in ids])

    def all(self, limit: int = -1) -> list[Fact]:
        """The newest fact is first."""
        return self._listed("order by id desc limit ?", (limit,))

    def find(self, ids: Sequence[int]) -> list[Fact]:
        """Return the facts with these ids, in that order. Raises ToolFailed for an unknown id."""
        with self._lock:
            return [] if not ids else self._found(self._opened(), ids)

    def note_use(self, facts: Iterable[Fact]) -> None:
        """Save that the facts were used today, if that is not saved yet."""
        today = datetime.datetime.fromtimestamp(self._clock.wall()).strftime("%Y-%m-%d")
        stale = [fact.id for fact in facts if fact.used_on != today]
        if stale:
            with self._lock, self._writing() as db:
                db.executemany("update facts set used_on = ? where id = ?", [(today, one) for one in stale])

    def close(self) -> None:
        with self._lock:
            if self.meanings:
                self.meanings.close()
            if self._connection:
                self._connection.close()
                self._connection = None

    def _listed(self, rest: str, values: Sequence[object] = ()) -> list[Fact]:
        if self.is_empty:
            return []
        with self._lock:
            return self._rows(self._opened(), rest, values)

    def _postings(self, db: sqlite3.Connection, asked: Question) -> Mapping[str, Sequence[int]]:
        """By stem; for a very common stem, only the ids of facts that match every word."""
        marks = ", ".join("?" * len(asked.stems))
        counted = db.execute(f"select term, doc from counts where term in ({marks})", tuple(asked.stems)).fetchall()
        left = _MOST_POSTINGS
        found: dict[str, Sequence[int]] = {}
        for stem, count in sorted(counted, key=lambda entry: entry[1]):
            left -= count
            if left >= 0:
                rows = db.execute("select rowid from words where words match ?", (_quoted(stem),))
                found[stem] = [row[0] for row in rows]
        if left < 0:
            known = [[stem for stem in group if any(stem == one for one, _ in counted)] for group in asked.groups]
            together = " AND ".join(f"({' OR '.join(map(_quoted, stems))})" for stems in known if stems)
            query = "select rowid from words where words match ? order by rowid desc limit ?"
            ids = [row[0] for row in db.execute(query, (together, _LOOKED_AT))]
            for stem, _ in counted:
                found.setdefault(stem, ids)
        return found

    def _add(self, db: sqlite3.Connection, fact: Fact) -> Fact:
        values = (fact.id or None, fact.kind, fact.text, fact.said_by, fact.quote, fact.at, fact.turn, fact.used_on)
        added = db.execute(f"insert into facts ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid
        db.execute("insert into words (rowid, stems) values (?, ?)", (added, stems_of(fact.text)))
        return replace(fact, id=int(added or 0))

    def _remove(self, db: sqlite3.Connection, facts: Sequence[Fact], turn: str) -> None:
        """Remove facts. They are kept in memory so that `turn` can be undone; not if `turn` is "" (as in an undo)."""
        for fact in facts:
            db.execute("delete from facts where id = ?", (fact.id,))
            db.execute("delete from words where rowid = ?", (fact.id,))
            db.execute("delete from profile where fact = ?", (fact.id,))
            db.execute("delete from vectors where fact = ?", (fact.id,))
            if turn:
                self._removed.setdefault(turn, []).append(fact)

    def _wipe(self) -> None:
        """Overwrite on the disk what the index and the log still contain of removed facts. The lock is held."""
        with self._writing() as db:
            db.execute("insert into words (words) values ('optimize')")
        # because the write-ahead log keeps old pages: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
        self._opened().execute("pragma wal_checkpoint(truncate)").fetchall()

    def _found(self, db: sqlite3.Connection, ids: Sequence[int]) -> list[Fact]:
        found = {fact.id: fact for fact in self._by_id(db, ids)}
        if missing := [f"#{one}" for one in ids if one not in found]:
            what = Phrase("There is no fact {ids}.", {"ids": ", ".join(missing)})
            raise ToolFailed(what, "recall lists the facts with their numbers.", advice=Phrase(_LISTING))
        return [found[one] for one in dict.fromkeys(ids)]

    def _by_id(self, db: sqlite3.Connection, ids: Sequence[int]) -> list[Fact]:
        return self._rows(db, f"where id in ({', '.join('?' * len(ids))})", ids)

    def _rows(self, db: sqlite3.Connection, rest: str, values: Sequence[object]) -> list[Fact]:
        return [Fact(*row) for row in db.execute(f"select {_COLUMNS} from facts {rest}", tuple(values))]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. Raises ToolFailed if the memory cannot be written."""
        db = self._opened()
        try:
            with transaction(db):
                yield db
        except sqlite3.Error as error:
            raise ToolFailed(f"The memory cannot be written ({error}): nothing was changed. {self._path}") from error

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = open_private(self._path, _BUSY_S, _prepare)
            except (sqlite3.Error, OSError) as error:
                raise NeedsPerson(
                    f"The memory cannot be opened ({error}). To begin with an empty one, move it away: {self._path}"
                ) from error
        return self._connection


def _quoted(stem: str) -> str:
    return f'"{stem}"'


def _prepare(db: sqlite3.Connection) -> None:
    with transaction(db):
        version = db.execute("pragma user_version").fetchone()[0]
        if version > _VERSION:
            raise sqlite3.DatabaseError(f"a newer Wisp wrote it, version {version}")
        for statement in _TABLES.split(";\n") if not version else ():
            db.execute(statement)
        db.execute("create table if not exists profile (fact integer primary key)")
        db.execute(fact_search.TABLE)
        db.execute(f"pragma user_version = {_VERSION}")


def standard_facts(clock: Clock) -> FactStore:
    """All sessions share the facts about this person."""
    return FactStore(paths.data_dir() / "memory.db", clock)


def check_memory() -> Finding:
    """Report whether facts are found by their meaning, too."""
    name = "Memory"
    if fact_search.is_installed() and (why := fact_search.why_unusable()):
        told = Phrase(
            "Wisp finds facts only by their words. The part that finds them by meaning does not start ({why}).",
            {"why": why},
        )
        return note(name, told, way_to_add("memory", again=True))
    if fact_search.is_installed():
        return ok(name, "Wisp finds facts by their words and by their meaning.")
    remedy = Phrase(
        "To find them by meaning, too ({size} MB): {command}",
        {"size": fact_search.SIZE_MB, "command": way_to_add("memory")},
    )
    return note(name, "Wisp finds facts by their words.", remedy)
