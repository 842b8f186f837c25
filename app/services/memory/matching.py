"""Which words of a question stand for which words of a fact, and how much each of them says.

A word is cut to its stem; words of one line in `resources/memory/words.toml` stand for each other and count a little
less than the word itself. A word that few facts hold says more than a common one.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from app.base import resources
from app.base.values import dataclass

_WORD = re.compile(r"\w+")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_SHORTEST_STEM = 3
_MOST_WORDS = 24
_OTHER_WORD = 0.6
"""What a word that only stands for the asked one counts."""
_ABOUT_PERSON = 0.8
_A_WORD = 0.02
"""So much less counts a fact for each word that it is long."""
_RARE_SHARE = 0.01
RARE = 3
"""A word that no more facts hold is enough to make a match strong."""


@dataclass(frozen=True, slots=True)
class Question:
    """`groups` hold, for each word that counts, the stems that it is looked for by and what each counts."""

    groups: tuple[Mapping[str, float], ...]
    is_about_person: bool

    @property
    def stems(self) -> frozenset[str]:
        return frozenset(stem for group in self.groups for stem in group)


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact by its id. `is_strong`: it holds two of the words, or a rare one exactly."""

    id: int
    score: float
    is_strong: bool


def stems_of(text: str) -> str:
    """The stems of all words, as the index holds them."""
    return " ".join(map(_stem, _WORD.findall(text.casefold())))


def read(question: str) -> Question:
    """The words of a question that can find something. One that holds none has no groups."""
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
    """Weigh the facts that hold a word of the question: `most` of them, the best first. `postings` are the ids by stem,
    `total` is the number of all facts.
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
    """Order the best matches by what their texts add: short ones first, and those about the person who asks."""

    def value(match: FactMatch) -> float:
        words = _WORD.findall(texts[match.id].casefold())
        is_own = question.is_about_person and not _tables().person.isdisjoint(words)
        return (match.score + _ABOUT_PERSON * is_own) / (1 + _A_WORD * len(words))

    return sorted((match for match in matches if match.id in texts), key=lambda match: (-value(match), -match.id))


def _stem(word: str) -> str:
    """Cut an English ending. What it does to words of other languages it does to question and fact alike."""
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
