"""What the presence asks about this machine and its models; the rest of the program answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from app.base.texts import Phrase
from app.base.values import dataclass, field
from app.settings.store import Settings


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """One thing that was tried. `verdict` is ok, note (works without it) or fail; `fix` is the one thing to do."""

    name: str
    verdict: str
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model server on this machine, and what it lists."""

    name: str
    base_url: str
    models: tuple[str, ...]


class Machine(Protocol):
    """Every answer may take seconds; none raises."""

    async def findings(self) -> Sequence[MachineFinding]:
        """What works here, tried for real, in the order a person would mend it."""
        ...

    async def servers(self) -> Sequence[ModelServer]:
        """The model servers that answer."""
        ...

    async def tried(self, provider: str, key: str, base_url: str = "") -> str:
        """What is wrong with a key or server; empty where it answers. An empty key takes the one that is kept."""
        ...


@dataclass(frozen=True, slots=True)
class CollectionEntry:
    """One thing of a collection: its line, the parts of the quiet line below, and those that say all of it.

    `actions` are offered for it: `run`, `trust`, `ask`. `file` holds it where it cannot be deleted from here, or "".
    """

    key: str
    title: str
    below: tuple[str | Phrase, ...]
    whole: tuple[str | Phrase, ...] = ()
    actions: tuple[str, ...] = ()
    file: str = ""


class Collection(Protocol):
    """Things that Wisp keeps and the person may look through. Every call may take seconds and raise a WispError."""

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        """Those that fit the words, all without any."""
        ...

    async def act(self, action: str, key: str, words: str = "", /) -> str:
        """Do one of an entry's actions, `delete`, or `change` with its new words.

        Return what came of it: the action, or for `run` also `busy` or `unbegun` if nothing was begun.
        """
        ...


class NoMachine:
    """A machine without findings: for the gallery, and where no probe runs."""

    async def findings(self) -> Sequence[MachineFinding]:
        return ()

    async def servers(self) -> Sequence[ModelServer]:
        return ()

    async def tried(self, provider: str, key: str, base_url: str = "") -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Outside:
    """What the presence needs beyond its agent. `reload` reads the settings as they are now; `welcome` says that the
    person is to be welcomed; `collections` are what Wisp keeps: `planned`, `memory` and `servers`."""

    reload: Callable[[], Settings]
    machine: Machine
    welcome: bool = False
    collections: Mapping[str, Collection] = field(default_factory=dict)
