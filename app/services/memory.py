"""The facts that Wisp keeps about a person: one SQLite file with an index of their words.

A fact is on the disk when `keep` returns. A forgotten fact leaves the table and the index at once, and its pages are
overwritten. Only this process still remembers it, so that a turn can be undone. Blocks: call it in a thread.
"""

from __future__ import annotations

import datetime
import heapq
import math
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from app.base import resources
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed
from app.base.values import dataclass, replace
from app.services.journal.database import open_private, transaction

_WORD = re.compile(r"\w+")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_SHORTEST_STEM = 3
_MOST_WORDS = 24
_OTHER_WORD = 0.6
"""The weight of a synonym, compared with the word itself."""
_ABOUT_PERSON = 0.8
_A_WORD = 0.02
"""How much the score of a fact falls with each of its words."""
_RARE_SHARE = 0.01
RARE = 3
"""A word in at most this many facts makes a match strong by itself."""


@dataclass(frozen=True, slots=True)
class Question:
    """`groups` hold, for each word that counts, its stems and their weights."""

    groups: tuple[Mapping[str, float], ...]
    is_about_person: bool

    @property
    def stems(self) -> frozenset[str]:
        return frozenset(stem for group in self.groups for stem in group)


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact by its id. `is_strong`: it contains two of the words, or a rare one exactly."""

    id: int
    score: float
    is_strong: bool


def stems_of(text: str) -> str:
    """Return the stems of all words, as in the index."""
    return " ".join(map(_stem, _WORD.findall(text.casefold())))


def read(question: str) -> Question:
    """Return the words of a question that can find something. If there are none, `groups` is empty."""
    words = _WORD.findall(question.casefold())
    tables = _tables()
    counting = [word for word in dict.fromkeys(words) if word not in tables.stop and (len(word) > 1 or word.isdigit())]
    groups = []
    for word in counting[:_MOST_WORDS]:
        stem = _stem(word)
        groups.append({**dict.fromkeys(tables.same.get(stem, ()), _OTHER_WORD), stem: 1.0})
    return Question(tuple(groups), not _tables().person.isdisjoint(words))


def scored(
    question: Question, postings: Mapping[str, Sequence[int]], total: int, most: int, rare: int = RARE
) -> list[FactMatch]:
    """Return the `most` best facts that contain a word of the question.

    `postings` are the ids by stem; `total` is the number of all facts.
    """
    scores: dict[int, float] = {}
    several: set[int] = set()
    strong: set[int] = set()
    for group in question.groups:
        found: dict[int, float] = {}
        weighed = (
            (_weight(len(postings[stem]), total, share), share, stem)
            for stem, share in group.items()
            if stem in postings
        )
        for weight, share, stem in sorted(weighed):  # the weightiest last, because it is the one that counts
            found.update(dict.fromkeys(postings[stem], weight))
            if share == 1.0 and len(postings[stem]) <= max(rare, _RARE_SHARE * total):
                strong.update(postings[stem])
        several.update(found.keys() & scores.keys())
        for one, weight in found.items():
            scores[one] = scores.get(one, 0.0) + weight
    best = heapq.nlargest(most, scores, key=lambda one: (scores[one], one))
    return [FactMatch(one, scores[one], one in strong or one in several) for one in best]


def _weight(count: int, total: int, share: float) -> float:
    return share * math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5))


def ranked(question: Question, matches: Iterable[FactMatch], texts: Mapping[int, str]) -> list[FactMatch]:
    """Sort the best matches by their texts: short ones first, and those about the person who asks."""

    def value(match: FactMatch) -> float:
        words = _WORD.findall(texts[match.id].casefold())
        is_own = question.is_about_person and not _tables().person.isdisjoint(words)
        return (match.score + _ABOUT_PERSON * is_own) / (1 + _A_WORD * len(words))

    return sorted((match for match in matches if match.id in texts), key=lambda match: (-value(match), -match.id))


def _stem(word: str) -> str:
    """Cut an English ending. Words of other languages are cut the same way in question and fact."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            return word.removesuffix(ending) + instead
    return word


@dataclass(frozen=True, slots=True)
class _Words:
    stop: str
    person: str
    same: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Tables:
    stop: frozenset[str]
    person: frozenset[str]
    same: Mapping[str, frozenset[str]]


@cache
def _tables() -> _Tables:
    read_in = resources.table("memory/words.toml", _Words)
    same: dict[str, set[str]] = {}
    for line in read_in.same:
        stems = {_stem(word) for word in line.split()}
        for stem in stems:
            same.setdefault(stem, set()).update(stems - {stem})
    others = {stem: frozenset(stems) for stem, stems in same.items()}
    return _Tables(frozenset(read_in.stop.split()), frozenset(read_in.person.split()), others)


MOST_FACTS = 200_000
"""A further fact is refused with a sentence, so that nothing is lost silently."""
_BUSY_S = 10.0
_VERSION = 1
_MOST_POSTINGS = 4_000
"""How many places of words are weighed. Words beyond that are too common: they only find facts that contain all words
of the question."""
_LOOKED_AT = 60

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
    """A fact. `kind` is `fact` or `rule`. `said_by` is `person`, or `model` if it was concluded from `quote`.

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

    @property
    def is_empty(self) -> bool:
        """Return whether no fact was ever saved. Reads the disk only until the first fact exists."""
        return self._connection is None and not self._path.exists()

    def keep(self, fact: Fact, replaces: Sequence[int] = ()) -> Fact:
        """Save a fact in place of others, which are removed. Returns it with its id.

        A fact that is already there in the same words stays as it is. Raises ToolFailed if `replaces` names an unknown
        fact.
        """
        with self._lock, self._writing() as db:
            old = self._found(db, replaces)
            same = db.execute("select id from facts where text = ? and kind = ?", (fact.text, fact.kind)).fetchone()
            if same and same[0] not in replaces:
                self._remove(db, old, fact.turn)
                return self._found(db, [same[0]])[0]
            if db.execute("select count(*) from facts").fetchone()[0] >= MOST_FACTS:
                raise ToolFailed(f"The memory is full ({MOST_FACTS} facts). Ask the person which of them to forget.")
            self._remove(db, old, fact.turn)
            kept = self._add(db, replace(fact, at=fact.at or self._clock.wall()))
        if old:
            self._wipe()
        return kept

    def add_all(self, facts: Iterable[Fact]) -> None:
        """Save many facts at once, unchanged."""
        with self._lock, self._writing() as db:
            for fact in facts:
                self._add(db, fact)

    def forget(self, ids: Sequence[int], turn: str) -> list[Fact]:
        """Remove facts for good, and return them. Raises ToolFailed for an unknown id."""
        with self._lock, self._writing() as db:
            gone = self._found(db, ids)
            self._remove(db, gone, turn)
        self._wipe()
        return gone

    def take_back(self, turn: str) -> list[str]:
        """Undo what a turn (or one call of it, `turn/call`) changed. Returns a sentence for each fact.

        Only changes by this process are known.
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

        `only_strong` leaves out facts that share only one common word with it.
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
            texts = {fact.id: fact.text for fact in near.values() if kind in ("", fact.kind)}
            return [near[match.id] for match in ranked(asked, matches, texts)[:limit]]

    def rules(self) -> list[Fact]:
        """Return what the person wants always or never, the newest first."""
        return self._listed("where kind = 'rule' order by id desc")

    def all(self, limit: int = -1) -> list[Fact]:
        """Return the facts, the newest first."""
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
            if self._connection:
                self._connection.close()
                self._connection = None

    def _listed(self, rest: str, values: Sequence[object] = ()) -> list[Fact]:
        if self.is_empty:
            return []
        with self._lock:
            return self._rows(self._opened(), rest, values)

    def _postings(self, db: sqlite3.Connection, asked: Question) -> Mapping[str, Sequence[int]]:
        """Return the ids of the facts that contain a stem, for the rarest stems."""
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
        """Remove facts. `turn` is the turn that can be undone; "" if this is an undo itself."""
        for fact in facts:
            db.execute("delete from facts where id = ?", (fact.id,))
            db.execute("delete from words where rowid = ?", (fact.id,))
            if turn:
                self._removed.setdefault(turn, []).append(fact)

    def _wipe(self) -> None:
        """Overwrite what the index and the log still contain of removed facts."""
        with self._writing() as db:
            db.execute("insert into words (words) values ('optimize')")
        # because the write-ahead log keeps old pages: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
        self._opened().execute("pragma wal_checkpoint(truncate)").fetchall()

    def _found(self, db: sqlite3.Connection, ids: Sequence[int]) -> list[Fact]:
        found = {fact.id: fact for fact in self._by_id(db, ids)}
        if missing := [f"#{one}" for one in ids if one not in found]:
            raise ToolFailed(f"There is no fact {', '.join(missing)}. recall lists the facts with their numbers.")
        return [found[one] for one in dict.fromkeys(ids)]

    def _by_id(self, db: sqlite3.Connection, ids: Sequence[int]) -> list[Fact]:
        return self._rows(db, f"where id in ({', '.join('?' * len(ids))})", ids)

    def _rows(self, db: sqlite3.Connection, rest: str, values: Sequence[object]) -> list[Fact]:
        return [Fact(*row) for row in db.execute(f"select {_COLUMNS} from facts {rest}", tuple(values))]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Return a context manager with one transaction. Raises ToolFailed if the memory cannot be written."""
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
        db.execute(f"pragma user_version = {_VERSION}")
