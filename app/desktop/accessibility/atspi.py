"""The screen as AT-SPI tells it. Every look reads the programs anew; only refs are remembered between looks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point
from app.desktop.accessibility import acting, matching
from app.desktop.accessibility.bus import Bus
from app.desktop.accessibility.nodes import Node, Program
from app.desktop.accessibility.reading import Reader
from app.desktop.accessibility.refs import RefBook
from app.desktop.accessibility.words import readings, roles_called
from app.desktop.elements import Element, Match, Outline, OutlineRequest

_CLEAR = 0.97
"""From this score on, a match in the active window is what was meant; other programs need not be asked."""
_ELSEWHERE = 0.98
"""A match outside the active window counts that much: of two equal names the active window's is meant."""

_Found = tuple[float, Program, Node, Node]


class AtSpi:
    """Implements `Accessibility`. Nothing is connected before the first look; all methods run on one event loop."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._bus = Bus(os.environ if environment is None else environment)
        self._reader = Reader(self._bus)
        self._refs = RefBook()
        self._silent: tuple[str, ...] = ()

    async def find(self, query: str, *, role: str = "", limit: int = 8) -> tuple[Match, ...]:
        ways = readings(query)
        roles = roles_called(role)
        found: list[_Found] = []
        async for program in self._looked_at():
            share = 1.0 if program.is_active else _ELSEWHERE
            for window, node in program.walk():
                if (not roles or node.role in roles) and (fit := matching.score(node, ways)):
                    found.append((fit * share, program, window, node))
            if program.is_active and any(fit >= _CLEAR for fit, *_ in found):
                break
        best = _without_echoes(sorted(found, key=lambda match: -match[0]))[:limit]
        await self._reader.fill([node for *_, node in best])
        return tuple(
            Match(self._refs.element(program, window, node), fit)
            for fit, program, window, node in best
            if node.box is not None and node.box.size.area > 0
        )

    async def at(self, point: Point) -> Element | None:
        async for program in self._looked_at():
            nodes = list(program.walk())
            await self._reader.fill([node for _, node in nodes])
            under = [(window, node) for window, node in nodes if node.box and node.box.contains(point)]
            if under:
                window, node = min(reversed(under), key=lambda pair: pair[1].box.size.area if pair[1].box else 0)
                return self._refs.element(program, window, node)
        return None

    async def focused(self) -> Element | None:
        programs = await self._programs()
        for program in programs:
            if program.is_active:
                await self._reader.grow(program)
                holders = [pair for pair in program.walk() if pair[0].has("active") and pair[1].has("focused")]
                for window, node in reversed(holders):
                    await self._reader.fill([node])
                    return self._refs.element(program, window, node)
        return None

    async def outline(self, request: OutlineRequest) -> Outline:
        lines: list[str] = []
        elements: list[Element] = []
        async for program in self._looked_at():
            pairs = list(program.walk())
            await self._reader.fill([node for _, node in pairs])
            for window, node in pairs:
                element = self._refs.element(program, window, node)
                elements.append(element)
                lines.append(f"{element.ref} {element.role} {clip_line(element.name, 80)!r}")
        return Outline("\n".join(lines[: request.budget]), tuple(elements), silent=self._silent)

    async def element(self, ref: str) -> Element:
        seen = self._refs.last_seen(ref)
        if seen is None:
            raise ToolMisuse(f"There is no element {ref!r}. Refs come from read_screen; read the screen again.")
        key, before = seen
        now = await self._reader.again(key)
        if now is None:
            raise ToolFailed(await self._gone(before))
        return self._refs.renewed(ref, now)

    async def press(self, ref: str) -> str:
        element, seen = await self.element(ref), self._refs.last_seen(ref)
        assert seen is not None
        if not element.is_("sensitive"):
            raise ToolFailed(f"{ref} ({element.role} {element.name!r}) is greyed out. Something else must come first.")
        return await acting.press(self._bus, seen[0], element)

    async def set_value(self, ref: str, text: str) -> str:
        element, seen = await self.element(ref), self._refs.last_seen(ref)
        assert seen is not None
        await acting.set_value(self._bus, seen[0], element, text)
        return await self.text_of(ref)

    async def text_of(self, ref: str) -> str:
        element, seen = await self.element(ref), self._refs.last_seen(ref)
        assert seen is not None
        return await acting.whole_text(self._bus, seen[0], element)

    async def silent(self) -> tuple[str, ...]:
        return self._silent

    async def close(self) -> None:
        await self._bus.close()

    async def _programs(self) -> list[Program]:
        """Programs on the bus, the active one first."""
        programs = sorted(await self._reader.programs(), key=lambda program: not program.is_active)
        self._silent = tuple(program.name for program in programs if program.is_silent)
        return programs

    async def _looked_at(self) -> AsyncIterator[Program]:
        """Programs with their trees: the active one first and alone, then the others, read at once."""
        programs = await self._programs()
        for program in programs[:1]:
            await self._reader.grow(program)
            yield program
        await asyncio.gather(*(self._reader.grow(program) for program in programs[1:]))
        for program in programs[1:]:
            yield program

    async def _gone(self, before: Element) -> str:
        near = await self.find(before.name or before.role, limit=3) if before.name or before.role else ()
        said = f"{before.ref} ({before.role} {clip_line(before.name, 60)!r}) is no longer on the screen."
        if not near:
            return f"{said} Read the screen again."
        return f"{said} Nearest now: {', '.join(_named(match.element) for match in near)}."


def _named(element: Element) -> str:
    return f"{element.ref} {element.role} {clip_line(element.name, 60)!r}"


def _without_echoes(found: Sequence[_Found]) -> list[_Found]:
    """Leave out texts that only repeat the control they stand in, and controls nested in one of the same name."""
    kept: list[_Found] = []
    nodes: set[int] = set()
    for match in found:
        node = match[-1]
        if not any(id(above) in nodes and above.is_operable for above in node.ancestors()):
            kept.append(match)
            nodes.add(id(node))
    return kept
