"""Reading programs: who is there, which windows show, and what is in them, in as few round trips as they allow.

GTK 3 hands out its whole tree in one `Cache.GetItems`. Qt, GTK 4 and Chromium do not; theirs is read level by level,
all calls of a level on the wire at once, and only below what shows. Boxes, texts and values are asked for last, and
only for nodes somebody wants to know about.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import Key, Node, Program, role_of, states_of

PROGRAM_LIMIT_S = 0.5
_SILENT_LIMIT_S = 0.1
_SURVEY_LIMIT_S = 0.3
_VALUE_CHARACTERS = 200
_NODE_LIMIT = 6000
_T = TypeVar("_T")


class Reader:
    """Reads through one bus. A program costs at most half a second, one that was silent before a tenth."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._known: dict[str, tuple[str, int]] = {}
        self._silent: set[str] = set()

    async def programs(self) -> list[Program]:
        """All programs with their showing windows; nothing inside the windows yet. Raises BusLost."""
        await self._bus.connect()
        async with asyncio.timeout(PROGRAM_LIMIT_S):
            children = (await self._bus.call(spi.REGISTRY, spi.ROOT, spi.ACCESSIBLE, "GetChildren"))[0]
        names = list(dict.fromkeys(bus_name for bus_name, _ in children))
        found = await asyncio.gather(*(self._survey(name) for name in names))
        self._silent &= set(names)
        return [program for program in found if program.pid != os.getpid()]

    async def grow(self, program: Program) -> None:
        """Read what is inside the program's windows. Marks the program when it is slow."""
        if program.is_read or program.is_silent or not program.windows:
            return
        program.is_read = True
        try:
            async with asyncio.timeout(PROGRAM_LIMIT_S - _SURVEY_LIMIT_S + _SILENT_LIMIT_S):
                if not await self._grow_from_cache(program):
                    await self._grow_by_level(program.windows)
                await self._label(program)
        except TimeoutError:
            program.is_cut = True

    async def fill(self, nodes: Sequence[Node]) -> None:
        """Ask for box and value of nodes; what does not answer keeps an empty box. At most the limit."""
        try:
            async with asyncio.timeout(PROGRAM_LIMIT_S):
                await asyncio.gather(*(self._fill(node) for node in nodes if node.box is None))
        except TimeoutError:
            return

    async def again(self, key: Key) -> Node | None:
        """One object as it is now; None when it is gone or no longer shows. Raises ToolFailed when nobody answers."""
        try:
            async with asyncio.timeout(PROGRAM_LIMIT_S):
                node = await self._stated(key, None)
                if not node.shows:
                    return None
                await self._name(node)
                await self._fill(node)
        except CallRefused:
            return None
        except TimeoutError as late:
            raise ToolFailed(f"The program does not answer within {PROGRAM_LIMIT_S:g} s.", transient=True) from late
        return node

    async def _survey(self, bus_name: str) -> Program:
        program = Program(bus_name)
        limit = _SILENT_LIMIT_S if bus_name in self._silent else _SURVEY_LIMIT_S
        try:
            async with asyncio.timeout(limit):
                program.name, program.pid = await self._identity(bus_name)
                children = await self._children((bus_name, spi.ROOT))
                windows = await self._described(children, None)
                program.windows = [window for window in windows if window.shows]
        except TimeoutError:
            program.is_silent = True
            self._silent.add(bus_name)
            program.name, program.pid = await self._identity_without_it(bus_name)
        except CallRefused:
            program.windows = []
        else:
            self._silent.discard(bus_name)
        return program

    async def _identity(self, bus_name: str) -> tuple[str, int]:
        known = self._known.get(bus_name)
        if known is None:
            pid = self._pid(bus_name)
            known = (str(await self._bus.get(bus_name, spi.ROOT, spi.ACCESSIBLE, "Name")), await pid)
            self._known[bus_name] = known
        return known

    async def _identity_without_it(self, bus_name: str) -> tuple[str, int]:
        """What the bus and the kernel know of a program that does not answer."""
        if bus_name in self._known:
            return self._known[bus_name]
        pid = await self._pid(bus_name)
        return _name_by_kernel(pid) or bus_name, pid

    async def _pid(self, bus_name: str) -> int:
        try:
            reply = await self._bus.call(
                "org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus",
                "GetConnectionUnixProcessID",
                "s",
                bus_name,
            )
        except CallRefused:
            return 0
        return int(reply[0])

    async def _grow_from_cache(self, program: Program) -> bool:
        """Build the tree from the program's own cache; False where it has none worth the name."""
        try:
            items = (await self._bus.call(program.bus_name, spi.CACHE, spi.ITEMS, "GetItems"))[0]
        except CallRefused:
            return False
        nodes = {tuple(item[0]): item for item in items if len(item) == 10}
        if not all(window.key in nodes for window in program.windows):
            return False
        below: dict[Key, list[Any]] = {}
        for item in nodes.values():
            below.setdefault(tuple(item[2]), []).append(item)
        lacking: list[Node] = []
        for window in program.windows:
            _hang(window, nodes[window.key], below, lacking)
        await self._grow_by_level(lacking)
        return True

    async def _grow_by_level(self, parents: Sequence[Node]) -> None:
        level, count = list(parents), 0
        while level and count < _NODE_LIMIT:
            families = await _all(self._children(node.key) for node in level)
            described = await _all(
                self._described(keys or [], node) for node, keys in zip(level, families, strict=True)
            )
            for node, children in zip(level, described, strict=True):
                node.children = [child for child in children or [] if child.shows]
            level = [child for node in level for child in node.children]
            count += len(level)

    async def _children(self, key: Key) -> list[Key]:
        reply = await self._bus.call(*key, spi.ACCESSIBLE, "GetChildren")
        return [(name, path) for name, path in reply[0] if path != spi.NULL]

    async def _described(self, keys: Iterable[Key], parent: Node | None) -> list[Node]:
        """The objects with those keys that show, with role and name; the others with their states only."""
        nodes = await _all(self._stated(key, parent) for key in keys)
        alive = [node for node in nodes if node is not None]
        await _all(self._name(node) for node in alive if node.shows)
        return alive

    async def _stated(self, key: Key, parent: Node | None) -> Node:
        words = (await self._bus.call(*key, spi.ACCESSIBLE, "GetState"))[0]
        return Node(key, "unknown", states=states_of(words), parent=parent)

    async def _name(self, node: Node) -> None:
        role, name, description = await asyncio.gather(
            self._bus.call(*node.key, spi.ACCESSIBLE, "GetRole"),
            self._bus.get(*node.key, spi.ACCESSIBLE, "Name"),
            self._bus.get(*node.key, spi.ACCESSIBLE, "Description"),
        )
        node.role, node.name, node.description = role_of(role[0]), str(name), str(description)

    async def _label(self, program: Program) -> None:
        """Controls without a name take that of what labels them."""
        nodes = {node.key: node for _, node in program.walk()}
        unnamed = [node for node in nodes.values() if node.is_operable and not node.name.strip()]
        relations = await _all(self._bus.call(*node.key, spi.ACCESSIBLE, "GetRelationSet") for node in unnamed)
        for node, reply in zip(unnamed, relations, strict=True):
            targets = [
                tuple(target) for kind, found in (reply or [[]])[0] if kind == spi.LABELLED_BY for target in found
            ]
            node.label = " ".join(nodes[key].name.strip() for key in targets if key in nodes)

    async def _fill(self, node: Node) -> None:
        node.box = Rect(0, 0, 0, 0)
        box, value = await asyncio.gather(self._box(node), self._value(node))
        node.box, node.value = box, value

    async def _box(self, node: Node) -> Rect:
        try:
            x, y, width, height = (await self._bus.call(*node.key, spi.COMPONENT, "GetExtents", "u", spi.ON_SCREEN))[0]
        except CallRefused:
            return Rect(0, 0, 0, 0)
        if spi.NOWHERE in (x, y):
            return Rect(0, 0, 0, 0)
        return Rect(x, y, max(width, 0), max(height, 0))

    async def _value(self, node: Node) -> str:
        try:
            if node.role in spi.VALUES:
                return f"{float(await self._bus.get(*node.key, spi.VALUE, 'CurrentValue')):g}"
            if node.role in spi.TEXTS and node.role != spi.SECRET and _may_have(node, spi.TEXT):
                return str((await self._bus.call(*node.key, spi.TEXT, "GetText", "ii", 0, _VALUE_CHARACTERS))[0])
        except CallRefused:
            return ""
        return ""


def _name_by_kernel(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _may_have(node: Node, interface: str) -> bool:
    return node.interfaces is None or interface in node.interfaces


def _hang(node: Node, item: Any, below: dict[Key, list[Any]], lacking: list[Node]) -> None:
    """Fill a node from its cache item and hang what shows below it; collect nodes whose children are not cached."""
    _, _, _, _, count, interfaces, name, role, description, words = item
    node.role, node.name, node.description = role_of(role), name, description
    node.states, node.interfaces = states_of(words), frozenset(interfaces)
    family = below.get(node.key, [])
    if len(family) < count:
        lacking.append(node)
        return
    for child_item in sorted(family, key=lambda child: int(child[3])):
        child = Node(tuple(child_item[0]), "unknown", states=states_of(child_item[9]), parent=node)
        if child.shows:
            _hang(child, child_item, below, lacking)
            node.children.append(child)


async def _all(calls: Iterable[Awaitable[_T]]) -> list[_T | None]:
    """All at once; None in the place of each that was refused."""
    return list(await asyncio.gather(*(_or_none(call) for call in calls)))


async def _or_none(call: Awaitable[_T]) -> _T | None:
    try:
        return await call
    except CallRefused:
        return None
