"""Tell whether the person's own words name a thing. What they name literally is granted by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LONGEST_CHARS = 2000
"""Longer texts are pasted ones."""
_QUOTED = (">", "|")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[\w'’]+")
_NOT = frozenset(
    ("no", "not", "n't", "never", "don't", "dont", "without", "except", "but", "avoid", "nicht", "kein", "keine")
) | {"keinen", "keinem", "nie", "niemals", "ohne", "außer"}
"""Words before a name that say the opposite."""
_SHORTEST_CHARS = 2


def own_words(text: str) -> str:
    """Return the person's text without lines that they quote; "" for a long text, which counts as pasted."""
    if len(text) > _LONGEST_CHARS:
        return ""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(_QUOTED))


def names_any(said: str, names: Iterable[str]) -> bool:
    """Return whether a sentence contains one of the names as whole words, without a “not” before it."""
    return any(_is_meant(before) for name in names for before in _before_each(said.casefold(), name.casefold().strip()))


def says_all(said: str, text: str) -> bool:
    """Return whether a text is the person's: they said it, or every word of it."""
    words, own = text.casefold().strip(), said.casefold()
    if not words or (len(words) >= _SHORTEST_CHARS and words in own):
        return True
    return bool(_WORD.search(words)) and set(re.findall(r"\w+|[^\w\s]", words)) <= set(re.findall(r"\w+|[^\w\s]", own))


def _before_each(said: str, name: str) -> Iterator[str]:
    """Yield what stands before each place of the name in its sentence."""
    if len(name) < _SHORTEST_CHARS:
        return
    pattern = re.compile(rf"(?<![\w.@-]){re.escape(name)}(?![\w-]|\.\w|@)")
    for sentence in _SENTENCE.split(said):
        yield from (sentence[: found.start()] for found in pattern.finditer(sentence))


def _is_meant(before: str) -> bool:
    return _NOT.isdisjoint(_WORD.findall(before))
