"""Whether a press reaches an object, as far as its own program tells."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from app.base.geometry import Point, Rect
from app.base.texts import clip_line
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import AS_TOLD, Key, Node
from app.desktop.accessibility.refs import Seen

_LIMIT_S = 0.2
_CHOICES = frozenset({"list item", "menu item", "table cell", "tree item"})
_CHOICE_DEPTH = 4
_DEEPEST = 30
_LAYERS = frozenset({"dialog", "alert", "popup menu", "tool tip", "frame", "window"})
_NAME_CHARACTERS = 60


async def obstacle(bus: Bus, seen: Seen, point: Point, popups: Sequence[Rect]) -> str:
    """A sentence on what keeps a press at the point from reaching the object; "" where nothing is known to.

    `popups` are the areas of its program's open menus. A program that answers late is not waited for.
    """
    try:
        async with asyncio.timeout(_LIMIT_S):
            if seen.element.role in _CHOICES and not any(area.contains(point) for area in popups):
                closed = await _closed_combo(bus, seen.key)
                if closed is not None:
                    name = clip_line(closed.name, _NAME_CHARACTERS)
                    return f"it is a choice of a closed combo box{f' ({name!r})' if name else ''}. Open that first."
            if seen.key[0] in bus.hit_testing and seen.scale == AS_TOLD and not seen.is_apart:
                return await _covering(bus, seen, point)
    except (CallRefused, TimeoutError):  # because a program that does not answer gives no reason against the click
        pass
    return ""


async def _closed_combo(bus: Bus, key: Key) -> Node | None:
    """The combo box that holds a choice and is not open; None where there is none."""
    for above in await _above(bus, key, _CHOICE_DEPTH):
        node = Node(above)
        await objects.role(bus, node)
        if node.role == "combo box":
            await asyncio.gather(objects.state(bus, node), objects.name(bus, node))
            return None if node.has("expanded") else node
    return None


async def _covering(bus: Bus, seen: Seen, point: Point) -> str:
    """What lies over the object in its own window: a dialog or another control, and no part or holder of it."""
    hit = await _hit(bus, seen.window, point)
    if hit is None or hit == seen.key:
        return ""
    over = [hit, *await _above(bus, hit, _DEEPEST)]
    if seen.key in over:
        return ""
    holders = {seen.key, *await _above(bus, seen.key, _DEEPEST)}
    apart = [Node(key) for key in over[: next((n for n, key in enumerate(over) if key in holders), len(over))]]
    if not apart:
        return ""
    await asyncio.gather(objects.all_of(bus, objects.role, apart), objects.name(bus, apart[0]))
    await objects.state(bus, apart[0])
    if not apart[0].shows or not (apart[0].is_operable or any(node.role in _LAYERS for node in apart)):
        return ""
    return f"{apart[0].role} {clip_line(apart[0].name, _NAME_CHARACTERS)!r} lies over it."


async def _hit(bus: Bus, window: Key, point: Point) -> Key | None:
    """The innermost object under a point of a window."""
    found: Key | None = None
    for _ in range(_DEEPEST):
        asked = found or window
        name, path = (
            await bus.call(*asked, spi.COMPONENT, "GetAccessibleAtPoint", "iiu", point.x, point.y, spi.ON_SCREEN)
        )[0]
        if path == spi.NULL or (name, path) == asked:
            break
        found = (name, path)
    return found


async def _above(bus: Bus, key: Key, most: int) -> list[Key]:
    """The objects that hold this one, from its parent on."""
    found: list[Key] = []
    while len(found) < most:
        name, path = await bus.get(*(found[-1] if found else key), spi.ACCESSIBLE, "Parent")
        if path in (spi.NULL, spi.ROOT):
            break
        found.append((name, path))
    return found
