"""The types of a sandbox, and the folders that a command sees inside."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from app.base import resources
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass, field
from app.services.files import places
from app.services.files.safe_open import hold
from app.services.files.survey import WorkspaceSurvey
from app.services.sandbox import read_only_commands

_BROAD = tuple(map(Path, places.table()["workspace"]["broad"]))
_INSIDE_SYSTEM = tuple(map(Path, places.table()["workspace"]["inside"]))


@dataclass(frozen=True, slots=True)
class Rooms:
    """The folders of this machine from which a sandbox is made.

    `own` are Wisp's folders, which are hidden; commands may write to `made`, one of them. Inside, `home` is in place of
    the person's home folder, and `temp` in place of the temporary one. `readable` are further visible folders, and
    `links` are links that are there although their folders are not. `private` is the process's own folder, which it
    may write to.
    """

    workspace: Path
    person_home: Path
    home: Path
    temp: Path
    made: Path
    own: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    links: tuple[Path, ...] = ()
    private: Path | None = None


def table() -> Mapping[str, Any]:
    """Return the table of the sandbox's folders."""
    return resources.table("sandbox/wall.toml", resources.Table)


def too_broad(workspace: Path, person_home: Path) -> str:
    """Return why a command cannot be kept inside this workspace; "" if it can."""
    hidden = [person_home / name for name in places.patterns("secrets", "always").named()]
    contains_home = person_home.is_relative_to(workspace) and workspace != person_home
    is_system = workspace in _BROAD and workspace != person_home
    is_system = is_system or any(workspace.is_relative_to(folder) for folder in _INSIDE_SYSTEM)
    if contains_home or is_system or any(workspace.is_relative_to(folder) for folder in hidden):
        return (
            f"The working folder is {workspace}, and commands cannot be shut in "
            "there. Choose a smaller folder: --workspace FOLDER"
        )
    return ""


def arguments(rooms: Rooms, path_variable: str, *, network: bool) -> Iterator[str]:
    """Yield bubblewrap's arguments for all folders. Later mounts cover earlier ones."""
    yield from _machine(network=network)
    yield from ("--dev", "/dev", "--dir", "/run", "--dir", "/var")
    yield from ("--bind", str(rooms.temp), "/tmp", "--symlink", "/tmp", "/var/tmp")
    if rooms.workspace != rooms.person_home:
        yield from ("--bind", str(rooms.home), str(rooms.person_home))
    seen = _seen(path_variable, rooms)
    for folder in seen:
        yield from ("--ro-bind", str(folder), str(folder))
    system = map(Path, table()["root"]["trees"] + table()["root"]["links"])
    shown = (*system, *seen, rooms.workspace)
    yield from _links(rooms, shown)
    yield from ("--bind", str(rooms.workspace), str(rooms.workspace))


def _links(rooms: Rooms, shown: Sequence[Path]) -> Iterator[str]:
    """Yield the arguments for links that no folder shows. Those of the home folder are made in the one in its place."""
    for link in rooms.links:
        if any(link.is_relative_to(tree) for tree in shown):
            continue
        if not link.is_relative_to(rooms.person_home):
            yield from ("--symlink", str(link.readlink()), str(link))
            continue
        *folders, name = link.relative_to(rooms.person_home).parts
        with suppress(OSError), hold(rooms.home, folders, make=True) as folder:  # because commands write there, too
            if folder.stat(name) is not None:
                folder.unlink(name)
            folder.link(name, link.readlink())


def _seen(path_variable: str, rooms: Rooms) -> list[Path]:
    """The folders outside the workspace that a command may read."""
    return [*_toolchains(rooms), *program_folders(path_variable, rooms), *rooms.readable]


def masks(rooms: Rooms, hidden: Sequence[Path]) -> Iterator[str]:
    """Yield bubblewrap's arguments that hide files. They must follow all that make a part of the workspace visible."""
    for path in hidden:
        yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))
    for folder in (rooms.made, *([rooms.private] if rooms.private else [])):
        yield from ("--bind", str(folder), str(folder))


def program_folders(path_variable: str, rooms: Rooms) -> list[Path]:
    """Return the folders in PATH that are outside the home folder; for a `bin` folder, its parent.

    A link or `..` in PATH is resolved first. System folders that contain more than programs are left out.
    """
    seen = tuple(map(Path, table()["root"]["trees"] + table()["root"]["links"]))
    found: list[Path] = []
    for named in map(Path, path_variable.split(os.pathsep)):
        entry = Path(_really(named)) if named.is_absolute() else named
        is_new = entry.is_absolute() and not any(entry.is_relative_to(folder) for folder in (*seen, *found))
        if is_new and not _is_private(entry, rooms) and not _is_systems(entry) and entry.is_dir():
            tree = entry.parent if entry.name in {"bin", "sbin"} else entry
            found.append(entry if tree in _BROAD or _is_private(tree, rooms) else tree)
    return found


def path_inside(path_variable: str, rooms: Rooms) -> str:
    """Return PATH without the folders that are not visible in the sandbox."""
    trees: list[Path] = [Path(name) for name in table()["root"]["trees"] + table()["root"]["links"]]
    trees += [*_seen(path_variable, rooms), rooms.workspace]
    entries = [entry for entry in path_variable.split(os.pathsep) if entry.startswith("/")]
    seen = (_seen_as(entry, trees) for entry in entries)
    return os.pathsep.join(entry for entry in seen if entry)


def _seen_as(entry: str, trees: Sequence[Path]) -> str:
    """A folder of PATH as it is called in the sandbox; "" if it is not visible there."""
    spellings = (_really(entry),) if ".." in Path(entry).parts else (entry, _really(entry))
    return next((one for one in spellings if any(Path(one).is_relative_to(tree) for tree in trees)), "")


def _really(folder: str | Path) -> str:
    """Without links; "" if that is not possible."""
    try:
        return os.path.realpath(folder)
    except OSError:  # because some links of /proc are for others only
        return ""


def _is_systems(folder: Path) -> bool:
    """True for a system folder with more than programs: keys, sockets, other people's files."""
    return folder in _BROAD or any(folder.is_relative_to(one) for one in _INSIDE_SYSTEM)


def _is_private(folder: Path, rooms: Rooms) -> bool:
    private = (rooms.person_home, rooms.workspace, *rooms.own)
    return any(folder.is_relative_to(one) or one.is_relative_to(folder) for one in private)


@functools.cache
def _machine(*, network: bool) -> tuple[str, ...]:
    """The same for every workspace. Programs installed later are visible too: in /usr."""
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
    """Yield arguments that mount a separate /proc. For root, some parts of it must be covered."""
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
    """Yield arguments that mount the folders above hidden or protected files, so that these cannot be renamed."""
    ways = [parent for path in (*kept, *starting_in(rooms.workspace)) for parent in path.parents]
    inside = {parent for parent in ways if parent != rooms.workspace and parent.is_relative_to(rooms.workspace)}
    for parent in sorted(inside):
        if parent.is_dir() and os.path.realpath(parent) == str(parent):
            yield from ("--bind", str(parent), str(parent))


def hidden_in(rooms: Rooms, found: WorkspaceSurvey) -> list[Path]:
    """Return the paths inside the workspace that commands may not see."""
    seen = places.Patterns(table()["protected"]["seen"])
    private = [*rooms.own, *(path for path in found.secrets if not seen.fit((path.name,)))]
    private += [path for path, kind in found.linked.items() if kind == "secret"]
    inside = (one for one in _existing(private) if one != rooms.workspace and one.is_relative_to(rooms.workspace))
    return sorted(one for one in inside if os.path.realpath(one) == str(one))


def starting_in(workspace: Path) -> list[Path]:
    """Files at the top that start by themselves, except those that builds and git change."""
    made = table()["protected"]["made"]
    return [workspace / name for name in places.patterns("startup", "always").named() if name not in made]


def is_made(path: Path) -> bool:
    """Return whether builds and git often change a start-up file of this name, so that commands may change it."""
    return places.Patterns(table()["protected"]["made"]).fit(path.parts[-2:])


def _existing(candidates: Iterable[Path]) -> Iterator[Path]:
    return (path for path in candidates if path.exists())


@dataclass(frozen=True, slots=True)
class Before:
    """What a workspace contained when a run began.

    `absent` are names of files that would start by themselves but did not exist; `starting` existed, each as
    `inode:path`. All paths are absolute. Without a `workspace` nothing is known, and nothing is renamed later.
    `is_whole`: all folders were checked.
    """

    workspace: str = ""
    absent: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    is_whole: bool = True
    starting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Period:
    """The times of a run, in seconds since 1970, by the clock for file times.

    The turn waited for the run until `watched_until`: files that appeared before are the run's. `is_clock_set_back`:
    file times do not show which was first.
    """

    began: float
    watched_until: float
    ended: float
    is_clock_set_back: bool = False


@dataclass(frozen=True, slots=True)
class SettledRun:
    """What a run left, as paths below the workspace. `set_aside`: its files that were renamed, to their new names.

    `unclear` files appeared later, when the person may have been working too: they are reported, never touched.
    """

    set_aside: Mapping[str, str] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxedCommand:
    """A command in the sandbox. `prefix` comes before its argv; `before` is passed to `Sandbox.settle`.

    `environment` is the whole environment inside. The sandbox writes its first process and network into `info`.
    """

    prefix: Sequence[str]
    environment: Mapping[str, str]
    before: Before = Before()
    info: Path | None = None


class Sandbox(Protocol):
    """Keeps commands inside a workspace."""

    def missing(self) -> str:
        """Return why there is no sandbox here and what to do about it; "" if there is one. Checked once."""
        ...

    def enclose(self, cwd: Path, environment: Mapping[str, str], folder: Path, *, network: bool) -> SandboxedCommand:
        """Prepare a command to run in `cwd`; `folder` is the run's own. If this raises, the command must not run."""
        ...

    def settle(self, folder: Path, before: Before, period: Period) -> SettledRun:
        """Rename files that an ended command left and that would run by themselves. Blocks."""
        ...


class NoWall:
    """The sandbox of a machine that has none. `why` is the sentence shown when the person is asked."""

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
    """What a call needs beyond the workspace. Only the policy or the person can grant it.

    `network` is the internet and servers on this machine; `outside` is everything: no sandbox at all.
    """

    network: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class CommandClass:
    """How a command is judged. `sandboxed`: it will run in the sandbox. `reasons` are whole sentences."""

    read_only: bool
    sandboxed: bool
    wants_network: bool
    wants_outside: bool
    reasons: tuple[Phrase, ...] = ()


def classify(
    command: str, cwd: Path, workspace: Path, wishes: SandboxRequest | None = None, *, no_wall: str = ""
) -> CommandClass:
    """Judge a command in a folder. `no_wall` says why there is no sandbox; "" if there is one.

    `cwd` and `workspace` are resolved here, links included. A folder outside the workspace counts as a request for
    `outside`.
    """
    wishes = wishes or SandboxRequest()
    reasons: list[Phrase] = []
    is_outside = wishes.outside or not _is_within(cwd, workspace)
    if wishes.outside:
        reasons.append(Phrase("It asks to run outside the sandbox, with everything you may do."))
    elif is_outside:
        reasons.append(Phrase("It works in {name}, outside the workspace.", {"name": str(cwd)}))
    if wishes.network:
        reasons.append(Phrase("It asks for the network."))
    if no_wall:
        reasons.append(Phrase(no_wall))
    if objection := _objection(command, cwd, workspace):
        reasons.append(Phrase("Wisp cannot tell whether it changes something: {why}.", {"why": objection}))
    return CommandClass(
        read_only=not objection,
        sandboxed=not no_wall and not is_outside,
        wants_network=wishes.network,
        wants_outside=is_outside,
        reasons=tuple(reasons),
    )


def _objection(command: str, cwd: Path, workspace: Path) -> Phrase | None:
    try:
        return read_only_commands.objection(command, cwd.resolve(), workspace.resolve())
    except (OSError, RuntimeError, ValueError):  # because a link loop or a missing folder has no real path
        return Phrase("its folder cannot be found")


def _is_within(cwd: Path, workspace: Path) -> bool:
    """False if this cannot be found out."""
    try:
        return cwd.resolve().is_relative_to(workspace.resolve())
    except (OSError, RuntimeError, ValueError):  # because a link loop or a missing folder has no real path
        return False
