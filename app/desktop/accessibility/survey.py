"""Who is on the bus and which of their windows show: the first round of every look.

All programs are asked at once; the one with the keyboard is served as soon as it has answered, so that a program that
hangs costs nothing to somebody who looks for a thing in front of him.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, BusLost, CallRefused
from app.desktop.accessibility.nodes import PROGRAM_LIMIT_S, Node, Program

_SILENT_BEFORE_S = 0.15
"""What a program may cost that did not answer at the last look."""
_DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus")


class Look:
    """One look at all programs."""

    def __init__(self, surveys: list[asyncio.Task[Program]]) -> None:
        self._surveys = surveys

    async def active(self) -> Program | None:
        """The program whose window has the keyboard; None when all have answered and none has it."""
        for survey in asyncio.as_completed(self._surveys):
            program = await survey
            if program.is_active:
                return program
        return None

    async def programs(self, then: Callable[[Program], Awaitable[None]]) -> list[Program]:
        """All of them, the active one first; `then` is done with each as soon as it has answered."""

        async def one(survey: asyncio.Task[Program]) -> Program:
            program = await survey
            await then(program)
            return program

        found = await asyncio.gather(*(one(survey) for survey in self._surveys))
        return sorted(found, key=lambda program: not program.is_active)


class Surveyor:
    """Remembers who is who and who was silent. The `own` processes (each Wisp's) and windows that `is_private` are left
    out.
    """

    def __init__(
        self, bus: Bus, is_private: Callable[[Program, Node], bool], own: Callable[[], Collection[int]]
    ) -> None:
        self._bus = bus
        self._own = own
        self._is_private = is_private
        self._known: dict[str, tuple[str, int]] = {}
        self._pids: dict[str, int] = {}
        self.silent: dict[str, str] = {}
        """Bus names and names of the programs that did not answer when they were last asked."""

    @asynccontextmanager
    async def look(self, pid: int = 0, patience_s: float = 0.0) -> AsyncIterator[Look]:
        """Look at all programs; with `pid` only at that one, where it is on the bus, and for as long as `patience_s`.

        Raises BusLost. Leaving it early cancels the questions that are still open.
        """
        pids = await self._programs()
        self.silent = {name: told for name, told in self.silent.items() if name in pids}
        own = [name for name in pids if pid and pids[name] == pid]
        surveys = [asyncio.create_task(self._survey(name, patience_s if own else 0.0)) for name in own or pids]
        try:
            yield Look(surveys)
        finally:
            for survey in surveys:
                survey.cancel()
            await asyncio.gather(*surveys, return_exceptions=True)

    def names_of(self, pid: int) -> list[str]:
        """The bus names of a process, of those that were there at the last look."""
        return [name for name, known in self._pids.items() if pid and known == pid]

    async def of_process(self, pid: int) -> frozenset[str]:
        """The bus names of a process. Raises BusLost."""
        return frozenset([name for name, known in (await self._programs()).items() if known == pid])

    async def _programs(self) -> dict[str, int]:
        try:
            await self._bus.connect()
            async with asyncio.timeout(PROGRAM_LIMIT_S):
                children = await objects.children(self._bus, (spi.REGISTRY, spi.ROOT))
                names = list(dict.fromkeys(bus_name for bus_name, _ in children))
                pids = await asyncio.gather(*(self._pid(name) for name in names))
                self._pids = dict(zip(names, pids, strict=True))
        except TimeoutError as late:
            await self._bus.close()
            raise BusLost(f"no answer in {PROGRAM_LIMIT_S:g} s") from late
        except CallRefused as refused:
            raise BusLost(str(refused)) from refused
        own = self._own()
        return {name: pid for name, pid in zip(names, pids, strict=True) if pid not in own}

    async def _survey(self, bus_name: str, patience_s: float = 0.0) -> Program:
        program = Program(bus_name)
        if patience_s:
            program.left_s = patience_s
        elif bus_name in self.silent:
            program.left_s = _SILENT_BEFORE_S
        try:
            async with program.limited():
                program.name, program.pid = await self._identity(bus_name)
                windows = await objects.children(self._bus, (bus_name, spi.ROOT))
                named = await objects.named(self._bus, windows, None)
                program.windows = [window for window in named if not self._is_private(program, window)]
        except TimeoutError:
            await self._note_silence(program)
        except CallRefused:
            program.windows = []
        else:
            self.silent.pop(bus_name, None)
            program.left_s = max(program.left_s, PROGRAM_LIMIT_S - _SILENT_BEFORE_S)
        return program

    async def _note_silence(self, program: Program) -> None:
        """A program that does not answer is still named: as before, or by what the kernel calls it."""
        program.is_silent = True
        if not program.name:
            program.pid = await self._pid(program.bus_name)
            program.name = _name_by_kernel(program.pid) or program.bus_name
        self.silent[program.bus_name] = program.name

    async def _identity(self, bus_name: str) -> tuple[str, int]:
        known = self._known.get(bus_name)
        if known is None:
            name = str(await self._bus.get(bus_name, spi.ROOT, spi.ACCESSIBLE, "Name"))
            known = self._known[bus_name] = name, await self._pid(bus_name)
            kit, version = await self._toolkit(bus_name)
            if kit == "gtk" and version.startswith("4"):
                self._bus.vague.add(bus_name)
            if kit in spi.HIT_TESTING:
                self._bus.hit_testing.add(bus_name)
        return known

    async def _toolkit(self, bus_name: str) -> tuple[str, str]:
        try:
            kit = await self._bus.get(bus_name, spi.ROOT, spi.APPLICATION, "ToolkitName")
            version = await self._bus.get(bus_name, spi.ROOT, spi.APPLICATION, "Version")
        except CallRefused:
            return "", ""
        return str(kit).casefold(), str(version)

    async def _pid(self, bus_name: str) -> int:
        if bus_name in self._pids:
            return self._pids[bus_name]
        try:
            return int((await self._bus.call(*_DAEMON, _DAEMON[0], "GetConnectionUnixProcessID", "s", bus_name))[0])
        except CallRefused:
            return 0


def _name_by_kernel(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
