"""Read single objects over the bus: role, name, state, position, value."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from app.base.geometry import Point, Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, BusLost, CallRefused
from app.desktop.accessibility.nodes import PROGRAM_LIMIT_S, Key, Node, Program, role_of, states_of

_VALUE_CHARACTERS = 200
_MANY, _VERY_MANY = 300, 4000
"""How many children of a list are read one by one, for an outline and for a search after what must be scrolled to."""
_SHEET = 10_000_000
"""A table with at least this many cells is a sheet, because LibreOffice reports every empty cell."""
_COLUMNS = 16
_STEPS = 6
_EDGE_PX = 4
_FLOATING = frozenset({"GtkPopover", "GtkPopoverMenu", "GtkTooltipWindow", "GtkEmojiChooser"})
_CLASS_NAME = re.compile(r"(?:Gtk|Gdk|Adw)[A-Z][A-Za-z]+")
_A = TypeVar("_A")
_T = TypeVar("_T")


async def read_children(bus: Bus, key: Key) -> list[Key]:
    reply = await bus.call(*key, spi.ACCESSIBLE, "GetChildren")
    return [(name, path) for name, path in reply[0] if path != spi.NULL]


async def family(bus: Bus, node: Node, *, hidden_too: bool = False) -> list[Key]:
    """Return the children of a node. For a very long list, return only those that are visible.

    `hidden_too` allows for longer lists. Returns none for a sheet: `add_cells` reads its cells.
    """
    count = int(await bus.get(*node.key, spi.ACCESSIBLE, "ChildCount")) if node.role in spi.ROOMY else 0
    if count > (_VERY_MANY if hidden_too else _MANY):
        found = await _in_sight(bus, node) if count < _SHEET else []
        node.unseen = count - len(found) if found else 0
        return found
    return await read_children(bus, node.key)


async def add_cells(bus: Bus, sheet: Node) -> None:
    """Add the visible cells to a sheet, row after row, each with its value. Does nothing to an ordinary table."""
    if int(await bus.get(*sheet.key, spi.ACCESSIBLE, "ChildCount")) < _SHEET:
        return
    area, columns = await box(bus, sheet), int(await bus.get(*sheet.key, spi.TABLE, "NColumns"))
    corners = Point(area.x + _EDGE_PX, area.y + _EDGE_PX), Point(area.right - _EDGE_PX, area.bottom - _EDGE_PX)
    first, last = [await _index_at(sheet, bus, corner) for corner in corners]
    if min(first, last) < 0:
        return
    (top, left), (bottom, right) = divmod(first, columns), divmod(last, columns)
    places = [(row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]
    found = await all_of(bus, partial(_cell, sheet), places)
    sheet.children += [cell for cell in found if cell and cell.shows]


async def _cell(sheet: Node, bus: Bus, at: tuple[int, int]) -> Node:
    row, column = at
    place = (sheet.key[0], f"{sheet.key[1]} {row} {column}")
    cell = Node(await cell_at(bus, place), "table cell", f"{_letters(column)}{row + 1}", parent=sheet, place=place)
    _, cell.value = await asyncio.gather(state(bus, cell), value(bus, cell))
    return cell


async def cell_at(bus: Bus, place: Key) -> Key:
    program, (table, row, column) = place[0], place[1].split()
    name, path = (await bus.call(program, table, spi.TABLE, "GetAccessibleAt", "ii", int(row), int(column)))[0]
    return name, path


def _letters(column: int) -> str:
    """Counted from 0: A to Z, then AA."""
    before, last = divmod(column, 26)
    return f"{_letters(before - 1) if before else ''}{chr(ord('A') + last)}"


async def _in_sight(bus: Bus, node: Node) -> list[Key]:
    area = await box(bus, node)
    left, height = area.x + _EDGE_PX, area.height
    marks = [Point(left, area.y + round(height * step / _STEPS) + _EDGE_PX) for step in range(_STEPS)]
    marks.append(Point(left, area.bottom - _EDGE_PX))
    hit = await all_of(bus, partial(_index_at, node), marks)
    places = sorted(place for place in hit if place is not None and place >= 0)
    if not places:
        return []
    # Headers come first of all children; the last row goes on to the right of where it was hit.
    wanted = sorted({*range(_COLUMNS), *range(places[0], min(places[-1] + _COLUMNS, places[0] + _MANY))})
    found = await all_of(bus, partial(_child_at, node), wanted)
    return [key for key in found if key and key[1] != spi.NULL]


async def _child_at(node: Node, bus: Bus, place: int) -> Key:
    name, path = (await bus.call(*node.key, spi.ACCESSIBLE, "GetChildAtIndex", "i", place))[0]
    return name, path


async def child_at(bus: Bus, key: Key, point: Point) -> Key | None:
    """A child at the point, or something further inside, as the object reports it; None if nothing."""
    reply = await bus.call(*key, spi.COMPONENT, "GetAccessibleAtPoint", "iiu", point.x, point.y, spi.ON_SCREEN)
    name, path = reply[0]
    return None if path == spi.NULL else (name, path)


async def _index_at(node: Node, bus: Bus, point: Point) -> int:
    hit = await child_at(bus, node.key, point)
    if hit is None:
        return -1
    return int((await bus.call(*hit, spi.ACCESSIBLE, "GetIndexInParent"))[0])


async def described(bus: Bus, keys: Iterable[Key], parent: Node | None, *, hidden_too: bool = False) -> list[Node]:
    """Return the visible objects (with `hidden_too`, all), each with its role and name."""
    nodes = [Node(key, parent=parent) for key in keys]
    if parent is None or parent.role not in spi.MENUS or parent.is_in_page or hidden_too:
        await all_of(bus, state, nodes)
    else:
        await _entry_states(bus, nodes)
    if parent is not None and parent.has("manages-descendants"):
        await all_of(bus, box, [node for node in nodes if node.shows])
    if parent is not None and parent.role == "scroll pane":
        await all_of(bus, role, [node for node in nodes if node.has("visible")])
    told = [node for node in nodes if hidden_too or node.shows]
    if parent is not None:
        parent.unseen += sum(node.is_scrolled_away for node in nodes)
    await asyncio.gather(all_of(bus, name, told), all_of(bus, role, told))
    return told if hidden_too else await _without_flat_bars(bus, told)


async def _entry_states(bus: Bus, entries: Sequence[Node]) -> None:
    """Read the states of a menu's entries. Of a closed one, only those up to the first that the menu would show."""
    for place, entry in enumerate(entries):
        await all_of(bus, state, [entry])
        if entry.shows:
            await all_of(bus, state, entries[place + 1 :])
        if entry.has("visible"):
            return


async def _without_flat_bars(bus: Bus, nodes: list[Node]) -> list[Node]:
    """Drop menu bars without height: LibreOffice has one of its own behind that of GTK, and says that it shows."""
    bars = [node for node in nodes if node.role == "menu bar"]
    areas = await all_of(bus, box, bars)
    flat = {bar.key for bar, area in zip(bars, areas, strict=True) if area and not area.height}
    return [node for node in nodes if node.key not in flat]


async def read_names(bus: Bus, keys: Iterable[Key], parent: Node | None) -> list[Node]:
    """Only of the visible objects."""
    nodes = [Node(key, parent=parent) for key in keys]
    await all_of(bus, state, nodes)
    showing = [node for node in nodes if node.shows]
    await all_of(bus, name, showing)
    return showing


async def state(bus: Bus, node: Node) -> None:
    node.states = states_of((await bus.call(*node.key, spi.ACCESSIBLE, "GetState"))[0])
    if node.key[0] in bus.vague and node.has("visible"):
        node.states |= spi.BITS["showing"]
    if node.place and node.has("enabled"):
        node.states |= spi.BITS["sensitive"]


async def root_state(bus: Bus, program: str) -> bool:
    """Ask a program for something that its main loop must answer. A `Peer.Ping` is answered by a thread of GDBus."""
    await bus.call(program, spi.ROOT, spi.ACCESSIBLE, "GetState")
    return True


async def name(bus: Bus, node: Node) -> None:
    told = str(await bus.get(*node.key, spi.ACCESSIBLE, "Name"))
    is_class = node.key[0] in bus.vague and bool(_CLASS_NAME.fullmatch(told))
    node.name = "" if is_class else told
    node.is_floating = is_class and told in _FLOATING


async def role(bus: Bus, node: Node) -> None:
    node.role = role_of((await bus.call(*node.key, spi.ACCESSIBLE, "GetRole"))[0])


async def note_submenu(bus: Bus, entry: tuple[Node, Key]) -> None:
    """Give a menu entry the state `has-popup` if its first child is a menu. Qt does not report it."""
    node, child = entry[0], Node(entry[1])
    await role(bus, child)
    if child.role in spi.MENUS:
        node.states |= spi.BITS["has-popup"]


async def description(bus: Bus, node: Node) -> None:
    node.description = str(await bus.get(*node.key, spi.ACCESSIBLE, "Description"))


async def labels(bus: Bus, node: Node) -> list[Key]:
    """Return the objects that the program names as labels of this node."""
    relations = (await bus.call(*node.key, spi.ACCESSIBLE, "GetRelationSet"))[0]
    return [(name, path) for kind, targets in relations if kind == spi.LABELLED_BY for name, path in targets]


async def fill(bus: Bus, node: Node) -> None:
    """Read the object's box, and its value unless it is known. Both stay empty if the object has none."""
    if node.value is None:
        node.box, node.value = await asyncio.gather(box(bus, node), value(bus, node))
    else:
        node.box = await box(bus, node)


async def box(bus: Bus, node: Node, counted: int = spi.ON_SCREEN) -> Rect:
    """Return the object's place as its program reports it. An object without a place does not show.

    The rows of GTK 3's tree views say that they show wherever they are. `counted`: on the screen, or in the window.
    """
    if not node.may(spi.COMPONENT):
        return Rect(0, 0, 0, 0)
    if node.key[0] in bus.vague:  # because GTK 4 does not know the screen: newer ones tell 0, 0 for everything
        counted = spi.IN_WINDOW
    try:
        x, y, width, height = (await bus.call(*node.key, spi.COMPONENT, "GetExtents", "u", counted))[0]
    except CallRefused:  # since not every object has a place
        return Rect(0, 0, 0, 0)
    if spi.NOWHERE in (x, y):
        node.states &= ~spi.BITS["showing"]
        return Rect(0, 0, 0, 0)
    return Rect(x, y, max(width, 0), max(height, 0))


async def value(bus: Bus, node: Node) -> str:
    """Read the object's number or the beginning of its text. Never reads a password."""
    try:
        if node.role in spi.VALUES and node.may(spi.VALUE):
            return f"{float(await bus.get(*node.key, spi.VALUE, 'CurrentValue')):g}"
        if node.place:
            held = str((await bus.call(*node.key, spi.TEXT, "GetText", "ii", 0, -1))[0])
            node.length = len(held)
            return held[:_VALUE_CHARACTERS]
        if node.role in spi.TEXTS and node.role != spi.SECRET and node.may(spi.TEXT):
            found = await text(bus, node)
            return found if found != spi.IN_PLACE_OF_AN_OBJECT else await chosen(bus, node.key)
    except CallRefused:  # since not every object has a text
        return ""
    return ""


async def chosen(bus: Bus, combo: Key) -> str:
    """As Chromium reports it: by the list below; else ""."""
    for holder in await read_children(bus, combo):
        entry = Node(tuple((await bus.call(*holder, spi.SELECTION, "GetSelectedChild", "i", 0))[0]))
        await name(bus, entry)
        return entry.name
    return ""


async def text(bus: Bus, node: Node, limit: int = _VALUE_CHARACTERS) -> str:
    """The first `limit` characters, or all. Asking for more than there is fails in some toolkits."""
    node.length = int(await bus.get(*node.key, spi.TEXT, "CharacterCount"))
    if node.length <= 0:
        return ""
    return str((await bus.call(*node.key, spi.TEXT, "GetText", "ii", 0, min(node.length, limit)))[0])


async def all_of(bus: Bus, ask: Callable[[Bus, _A], Awaitable[_T]], things: Iterable[_A]) -> list[_T | None]:
    """Send all requests at once. Returns the answers in order, with None for each request that was refused."""
    return list(await asyncio.gather(*(_or_none(bus, ask, thing) for thing in things)))


async def _or_none(bus: Bus, ask: Callable[[Bus, _A], Awaitable[_T]], thing: _A) -> _T | None:
    try:
        return await ask(bus, thing)
    except CallRefused:
        return None


_SILENT_BEFORE_S = 0.15
"""How long to wait for a program that did not answer at the last look."""
_DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus")


class Survey:
    """One look at all programs."""

    def __init__(self, surveys: list[asyncio.Task[Program]]) -> None:
        self._surveys = surveys

    async def active(self) -> Program | None:
        """Return the program whose window has the keyboard, or None once all have answered and none has it."""
        for survey in asyncio.as_completed(self._surveys):
            program = await survey
            if program.is_active:
                return program
        return None

    async def programs(self, then: Callable[[Program], Awaitable[None]]) -> list[Program]:
        """The active one first. `then` is called for each as soon as it has answered."""

        async def one(survey: asyncio.Task[Program]) -> Program:
            program = await survey
            await then(program)
            return program

        found = await asyncio.gather(*(one(survey) for survey in self._surveys))
        return sorted(found, key=lambda program: not program.is_active)


class Surveyor:
    """Finds the programs on the bus. It remembers their names and which of them did not answer.

    The `own` processes (those of each Wisp) and windows that `is_private` are left out.
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
        """The programs that did not answer when they were last asked: their bus names, and their names."""

    @asynccontextmanager
    async def look(self, pid: int = 0, patience_s: float = 0.0) -> AsyncIterator[Survey]:
        """Return a context manager that looks at all programs.

        With `pid`, it looks only at that program, if it is on the bus, and waits `patience_s` for it. Raises BusLost.
        Leaving the context cancels the calls that are still open.
        """
        pids = await self._programs()
        self.silent = {name: told for name, told in self.silent.items() if name in pids}
        own = [name for name in pids if pid and pids[name] == pid]
        surveys = [asyncio.create_task(self._survey(name, patience_s if own else 0.0)) for name in own or pids]
        try:
            yield Survey(surveys)
        finally:
            for survey in surveys:
                survey.cancel()
            await asyncio.gather(*surveys, return_exceptions=True)

    def names_of(self, pid: int) -> list[str]:
        """Return the bus names that the last look found for a process."""
        return [name for name, known in self._pids.items() if pid and known == pid]

    async def of_process(self, pid: int) -> frozenset[str]:
        """Ask the bus for the bus names of a process, and return them. Raises BusLost."""
        return frozenset([name for name, known in (await self._programs()).items() if known == pid])

    async def _programs(self) -> dict[str, int]:
        try:
            await self._bus.connect()
            async with asyncio.timeout(PROGRAM_LIMIT_S):
                children = await read_children(self._bus, (spi.REGISTRY, spi.ROOT))
                names = list(dict.fromkeys(bus_name for bus_name, _ in children))
                pids = await asyncio.gather(*(self._pid(name) for name in names))
                self._pids = dict(zip(names, pids, strict=True))
        except TimeoutError as late:  # because only a new connection helps if the bus has restarted
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
                windows = await read_children(self._bus, (bus_name, spi.ROOT))
                named = await read_names(self._bus, windows, None)
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
        """Mark a program as silent and name it: by its last known name, or else by the kernel's name of its process."""
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
            if kit == "gtk":
                self._bus.adrift.add(bus_name)
            if kit in spi.HIT_TESTING:
                self._bus.hit_testing.add(bus_name)
        return known

    async def _toolkit(self, bus_name: str) -> tuple[str, str]:
        try:
            kit = await self._bus.get(bus_name, spi.ROOT, spi.APPLICATION, "ToolkitName")
            version = await self._bus.get(bus_name, spi.ROOT, spi.APPLICATION, "Version")
        except CallRefused:  # because some programs do not implement Application
            return "", ""
        return str(kit).casefold(), str(version)

    async def _pid(self, bus_name: str) -> int:
        if bus_name in self._pids:
            return self._pids[bus_name]
        try:
            return int((await self._bus.call(*_DAEMON, _DAEMON[0], "GetConnectionUnixProcessID", "s", bus_name))[0])
        except CallRefused:  # because the program may have left the bus meanwhile
            return 0


def _name_by_kernel(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # because the process has ended or the system has no /proc
        return ""
