"""What an ability adds to Wisp. Wisp's own features and those of other people's packages implement the same interface.

A feature is an object of a class that derives from `Feature` and overrides what it adds; everything else adds nothing.
`open` makes the part that one conversation uses. Heavy modules are imported inside the methods, because every start of
Wisp makes all features.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from app.base.values import dataclass, field

if TYPE_CHECKING:
    from app.agent.agent_events import AgentEvent, ApprovalWanted, TurnEnded
    from app.agent.deps import SessionDeps
    from app.agent.gate import ApprovalAnswer, AsksPerson
    from app.agent.guest import Guest
    from app.agent.recording import PastWords
    from app.agent.session import Session
    from app.base.clock import Clock
    from app.base.findings import Finding
    from app.base.phrases import Phrase
    from app.base.remains import Remains
    from app.desktop.capture import Capture
    from app.desktop.desktop import Desktop
    from app.protocol.call import Block, Media, ToolResult
    from app.providers.api import Provider
    from app.services.files.changes import Changes
    from app.services.files.places import Workspace
    from app.services.processes.commands import Processes
    from app.settings.catalog import AnySetting
    from app.settings.store import Settings
    from app.tools.edit import Undoable
    from app.tools.registry import Family, Registry
    from app.ui.cards.kinds import CardKind
    from app.ui.machine import ListPage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Room:
    """What a conversation offers to its features.

    `offered(kind)` returns what another feature offers under that type, or None: ask when it is used, because features
    are opened one after the other. `has_screen` is False where nothing really happens on the desktop.
    """

    desktop: Desktop
    workspace: Workspace
    changes: Changes
    processes: Processes
    clock: Clock
    past: PastWords
    now: Callable[[], Settings]
    key_of: Callable[[str], str]
    has_screen: bool
    offered: Callable[[type[Any]], Any]


async def _no_reminder(_said: str) -> Mapping[str, str]:
    return {}


async def _no_command(_text: str) -> str:
    return ""


async def _nothing_to_close() -> None:
    return


class Around(Protocol):
    """Returns the provider, or one around it. `is_native`: the session begins with declared tools."""

    def __call__(self, provider: Provider, /, *, is_native: bool) -> Provider: ...


def _unchanged(provider: Provider, /, *, is_native: bool) -> Provider:  # noqa: ARG001 - as Around is called
    return provider


def _nothing_taken_back(_turn: str) -> Sequence[str]:
    return ()


def _ignored(*_given: object) -> None:
    return


@dataclass(frozen=True, slots=True)
class OpenFeature:
    """The part of a feature that one conversation uses.

    `handlers` run its tools, one for each family. `offers` are objects that the core and other features may use, by a
    type that the core declares. `remind` returns texts for the next pass of the model, by heading; it is given what the
    person wrote. `expand` returns the text behind a command such as `/server:prompt`, "" for other words, and
    `completions` the beginnings of such commands; the latter blocks. `untaught` returns the names of tools that are of
    no use now. `around` returns the provider, or one around it. `begin` is given the session; `present` begins what
    only a conversation with a presence needs; `hear` is given each event. `take_back` undoes what a turn changed in
    other places than files, and returns a sentence for each; it blocks. `close` is the last call.
    """

    handlers: Sequence[object] = ()
    offers: Mapping[type[Any], object] = field(default_factory=dict)
    remind: Callable[[str], Awaitable[Mapping[str, str]]] = _no_reminder
    expand: Callable[[str], Awaitable[str]] = _no_command
    completions: Callable[[], Sequence[str]] = tuple
    untaught: Callable[[], Collection[str]] = tuple
    around: Around = _unchanged
    begin: Callable[[Session, SessionDeps], None] = _ignored
    present: Callable[[], None] = _ignored
    hear: Callable[[AgentEvent], None] = _ignored
    take_back: Callable[[str], Sequence[str]] = _nothing_taken_back
    close: Callable[[], Awaitable[None]] = _nothing_to_close


class CommandModule(Protocol):
    """A command of `wisp`. `run` returns the exit code. `options.assemble` makes an assistant (`Assemble`)."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None: ...

    def run(self, options: argparse.Namespace, /) -> int: ...


class Unattended(Protocol):
    """An assistant that nobody watches. A call that needs an approval is refused."""

    @property
    def registry(self) -> Registry: ...

    def subscribe(self, listener: Callable[[AgentEvent], None], /) -> Callable[[], None]: ...

    def stop(self) -> None: ...

    def resume(self) -> None: ...

    async def send(self, text: str, /, *, own: str = "", read_before: tuple[str, ...] | None = None) -> TurnEnded: ...

    async def picture(self) -> Media: ...

    async def capture(self) -> Capture: ...

    async def worked_off(self) -> None: ...

    async def run(self, block: Block, /) -> ToolResult: ...

    def guest(self, name: str, approvals: AsksPerson, /) -> Guest: ...


class Assemble(Protocol):
    """Makes an unattended assistant, and closes it at the end. `allowed` names what it may do without asking.

    `is_own_desktop`: the display is a virtual one of Wisp's own.
    """

    def __call__(
        self, settings: Settings, /, *, allowed: Sequence[str] = (), is_own_desktop: bool = False
    ) -> AbstractAsyncContextManager[Unattended]: ...


class Tell(Protocol):
    """Shows the person a sentence. `level` is info, warning or error; `beside`: beside the orb, as a reminder is."""

    def __call__(self, level: str, sentence: str, /, *, beside: bool = False) -> None: ...


class AskPerson(Protocol):
    """Asks the person in the presence, as for a call of a turn, and waits for the answer.

    Cancelling it withdraws the question. Without an assistant in the presence, the answer is a refusal.
    """

    async def __call__(self, wanted: ApprovalWanted, /) -> ApprovalAnswer: ...


class Feature:
    """What one ability adds to Wisp.

    `name` is its name in `features.off`, `about` says in a few words what it is for. `commands` are the names of its
    commands, each with a line about it. `settings` are its settings. `words` is the folder with its words, laid out as
    `resources`: `languages/en/tools.toml` for its tools, `offline/en.yaml`, `acts.toml` and `phrases.toml` for its
    sentences.
    """

    name: ClassVar[str]
    about: ClassVar[Phrase]
    commands: ClassVar[Mapping[str, str]] = {}
    settings: ClassVar[Sequence[AnySetting]] = ()
    words: ClassVar[Path | None] = None

    def families(self) -> Sequence[Family]:
        """Return its tools."""
        return ()

    def open(self, room: Room, /) -> OpenFeature:
        """Return the part for a conversation. Its handlers must be those of `families`."""
        return OpenFeature()

    def command(self, name: str, /) -> CommandModule:
        """Return one of its commands: the module `command` of its package, or the one with the command's own name.

        A command may have two words, such as `mcp serve`; its own name is then the second.
        """
        package = type(self).__module__
        own = "command" if name == next(iter(self.commands)) else name.rsplit(maxsplit=1)[-1].replace("-", "_")
        module: Any = importlib.import_module(f"{package}.{own}")
        return module  # type: ignore[no-any-return]

    def collections(self) -> Sequence[ListPage]:
        """Return its pages, which list stored things."""
        return ()

    def cards(self) -> Mapping[str, CardKind]:
        """Return its kinds of cards, by the names that the words of tools have for them (`kind`)."""
        return {}

    def checks(self) -> Sequence[Callable[[], Finding]]:
        """Return its checks for `wisp doctor`. Each blocks, and raises nothing."""
        return ()

    def undoables(self, *, has_screen: bool) -> Sequence[Undoable]:
        """Return what can undo its changes of other things than files."""
        return ()

    def unready(self) -> Collection[str]:
        """Return the names of its tools that need something that the person has not set up. Blocks."""
        return ()

    def named(self) -> Sequence[tuple[str, str]]:
        """Return the ids and names of things of its own that a sentence such as “open NAME” may mean. Blocks."""
        return ()

    def remains(self) -> Sequence[Remains]:
        """Return what it has put on this computer outside of Wisp's own folders. Blocks."""
        return ()

    async def accompany(self, tell: Tell, ask: AskPerson, /) -> None:
        """Run while the presence runs. It is cancelled at the end."""
