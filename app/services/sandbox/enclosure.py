"""The seam between commands and the wall around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


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
class Settled:
    """Paths below the workspace. `set_aside` maps what the run made to its name now.

    `unclear` appeared later, while the person may have worked there too: it is named, never touched.
    """

    set_aside: Mapping[str, str] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enclosure:
    """`prefix` comes before the command's argv; `environment` is all it finds; `before` is for `Wall.settle`."""

    prefix: Sequence[str]
    environment: Mapping[str, str]
    before: Before = Before()


class Wall(Protocol):
    """Keeps commands inside a workspace."""

    def missing(self) -> str:
        """Why there is no wall here and what to do about it, in sentences; empty where it stands. Asked once."""
        ...

    def enclose(self, cwd: Path, environment: Mapping[str, str], folder: Path, *, network: bool) -> Enclosure:
        """For a command in `cwd`; `folder` is its run's own. Raises ToolFailed, ToolMisuse: then nothing may run."""
        ...

    def settle(self, folder: Path, before: Before, period: Period) -> Settled:
        """After the command's end: set aside what it left that could run by itself. Blocks."""
        ...
