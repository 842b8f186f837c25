"""Collect what the policy needs to judge a press: what is around the control, and whether something is in front of it.

Both are known only as far as the control's own program reports them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from app.base.clipping import clip_line
from app.base.geometry import Point, Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import AS_TOLD, NOWHERE, Key, Node, Program
from app.desktop.accessibility.outline import Seen
from app.desktop.elements import Element, Scene

_MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item", "menu", "tearoff menu item"})
_MENUS = frozenset({"menu", "popup menu", "window", "unknown", "list", "filler", "panel"})
_PAGES = frozenset({"document web", "document frame"})


def scene_of(program: Program, window: Node, element: Element | None) -> Scene:
    """Return the scene around an element of a window whose tree was read."""
    nodes = list(window.walk())
    return Scene(
        element,
        has_answered=not (program.is_silent or program.is_cut),
        has_password=any(one.role == spi.SECRET for one in nodes),
        default=next((one.called for one in nodes if one.has("is-default")), ""),
    )


def marked_item(program: Program) -> tuple[bool, tuple[Node, Node] | None]:
    """Return whether a menu is open, and the window and entry that the keyboard would choose (None if none is)."""
    items = list(_menu_items(program))
    marked = [pair for pair in items if pair[1].has("selected") or pair[1].has("focused")]
    return bool(items), marked[-1] if marked else None


def _menu_items(program: Program) -> Iterator[tuple[Node, Node]]:
    """Yield each visible entry of an open menu, after its window. Menus in web pages do not count.

    Entries right in a menu bar are left out, because they are visible even if no menu is open.
    """
    for window, node in program.walk():
        is_inside = node.parent is not None and node.parent.role in _MENUS
        if node.role in _MENU_ITEMS and is_inside and node.has("showing") and not node.is_in_page:
            yield window, node


_LIMIT_S = 0.2
_CHOICES = frozenset({"list item", "menu item", "table cell", "tree item"})
_CHOICE_DEPTH = 4
_DEEPEST = 30
_LAYERS = frozenset({"dialog", "alert", "popup menu", "tool tip", "frame", "window"})
_POPPED_UP = frozenset({"window", "popup menu", "menu", "tool tip", "combo box", "list box"})
"""What holds the entries of an open list or menu."""
_LISTING = frozenset({"list", "table", "tree", "tree table"})
"""Programs outside the web hold the entries of an open list in these too; pages have them anywhere."""
_NAME_CHARACTERS = 60
_UNDER_A_MENU = "an open list or menu lies over it; close it with Escape first, or choose one of its entries."


async def obstacle(bus: Bus, seen: Seen, point: Point, popups: Sequence[Rect]) -> str:
    """Describe what keeps a press at the point from reaching the object; "" if nothing is known to.

    `popups` are the areas of its program's open menus. Returns "" if the program answers too late.
    """
    try:
        async with asyncio.timeout(_LIMIT_S):
            if seen.element.role in _CHOICES and not any(area.contains(point) for area in popups):
                closed = await _closed_combo(bus, seen.key)
                if closed is not None:
                    name = clip_line(closed.name, _NAME_CHARACTERS)
                    return f"it is a choice of a closed combo box{f' ({name!r})' if name else ''}. Open that first."
            over = next((area for area in popups if area.contains(point)), None)
            if over is not None:  # because what is in the open menu lies in front of its window
                return _UNDER_A_MENU if await _is_behind(bus, seen, over) else ""
            asked = Point(point.x - seen.scale.dx, point.y - seen.scale.dy) if seen.anchor is not None else point
            is_plain = seen.scale == AS_TOLD or (seen.anchor is not None and seen.scale != NOWHERE)
            if seen.key[0] in bus.hit_testing and is_plain and not _is_apart(seen):
                return await _covering(bus, seen, asked)
            if seen.element.role == "table cell" and await _is_scrolled_off(bus, seen, asked):
                return "the header of its list lies over it. Scroll the list a little."
    except (CallRefused, TimeoutError):  # because a program that does not answer gives no reason against the click
        pass
    return ""


def _is_apart(seen: Seen) -> bool:
    """Return whether the window cannot be asked: where it is asked is a page, or on Wayland a pop-up, of no window."""
    is_popped_up = seen.anchor is not None and seen.element.role in _CHOICES | _MENU_ITEMS
    return seen.is_apart or is_popped_up


async def _closed_combo(bus: Bus, key: Key) -> Node | None:
    """None if there is no closed combo box that contains the choice."""
    for above in await _above(bus, key, _CHOICE_DEPTH):
        node = Node(above)
        await objects.role(bus, node)
        if node.role == "combo box":
            await asyncio.gather(objects.state(bus, node), objects.name(bus, node))
            return None if node.has("expanded") else node
    return None


async def _is_behind(bus: Bus, seen: Seen, popup: Rect) -> bool:
    """Return whether the object is certainly not in the pop-up of its program, so that the pop-up takes its press."""
    if seen.element.role in _CHOICES | _MENU_ITEMS:
        return False
    above = [Node(key) for key in await _above(bus, seen.key, _DEEPEST)]
    await objects.all_of(bus, objects.role, above)
    roles = {node.role for node in above}
    if roles & (_POPPED_UP if roles & _PAGES else _POPPED_UP | _LISTING):
        return False
    if popup.overlap(seen.element.box) != seen.element.box:
        return True
    if seen.scale != AS_TOLD or seen.key[0] in bus.vague:
        return False
    # Everything in a pop-up has the pop-up itself above it, whatever its role; what is behind one has larger windows.
    boxes = [box for box in await objects.all_of(bus, _extents, above) if box and popup.contains(box.center)]
    return not any(popup.size.area < 2 * box.size.area <= 2 * popup.size.area for box in boxes)


async def _is_scrolled_off(bus: Bus, seen: Seen, point: Point) -> bool:
    """Return whether the table around a cell says that no cell of it is at the point, as under its header in GTK 3."""
    for key in await _above(bus, seen.key, 1):
        table = Node(key)
        await objects.state(bus, table)
        return table.has("manages-descendants") and await objects.child_at(bus, key, point) is None
    return False


async def _extents(bus: Bus, node: Node) -> Rect:
    x, y, width, height = (await bus.call(*node.key, spi.COMPONENT, "GetExtents", "u", spi.ON_SCREEN))[0]
    return Rect(x, y, max(width, 0), max(height, 0))


async def _covering(bus: Bus, seen: Seen, point: Point) -> str:
    """Describe the dialog or control that covers the object in its own window; "" if none does."""
    hit = await _hit(bus, seen.window, point)
    if hit is None or hit == seen.key:
        return ""
    over = [hit, *await _above(bus, hit, _DEEPEST)]
    sheet = (seen.key[0], seen.place[1].split()[0]) if seen.place else None
    if seen.key in over or sheet in over:
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
    """The innermost object, as the window's program reports it; None if it reports none."""
    found: Key | None = None
    for _ in range(_DEEPEST):
        asked = found or window
        hit = await objects.child_at(bus, asked, point)
        if hit is None or hit == asked:
            break
        found = hit
    return found


async def _above(bus: Bus, key: Key, most: int) -> list[Key]:
    """From its parent upwards, at most `most`."""
    found: list[Key] = []
    while len(found) < most:
        name, path = await bus.get(*(found[-1] if found else key), spi.ACCESSIBLE, "Parent")
        if path in (spi.NULL, spi.ROOT):
            break
        found.append((name, path))
    return found
