"""The seam between commands and the wall around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app.base.errors import ToolFailed
from app.base.values import dataclass, field
from app.services.sandbox import read_only_commands


@dataclass(frozen=True, slots=True)
class Before:
    """What a workspace held when a run began: its repositories, and which names that run by themselves were `absent`.

    All are absolute paths. Without a `workspace` nothing is known, and nothing is touched later.
    """

    workspace: str = ""
    absent: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


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
