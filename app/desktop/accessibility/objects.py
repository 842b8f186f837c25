"""Single objects over the bus: what each is, where it stands, what it holds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from app.base.geometry import Point, Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import Key, Node, role_of, states_of

_VALUE_CHARACTERS = 200
_MANY = 300
_COLUMNS = 16
_STEPS = 6
_EDGE_PX = 4
_CLASS_NAME = re.compile(r"(?:Gtk|Gdk|Adw)[A-Z][A-Za-z]+")
_A = TypeVar("_A")
_T = TypeVar("_T")


async def children(bus: Bus, key: Key) -> list[Key]:
    reply = await bus.call(*key, spi.ACCESSIBLE, "GetChildren")
    return [(name, path) for name, path in reply[0] if path != spi.NULL]


async def family(bus: Bus, node: Node) -> list[Key]:
    """The children; of a list too long to ask for, those between the first and the last that are in sight."""
    if node.role in spi.ROOMY and int(await bus.get(*node.key, spi.ACCESSIBLE, "ChildCount")) > _MANY:
        return await _in_sight(bus, node)
    return await children(bus, node.key)


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


async def _index_at(node: Node, bus: Bus, point: Point) -> int:
    hit = (await bus.call(*node.key, spi.COMPONENT, "GetAccessibleAtPoint", "iiu", point.x, point.y, spi.ON_SCREEN))[0]
    if hit[1] == spi.NULL:
        return -1
    return int((await bus.call(*hit, spi.ACCESSIBLE, "GetIndexInParent"))[0])


async def described(bus: Bus, keys: Iterable[Key], parent: Node | None, *, hidden_too: bool = False) -> list[Node]:
    """Those of the objects that show (or all), with role and name."""
    nodes = [Node(key, parent=parent) for key in keys]
    await all_of(bus, state, nodes)
    told = [node for node in nodes if hidden_too or node.shows]
    await asyncio.gather(all_of(bus, name, told), all_of(bus, role, told))
    return told


async def named(bus: Bus, keys: Iterable[Key], parent: Node | None) -> list[Node]:
    """Those of the objects that show, with their name."""
    nodes = [Node(key, parent=parent) for key in keys]
    await all_of(bus, state, nodes)
    showing = [node for node in nodes if node.shows]
    await all_of(bus, name, showing)
    return showing


async def state(bus: Bus, node: Node) -> None:
    node.states = states_of((await bus.call(*node.key, spi.ACCESSIBLE, "GetState"))[0])
    if node.key[0] in bus.vague and node.has("visible"):
        node.states |= spi.BITS["showing"]


async def name(bus: Bus, node: Node) -> None:
    told = str(await bus.get(*node.key, spi.ACCESSIBLE, "Name"))
    node.name = "" if node.key[0] in bus.vague and _CLASS_NAME.fullmatch(told) else told


async def role(bus: Bus, node: Node) -> None:
    node.role = role_of((await bus.call(*node.key, spi.ACCESSIBLE, "GetRole"))[0])


async def description(bus: Bus, node: Node) -> None:
    node.description = str(await bus.get(*node.key, spi.ACCESSIBLE, "Description"))


async def labels(bus: Bus, node: Node) -> list[Key]:
    """The objects that label this one."""
    relations = (await bus.call(*node.key, spi.ACCESSIBLE, "GetRelationSet"))[0]
    return [(name, path) for kind, targets in relations if kind == spi.LABELLED_BY for name, path in targets]


async def fill(bus: Bus, node: Node) -> None:
    """Box and value; empty ones where the object has none."""
    node.box, node.value = await asyncio.gather(box(bus, node), value(bus, node))


async def box(bus: Bus, node: Node) -> Rect:
    if not node.may(spi.COMPONENT):
        return Rect(0, 0, 0, 0)
    try:
        x, y, width, height = (await bus.call(*node.key, spi.COMPONENT, "GetExtents", "u", spi.ON_SCREEN))[0]
    except CallRefused:
        return Rect(0, 0, 0, 0)
    if spi.NOWHERE in (x, y):
        return Rect(0, 0, 0, 0)
    return Rect(x, y, max(width, 0), max(height, 0))


async def value(bus: Bus, node: Node) -> str:
    """The number it stands at or the beginning of its text; never a password's."""
    try:
        if node.role in spi.VALUES and node.may(spi.VALUE):
            return f"{float(await bus.get(*node.key, spi.VALUE, 'CurrentValue')):g}"
        if node.role in spi.TEXTS and node.role != spi.SECRET and node.may(spi.TEXT):
            return await text(bus, node)
    except CallRefused:
        return ""
    return ""


async def text(bus: Bus, node: Node, limit: int = _VALUE_CHARACTERS) -> str:
    """The beginning of its text. Never asked beyond its end: Qt answers that, and GTK 4 an end of -1, with nothing."""
    count = int(await bus.get(*node.key, spi.TEXT, "CharacterCount"))
    if count <= 0:
        return ""
    return str((await bus.call(*node.key, spi.TEXT, "GetText", "ii", 0, min(count, limit)))[0])


async def all_of(bus: Bus, ask: Callable[[Bus, _A], Awaitable[_T]], things: Iterable[_A]) -> list[_T | None]:
    """Ask for all at once; None in the place of each that was refused."""
    return list(await asyncio.gather(*(_or_none(bus, ask, thing) for thing in things)))


async def _or_none(bus: Bus, ask: Callable[[Bus, _A], Awaitable[_T]], thing: _A) -> _T | None:
    try:
        return await ask(bus, thing)
    except CallRefused:
        return None
