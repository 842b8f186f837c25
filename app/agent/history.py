"""The conversation as the model reads it: only ever added to, except for the two repairs that `window.py` makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from app.protocol.message import ImagePart, Message, Part, Role


class Kind(Enum):
    """Who an entry comes from; it decides what may be shortened."""

    PERSON = "the person's own words"
    MODEL = "what the model said and called"
    RESULTS = "what calls brought"
    NOTE = "what Wisp told the model"
    SUMMARY = "what stands for entries that were taken out"


@dataclass(frozen=True, slots=True)
class Entry:
    kind: Kind
    message: Message


class Watcher(Protocol):
    """Who keeps the history elsewhere. What `rewrite` takes out does not concern it."""

    def entries_added(self, entries: Sequence[Entry], heard: int, whole: Sequence[Entry]) -> None: ...

    def entries_replaced(self, entries: Sequence[Entry]) -> None: ...


class History:
    """Entries in order. `messages` joins neighbours of one role, since some servers insist that roles alternate."""

    def __init__(self, watcher: Watcher | None = None) -> None:
        self._entries: list[Entry] = []
        self._watcher = watcher

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    @property
    def messages(self) -> tuple[Message, ...]:
        joined: list[Message] = []
        for entry in self._entries:
            if joined and joined[-1].role is entry.message.role:
                joined[-1] = Message(joined[-1].role, joined[-1].parts + entry.message.parts)
            else:
                joined.append(entry.message)
        return tuple(joined)

    @property
    def holds_others_words(self) -> bool:
        """Whether the model has read anything here that is neither the person's words nor its own."""
        return any(
            entry.kind in (Kind.RESULTS, Kind.SUMMARY)
            or any(isinstance(part, ImagePart) for part in entry.message.parts)
            for entry in self._entries
        )

    def add(self, kind: Kind, message: Message) -> None:
        self.extend(Entry(kind, message))

    def extend(self, *entries: Entry, heard: int = 0) -> None:
        """Add what belongs together. `heard`: how many of them are words the person said while a turn ran."""
        added = [entry for entry in entries if entry.message.parts]
        self._entries += added
        if added and self._watcher:
            self._watcher.entries_added(added, heard, self._entries)

    def clear(self) -> None:
        self.replace(())

    def replace(self, entries: tuple[Entry, ...]) -> None:
        """Put other entries in place of all; used to compact. They must begin with the user's role."""
        if entries and entries[0].message.role is not Role.USER:
            raise ValueError("A conversation begins with the user.")
        self._entries = list(entries)
        if self._watcher:
            self._watcher.entries_replaced(entries)

    def rewrite(self, part: Callable[[Part], Part | None]) -> None:
        """Replace each part by what `part` gives for it; None takes it out."""
        rewritten = []
        for entry in self._entries:
            parts = tuple(new for old in entry.message.parts if (new := part(old)) is not None)
            if parts:
                rewritten.append(Entry(entry.kind, Message(entry.message.role, parts)))
        self._entries = rewritten
