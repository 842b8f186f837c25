"""Tell whether the person's own words name a thing. What they name literally is granted by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LONGEST_CHARS = 2000
"""Longer texts are pasted ones."""
_QUOTED = (">", "|")
_CLAUSE = re.compile(r"(?<=[.!?;:,])\s+|\n+")
_WORD = re.compile(r"[\w']+")
_NOT = {
    *(
        "no",
        "not",
        "never",
        "without",
        "except",
        "but",
        "avoid",
        "cannot",
        "dont",
        "neither",
        "nor",
        "instead",
        "rather",
    ),
    *("nicht", "kein", "keine", "keinen", "keinem", "keiner", "nie", "niemals", "ohne", "außer", "statt", "anstatt"),
}
"""Words that make a clause say the opposite, or something else; and any that ends in n't."""
_SHORTEST_CHARS = 2


def own_words(text: str) -> str:
    """Return the person's text without lines that they quote; "" for a long text, which counts as pasted."""
    if len(text) > _LONGEST_CHARS:
        return ""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(_QUOTED))


def names_any(said: str, names: Iterable[str]) -> bool:
    """True if a clause without a negation contains one of the names, or texts, as whole words."""
    wanted = [plain for name in names if len(plain := _plain(name)) >= _SHORTEST_CHARS]
    return any(_contains(clause, name) for clause in _meant(said) for name in wanted)


def begins_any(said: str, beginnings: Iterable[str]) -> bool:
    """True if a clause without a negation contains a word that begins so."""
    wanted = tuple(beginnings)
    return any(re.search(rf"\b{one}", clause) for clause in _meant(said) for one in wanted)


def says_all(said: str, text: str) -> bool:
    """True if the name `text` is made of the person's words alone."""
    return set(_WORD.findall(_plain(text))) <= set(_WORD.findall(_plain(said)))


def _meant(said: str) -> Iterator[str]:
    """Yield the clauses that say what to do. One with a negation names nothing, wherever in it the negation stands."""
    for clause in _CLAUSE.split(_plain(said)):
        words = _WORD.findall(clause)
        if _NOT.isdisjoint(words) and not any(word.endswith("n't") for word in words):
            yield clause


def _contains(clause: str, name: str) -> bool:
    return re.search(rf"(?<![\w.@-]){re.escape(name)}(?![\w-]|\.\w|@)", clause) is not None


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split(" ")).strip()
