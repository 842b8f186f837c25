"""Single objects over the bus: what each is, where it stands, what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from app.base.geometry import Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import Key, Node, role_of, states_of

_VALUE_CHARACTERS = 200
_T = TypeVar("_T")


async def children(bus: Bus, key: Key) -> list[Key]:
    reply = await bus.call(*key, spi.ACCESSIBLE, "GetChildren")
    return [(name, path) for name, path in reply[0] if path != spi.NULL]


async def described(bus: Bus, keys: Iterable[Key], parent: Node | None) -> list[Node]:
    """Those of the objects that show, with role, name and description."""
    nodes = [Node(key, parent=parent) for key in keys]
    await all_of(state(bus, node) for node in nodes)
    showing = [node for node in nodes if node.shows]
    await all_of(name(bus, node) for node in showing)
    return showing


async def state(bus: Bus, node: Node) -> None:
    node.states = states_of((await bus.call(*node.key, spi.ACCESSIBLE, "GetState"))[0])


async def name(bus: Bus, node: Node) -> None:
    role, called, description = await asyncio.gather(
        bus.call(*node.key, spi.ACCESSIBLE, "GetRole"),
        bus.get(*node.key, spi.ACCESSIBLE, "Name"),
        bus.get(*node.key, spi.ACCESSIBLE, "Description"),
    )
    node.role, node.name, node.description = role_of(role[0]), str(called), str(description)


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
            return str((await bus.call(*node.key, spi.TEXT, "GetText", "ii", 0, _VALUE_CHARACTERS))[0])
    except CallRefused:
        return ""
    return ""


async def all_of(calls: Iterable[Awaitable[_T]]) -> list[_T | None]:
    """All at once; None in the place of each that was refused."""
    return list(await asyncio.gather(*(_or_none(call) for call in calls)))


async def _or_none(call: Awaitable[_T]) -> _T | None:
    try:
        return await call
    except CallRefused:
        return None
