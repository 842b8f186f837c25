"""What the presence asks about this machine, its models and stored things. Other layers implement it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app.base.errors import WispError
from app.base.phrases import Phrase
from app.base.values import dataclass, field
from app.settings.store import Settings
from app.ui.cards.kinds import CardKind, Offered


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """A check and its result. `verdict` is ok, note (Wisp works without it) or fail; `fix` is the one thing to do.
    `opens` is where it is done: the key of a setting, `key.` and a provider, or the path of a file; "" elsewhere.
    """

    name: str
    verdict: str
    detail: str
    fix: str = ""
    opens: str = ""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model server on this machine, and the models that it lists."""

    name: str
    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of asking a model for a few words: what it said, or what is wrong. `is_refused`: the key is wrong."""

    said: str = ""
    problem: str = ""
    is_refused: bool = False


class Machine(Protocol):
    """Checks of this machine. Every call may take seconds; no call raises an error."""

    async def findings(self) -> Sequence[MachineFinding]:
        """Return the results of all checks, in the order in which a person should fix them."""
        ...

    async def servers(self) -> Sequence[ModelServer]:
        """Return the model servers that answer."""
        ...

    async def advice(self) -> str:
        """Return what the person should do once so that Wisp can do more here, or ""."""
        ...

    async def models(self) -> Sequence[str]:
        """Return the models that the chosen provider lists; none if it does not answer."""
        ...

    async def tried(self, provider: str, key: str = "", base_url: str = "", model: str = "") -> Trial:
        """Ask a model to say hello. An empty `key` means the stored one, an empty `model` the usual one."""
        ...

    async def unshown(self, setting: str) -> str:
        """Return why a look cannot be shown as the setting with this key says, or "" if it can."""
        ...


@dataclass(frozen=True, slots=True)
class CollectionEntry:
    """One entry of a collection: its title, the parts of the muted line below it, and the parts of its whole text.

    `actions` are what its menu offers: `run`, `trust`, `ask`, `switch_on`, `switch_off`, `sign_in`, `open`, `export`,
    `pin`, `unpin`, `menu`, `unmenu`, `get`, `stop`. If `file` is not "", the entry is in that file and can only be
    deleted there. `picture` is a PNG, or b"". An entry that `is_fixed` can neither be renamed nor deleted. While one
    has the action `stop`, the page follows how far it is.
    """

    key: str
    title: str
    below: tuple[str | Phrase, ...]
    whole: tuple[str | Phrase, ...] = ()
    actions: tuple[str, ...] = ()
    file: str = ""
    picture: bytes = b""
    is_fixed: bool = False


class Collection(Protocol):
    """A list of stored things that the person may look through. Calls may take seconds and raise WispError."""

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        """Return the entries that match the words; all entries if `search` is ""."""
        ...

    async def act(self, action: str, key: str, words: str = "", /) -> str:
        """Carry out an action on the entry: one of its `actions`, `delete`, or `change`, which sets `words` as its
        text.

        Return the result: the action's name, `saved:PATH` for `export`, or, if `run` began nothing, `busy` or
        `unbegun`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Ask:
    """What a list on a page may ask: the folder of the workspace, and what the conversation's features offer."""

    workspace: Callable[[], Path]
    offered: Offered


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page that lists stored things, with its texts, and what makes its list.

    `search` names the field to search in, `nothing` is the sentence for an empty list. `change` names the action by
    which the person changes an entry's title; None if they may not. `delete` is asked before an entry is deleted; None
    for the question about what nothing brings back. `extra` is the part of Wisp without which the entries cannot be
    shown: the list's action `get` gets it. In the menu, pages with a lower `rank` come first.
    """

    name: str
    title: Phrase
    search: Phrase
    make: Callable[[Ask], Collection]
    nothing: Phrase | None = None
    change: Phrase | None = None
    delete: Phrase | None = None
    extra: str = ""
    rank: int = 50


def no_such_action(action: str) -> WispError:
    return WispError(f"There is no action {action!r} here.")


@dataclass(frozen=True, slots=True)
class PresenceEntry:
    """One of the person's presences. The first one has the id ""."""

    id: str
    name: str
    is_this: bool = False


class Presences(Protocol):
    """The presences that the person has made."""

    def entries(self) -> Sequence[PresenceEntry]:
        """The first presence comes first. Reads a small file for each."""
        ...

    def show(self, presence: str, /) -> None:
        """Open the presence with this id, and start it if it does not run."""
        ...


class NoPresences:
    """Only the presence that runs."""

    def entries(self) -> Sequence[PresenceEntry]:
        return ()

    def show(self, _presence: str, /) -> None:
        return


class NoMachine:
    """A machine without any results: for runs that check nothing."""

    async def findings(self) -> Sequence[MachineFinding]:
        return ()

    async def servers(self) -> Sequence[ModelServer]:
        return ()

    async def advice(self) -> str:
        return ""

    async def models(self) -> Sequence[str]:
        return ()

    async def tried(self, provider: str, key: str = "", base_url: str = "", model: str = "") -> Trial:
        return Trial()

    async def unshown(self, setting: str) -> str:
        return ""


HearKey = Callable[[str, Callable[[], None], Callable[[str], None]], Callable[[], None]]
"""Hears a key (`ctrl+alt+space`) through the desktop where that passes keys on. Calls the first function at each press,
or the second with what has the key instead, both on another thread. Returns a function that ends it."""


def hear_no_key(_keys: str, _pressed: Callable[[], None], _lost: Callable[[str], None]) -> Callable[[], None]:
    return lambda: None


@dataclass(frozen=True, slots=True)
class Outside:
    """What the presence needs besides its agent. `reload` reads the current settings; `welcome`: greet the person at
    the start; `collections` are the lists of stored things by the names of their `pages`, and `finder`;
    `presences` are those that the person can switch to; `kinds` are the features' kinds of cards by name."""

    reload: Callable[[], Settings]
    machine: Machine
    welcome: bool = False
    collections: Mapping[str, Collection] = field(default_factory=dict)
    presences: Presences = field(default_factory=NoPresences)
    kinds: Mapping[str, CardKind] = field(default_factory=dict)
    pages: Sequence[ListPage] = ()
    hear_key: HearKey = hear_no_key
