"""What the presence asks about this machine and its models; the rest of the program answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from app.base.values import dataclass
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
    person is to be welcomed."""

    reload: Callable[[], Settings]
    machine: Machine
    welcome: bool = False
