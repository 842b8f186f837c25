"""Sandboxes for commands: what one is, and which folders a command sees inside."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from app.base import resources
from app.base.errors import ToolFailed
from app.base.values import dataclass, field
from app.services.files import places
from app.services.files.survey import WorkspaceSurvey
from app.services.sandbox import read_only_commands

_BROAD = tuple(map(Path, places.table()["workspace"]["broad"]))
_INSIDE_SYSTEM = tuple(map(Path, places.table()["workspace"]["inside"]))


@dataclass(frozen=True, slots=True)
class Rooms:
    """The folders of the machine that a layout is made of.

    `own` are Wisp's folders, hidden; `made` is the one of them that commands may write to; `home` stands in for the
    person's home folder, `temp` for the temporary one. `readable` are further folders that are seen.
    """

    workspace: Path
    person_home: Path
    home: Path
    temp: Path
    made: Path
    own: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()


def table() -> Mapping[str, Any]:
    """The lists, as they are written."""
    return resources.table("sandbox/wall.toml", resources.Table)


def too_broad(workspace: Path, person_home: Path) -> str:
    """Why a command cannot be kept inside this workspace; empty where it can."""
    hidden = [person_home / name for name in places.patterns("secrets", "always").named()]
    contains_home = person_home.is_relative_to(workspace) and workspace != person_home
    is_system = workspace in _BROAD and workspace != person_home
    is_system = is_system or any(workspace.is_relative_to(folder) for folder in _INSIDE_SYSTEM)
    if contains_home or is_system or any(workspace.is_relative_to(folder) for folder in hidden):
        return f"The workspace is {workspace}, and no command can be kept inside that: choose a folder of its own."
    return ""


def arguments(rooms: Rooms, path_variable: str, *, network: bool) -> Iterator[str]:
    """bubblewrap's arguments for the machine around the workspace; later ones lie on top of earlier ones."""
    yield from _machine(network=network)
    yield from ("--dev", "/dev", "--dir", "/run", "--dir", "/var")
    yield from ("--bind", str(rooms.temp), "/tmp", "--symlink", "/tmp", "/var/tmp")
    if rooms.workspace != rooms.person_home:
        yield from ("--bind", str(rooms.home), str(rooms.person_home))
    for folder in (*_toolchains(rooms), *program_folders(path_variable, rooms), *rooms.readable):
        yield from ("--ro-bind", str(folder), str(folder))
    yield from ("--bind", str(rooms.workspace), str(rooms.workspace))


def masks(rooms: Rooms, hidden: Sequence[Path]) -> Iterator[str]:
    """bubblewrap's arguments for what is hidden, to follow all that shows a part of the workspace."""
    for path in hidden:
        yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))
    yield from ("--bind", str(rooms.made), str(rooms.made))


def program_folders(path_variable: str, rooms: Rooms) -> list[Path]:
    """Folders outside the home folder that PATH leads to, with what lies beside their `bin`."""
    seen = tuple(map(Path, table()["root"]["trees"] + table()["root"]["links"]))
    found: list[Path] = []
    for entry in map(Path, path_variable.split(os.pathsep)):
        is_new = entry.is_absolute() and not any(entry.is_relative_to(folder) for folder in (*seen, *found))
        if is_new and not _is_private(entry, rooms) and entry.is_dir():
            tree = entry.parent if entry.name in {"bin", "sbin"} else entry
            found.append(entry if tree in _BROAD or _is_private(tree, rooms) else tree)
    return found


def path_inside(path_variable: str, rooms: Rooms) -> str:
    """PATH without what is not seen inside."""
    trees: list[Path] = [Path(name) for name in table()["root"]["trees"] + table()["root"]["links"]]
    trees += [*_toolchains(rooms), *program_folders(path_variable, rooms), *rooms.readable, rooms.workspace]
    entries = [entry for entry in path_variable.split(os.pathsep) if entry.startswith("/")]
    return os.pathsep.join(entry for entry in entries if any(Path(entry).is_relative_to(tree) for tree in trees))


def _is_private(folder: Path, rooms: Rooms) -> bool:
    private = (rooms.person_home, rooms.workspace, *rooms.own)
    return any(folder.is_relative_to(one) or one.is_relative_to(folder) for one in private)


@functools.cache
def _machine(*, network: bool) -> tuple[str, ...]:
    """What is the same for every workspace; a program installed meanwhile is in /usr, which is there as it is."""
    return (*_system(network=network), *_processes())


def _system(*, network: bool) -> Iterator[str]:
    root = table()["root"]
    for tree in _existing(Path(name) for name in root["trees"]):
        yield from ("--ro-bind", str(tree), str(tree))
    for link in _existing(Path(name) for name in root["links"]):
        yield from (
            ("--symlink", str(link.readlink()), str(link)) if link.is_symlink() else ("--ro-bind", str(link), str(link))
        )
    for entry in _existing(Path("/etc", name) for name in root["etc"]):
        yield from ("--ro-bind", str(entry), str(entry))
    resolver = Path("/etc/resolv.conf")
    if network and resolver.exists():
        yield from ("--ro-bind", str(resolver.resolve()), str(resolver))


def _processes() -> Iterator[str]:
    """A /proc of its own. For root bubblewrap leaves parts of it open that belong to the whole machine."""
    yield from ("--proc", "/proc")
    if getattr(os, "geteuid", int)() != 0:
        return
    for entry in _existing(Path("/proc", name) for name in table()["root"]["proc_fixed"]):
        yield from ("--ro-bind", str(entry), str(entry))
    for entry in _existing(Path("/proc", name) for name in table()["root"]["proc_hidden"]):
        yield from ("--ro-bind", "/dev/null", str(entry))


def _toolchains(rooms: Rooms) -> list[Path]:
    if rooms.workspace == rooms.person_home:
        return []
    return list(_existing(rooms.person_home / name for name in table()["home"]["toolchains"]))


def parents(rooms: Rooms, kept: Iterable[Path]) -> Iterator[str]:
    """Bind the folders on the way to what is hidden or protected, so that they cannot be renamed."""
    ways = [parent for path in (*kept, *starting_in(rooms.workspace)) for parent in path.parents]
    inside = {parent for parent in ways if parent != rooms.workspace and parent.is_relative_to(rooms.workspace)}
    for parent in sorted(inside):
        if parent.is_dir() and os.path.realpath(parent) == str(parent):
            yield from ("--bind", str(parent), str(parent))


def hidden_in(rooms: Rooms, found: WorkspaceSurvey) -> list[Path]:
    """What lies inside the workspace and is kept from commands all the same."""
    seen = places.Patterns(table()["protected"]["seen"])
    private = [*rooms.own, *(path for path in found.secrets if not seen.fit((path.name,)))]
    private += [path for path, kind in found.linked.items() if kind == "secret"]
    inside = (one for one in _existing(private) if one != rooms.workspace and one.is_relative_to(rooms.workspace))
    return sorted(one for one in inside if os.path.realpath(one) == str(one))


def starting_in(workspace: Path) -> list[Path]:
    """What may stand at the top of this workspace and starts by itself, without what builds and git change."""
    made = table()["protected"]["made"]
    return [workspace / name for name in places.patterns("startup", "always").named() if name not in made]


def is_made(path: Path) -> bool:
    """Whether builds and git make and change a start-up file of that name all the time."""
    return places.Patterns(table()["protected"]["made"]).fit(path.parts[-2:])


def _existing(candidates: Iterable[Path]) -> Iterator[Path]:
    return (path for path in candidates if path.exists())


@dataclass(frozen=True, slots=True)
class Before:
    """What a workspace held when a run began: its repositories, and which names that run by themselves were `absent`.

    All are absolute paths; `starting` were there, each as `inode:path`.
    Without a `workspace` nothing is known, and nothing is touched later. `is_whole`: all
    folders that may hold a repository were looked at.
    """

    workspace: str = ""
    absent: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    is_whole: bool = True
    starting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Period:
    """Seconds since 1970. Up to `watched_until` the turn waited for the run: what appeared by then is the run's own."""

    began: float
    watched_until: float
    ended: float


@dataclass(frozen=True, slots=True)
class SettledRun:
    """Paths below the workspace. `set_aside` maps what the run made to its name now.

    `unclear` appeared later, while the person may have worked there too: it is named, never touched.
    """

    set_aside: Mapping[str, str] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxedCommand:
    """`prefix` comes before the command's argv; `environment` is all it finds; `before` is for `Sandbox.settle`.

    In `info` the sandbox writes its first process and its network, as bubblewrap's --info-fd does.
    """

    prefix: Sequence[str]
    environment: Mapping[str, str]
    before: Before = Before()
    info: Path | None = None


class Sandbox(Protocol):
    """Keeps commands inside a workspace."""

    def missing(self) -> str:
        """Why there is no wall here and what to do about it, in sentences; empty where it stands. Asked once."""
        ...

    def enclose(self, cwd: Path, environment: Mapping[str, str], folder: Path, *, network: bool) -> SandboxedCommand:
        """For a command in `cwd`; `folder` is its run's own. Raises ToolFailed, ToolMisuse: then nothing may run."""
        ...

    def settle(self, folder: Path, before: Before, period: Period) -> SettledRun:
        """After the command's end: set aside what it left that could run by itself. Blocks."""
        ...


class NoWall:
    """The sandbox of a machine that has none. `why` is the sentence that the approval shows."""

    def __init__(self, why: str) -> None:
        self._why = why

    def missing(self) -> str:
        return self._why

    def enclose(self, _cwd: Path, _environment: Mapping[str, str], _folder: Path, *, network: bool) -> SandboxedCommand:  # noqa: ARG002
        raise ToolFailed(self._why)

    def settle(self, _folder: Path, _before: Before, _period: Period) -> SettledRun:
        return SettledRun()


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """What a call asks for beyond the workspace. A wish is only ever granted by the policy or the person.

    `network` is the internet and what listens on this machine; `outside` is everything: no wall at all.
    """

    network: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class CommandClass:
    """`sandboxed`: it will run behind the wall. `reasons` says, in whole sentences, why it is no more harmless."""

    read_only: bool
    sandboxed: bool
    wants_network: bool
    wants_outside: bool
    reasons: tuple[str, ...] = ()


def classify(
    command: str, cwd: Path, workspace: Path, wishes: SandboxRequest | None = None, *, no_wall: str = ""
) -> CommandClass:
    """Of a command in a folder. `no_wall` is the sentence that says why there is no wall here, empty where one stands.

    `cwd` and `workspace` are resolved here, links included. A folder outside the workspace is a wish for the outside.
    """
    wishes = wishes or SandboxRequest()
    reasons = []
    is_outside = wishes.outside or not _is_within(cwd, workspace)
    if wishes.outside:
        reasons.append("It asks to run outside the sandbox, with everything you may do.")
    elif is_outside:
        reasons.append(f"It works in {cwd}, outside the workspace.")
    if wishes.network:
        reasons.append("It asks for the network.")
    if no_wall:
        reasons.append(no_wall)
    if objection := _objection(command, cwd, workspace):
        reasons.append(f"It may do more than look: {objection}.")
    return CommandClass(
        read_only=not objection,
        sandboxed=not no_wall and not is_outside,
        wants_network=wishes.network,
        wants_outside=is_outside,
        reasons=tuple(reasons),
    )


def _objection(command: str, cwd: Path, workspace: Path) -> str:
    try:
        return read_only_commands.objection(command, cwd.resolve(), workspace.resolve())
    except (OSError, RuntimeError, ValueError):  # because a link loop or a missing folder has no real path
        return "its folder cannot be found"


def _is_within(cwd: Path, workspace: Path) -> bool:
    """Unsure means no."""
    try:
        return cwd.resolve().is_relative_to(workspace.resolve())
    except (OSError, RuntimeError, ValueError):  # because a link loop or a missing folder has no real path
        return False
