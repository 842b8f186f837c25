"""Cuts what is said, as it streams, into sentences that can be spoken one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST_CHARS = 400
"""A sentence without an end is spoken in parts of this size."""
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*\s|[。！？]|\n+|[؟۔]\s?")
_SIGNS = re.compile(r"[`*_#<>|]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    tone: str
    text: str


class Sentences:
    """Takes pieces of text, gives whole sentences; what is left comes with `rest`."""

    def __init__(self) -> None:
        self._tone = ""
        self._kept = ""

    def add(self, tone: str, text: str) -> Iterator[Sentence]:
        """The sentences that this piece completes. Another tone ends the one that was being said."""
        if tone != self._tone:
            yield from self.rest()
            self._tone = tone
        self._kept += text
        while (found := _END.search(self._kept)) or len(self._kept) > _LONGEST_CHARS:
            end = min(found.end() if found else _LONGEST_CHARS, _LONGEST_CHARS)
            said, self._kept = self._kept[:end], self._kept[end:]
            yield from self._made(said)

    def rest(self) -> Iterator[Sentence]:
        """What was said without an end."""
        said, self._kept = self._kept, ""
        yield from self._made(said)

    def drop(self) -> None:
        """Forget what was not spoken yet."""
        self._kept = ""

    def _made(self, said: str) -> Iterator[Sentence]:
        bare = " ".join(_SIGNS.sub(" ", said).split())
        if any(sign.isalnum() for sign in bare):
            yield Sentence(self._tone, bare)
