"""The seam between commands and the wall around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Enclosure:
    """`prefix` comes before the command's argv; `environment` is all it finds; `watched` is for `Wall.settle`."""

    prefix: Sequence[str]
    environment: Mapping[str, str]
    watched: Sequence[str] = ()


class Wall(Protocol):
    """Keeps commands inside a workspace."""

    def missing(self) -> str:
        """Why there is no wall here and what to do about it, in sentences; empty where it stands. Asked once."""
        ...

    def enclose(self, cwd: Path, environment: Mapping[str, str], folder: Path, *, network: bool) -> Enclosure:
        """For a command in `cwd`; `folder` is its run's own. Raises ToolFailed, ToolMisuse: then nothing may run."""
        ...

    def settle(self, folder: Path, watched: Sequence[str]) -> list[str]:
        """After the command's end: what it left that could run by itself, by the paths that were set aside. Blocks."""
        ...
