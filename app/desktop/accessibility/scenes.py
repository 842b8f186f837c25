"""Collect what the policy needs to judge a press: the control's surroundings, and whether a press reaches it.

Both only as far as the control's own program reports them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from app.base.geometry import Point, Rect
from app.base.texts import clip_line
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import AS_TOLD, Key, Node, Program
from app.desktop.accessibility.refs import Seen
from app.desktop.elements import Binding, Element, Scene

_DIALOGS = frozenset({"dialog", "alert"})
_ASKING = _DIALOGS | {"file chooser"}
_LINES = frozenset({"entry", "text"})
_MOST_FIELDS = 20
_LONGEST_FIELD_CHARS = 200
"""How much of a text is read; a longer text counts as unreadable."""
_ITEMS = frozenset({"list", "list box", "table", "tree", "tree table", "layered pane", "icon"})
_SELECTED = frozenset({"icon", "list item", "table cell", "tree item", "table row"})
_TOGETHER, _MOST_SELECTED = 2, 100
_CHECKED = frozenset({"check box", "radio button", "switch", "toggle button"})
_SENTENCES = frozenset({"label", "static", "heading", "paragraph", "section"})
_BUTTONS = frozenset({"button", "toggle button"})
_MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item", "menu", "tearoff menu item"})
_MENUS = frozenset({"menu", "popup menu", "window", "unknown", "list", "filler", "panel"})
_PAGES = frozenset({"document web", "document frame"})
_BARE = spi.WINDOWS | _PAGES | {"panel", "filler", "section", "layered pane", "scroll pane", "viewport"}
_SMALL = 12
"""A window with at most this many controls is treated as a question, whatever its role."""
_MOST_SENTENCES = 60
_MOST_BOUND = 300
_SENTENCE_CHARACTERS = 400


def scene_of(program: Program, window: Node, node: Node | None, element: Element | None) -> Scene:
    """Return the scene around a node of a window that was read; without a node, that of the window."""
    nodes = list(window.walk())
    dialog = next((above for above in _upwards(node or window) if above.role in _DIALOGS), None)
    operable = [one for one in nodes if one.is_operable]
    root = dialog or (window if len(operable) <= _SMALL else None)
    return Scene(
        element,
        has_answered=not (program.is_silent or program.is_cut),
        is_described=len(nodes) > 1 and not (node is not None and is_bare(node)),
        is_dialog=dialog is not None,
        is_menu_open=any(True for _ in _menu_items(program)),
        has_password=any(one.role == spi.SECRET for one in nodes),
        default=next((one.called for one in nodes if one.has("is-default")), ""),
        words=tuple(_sentences(root)) if root else (),
        is_in_items=node is not None and any(above.role in _ITEMS for above in node.ancestors()),
    )


def marked_item(program: Program) -> tuple[bool, tuple[Node, Node] | None]:
    """Return whether a menu is open, and the window and entry that the keyboard would choose."""
    items = list(_menu_items(program))
    marked = [pair for pair in items if pair[1].has("selected") or pair[1].has("focused")]
    return bool(items), marked[-1] if marked else None


async def bindings_of(bus: Bus, program: Program, window: Node) -> tuple[Binding, ...] | None:
    """Return the controls of a window and of open menus with their chords; None if there are too many."""
    roots = dict.fromkeys([window, *(holder for holder, _ in _menu_items(program))])
    nodes = [node for root in roots for node in root.walk() if node.is_operable and node.role not in spi.WRITTEN]
    if len(nodes) > _MOST_BOUND:
        return None
    asked = [node for node in nodes if node.may(spi.ACTION) and node.role not in spi.TEXTS]
    told = dict(zip(asked, await objects.all_of(bus, _chord_of, asked), strict=True))
    return tuple(Binding(told.get(node) or "", node.role, node.called) for node in nodes)


def is_bare(node: Node) -> bool:
    """Return whether the node is a surface without described content: a program draws there without a description."""
    return node.role in _BARE and not node.children and not node.name.strip()


async def fields_of(bus: Bus, window: Node) -> tuple[str, ...] | None:
    """Return the contents of a dialog's one-line fields; None if it is no dialog, or they cannot be read."""
    if window.role not in _ASKING:
        return None
    shown = [node for node in window.walk() if node.role in _LINES and node.shows and node.may(spi.TEXT)]
    fields = [node for node in shown if node.has("editable") and node.has("focusable")]
    told = await objects.all_of(bus, objects.text, fields[:_MOST_FIELDS])
    read = tuple(text for text in told if text is not None and len(text) < _LONGEST_FIELD_CHARS)
    return read if len(read) == len(fields) else None


async def _chord_of(bus: Bus, node: Node) -> str:
    return str((await bus.call(*node.key, spi.ACTION, "GetKeyBinding", "i", 0))[0])


async def selected_of(bus: Bus, window: Node) -> tuple[str, ...] | None:
    """Return the names of the window's selected items, if there are several; None if there are too many to read."""
    marked = [node for node in window.walk() if node.role in _SELECTED and node.has("selected")]
    if len(marked) < _TOGETHER:
        return ()
    if len(marked) > _MOST_SELECTED:
        return None
    told = await objects.all_of(bus, objects.text, [node for node in marked if not node.called and node.may(spi.TEXT)])
    names = [node.called for node in marked if node.called] + [text or "" for text in told]
    return tuple(names) if len(names) == len(marked) else None


def _upwards(node: Node) -> Iterator[Node]:
    yield node
    yield from node.ancestors()


def buttons_of(window: Node) -> tuple[str, ...]:
    """Return the names of the window's buttons that can be pressed now."""
    nodes = (one for one in window.walk() if one.role in _BUTTONS and one.shows and one.has("sensitive"))
    return tuple(dict.fromkeys(one.called for one in nodes))


def _menu_items(program: Program) -> Iterator[tuple[Node, Node]]:
    """Yield the entries of open menus, each with its window. Those of menu bars are always visible."""
    for window, node in program.walk():
        is_inside = node.parent is not None and node.parent.role in _MENUS
        if node.role in _MENU_ITEMS and is_inside and node.has("showing") and not node.is_in_page:
            yield window, node


def _sentences(root: Node) -> Iterable[str]:
    """Return what a dialog says; nothing for one that only informs and has a single button."""
    told = [root.name, root.description]
    buttons = [node for node in root.walk() if node.role in _BUTTONS]
    for node in root.walk():
        if node.role in _SENTENCES and node.name.strip() and not any(above.is_operable for above in node.ancestors()):
            told.append(node.name)
    controls = [node for node in root.walk() if node.is_operable]
    if len(controls) <= _SMALL:  # because OK means what is chosen, in a dialog that is no long list of settings
        told += [node.called for node in root.walk() if _is_chosen(node)]
    is_news = root.role in _DIALOGS and len(controls) == len(buttons) <= 1
    if is_news and not any("?" in sentence or "？" in sentence or "؟" in sentence for sentence in told):
        return ()
    found = dict.fromkeys(sentence[:_SENTENCE_CHARACTERS] for sentence in told if sentence.strip())
    return list(found)[:_MOST_SENTENCES]


def _is_chosen(node: Node) -> bool:
    is_marked = node.role in _SELECTED and node.has("selected")
    return is_marked or (node.role in _CHECKED and node.has("checked"))


_LIMIT_S = 0.2
_CHOICES = frozenset({"list item", "menu item", "table cell", "tree item"})
_CHOICE_DEPTH = 4
_DEEPEST = 30
_LAYERS = frozenset({"dialog", "alert", "popup menu", "tool tip", "frame", "window"})
_NAME_CHARACTERS = 60


async def obstacle(bus: Bus, seen: Seen, point: Point, popups: Sequence[Rect]) -> str:
    """Describe what keeps a press at the point from reaching the object; "" if nothing known does.

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
    """Return the closed combo box that contains a choice, or None."""
    for above in await _above(bus, key, _CHOICE_DEPTH):
        node = Node(above)
        await objects.role(bus, node)
        if node.role == "combo box":
            await asyncio.gather(objects.state(bus, node), objects.name(bus, node))
            return None if node.has("expanded") else node
    return None


async def _covering(bus: Bus, seen: Seen, point: Point) -> str:
    """Describe what covers the object in its own window: a dialog or another control, no part or container of it."""
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
    """Return the innermost object under a point of a window."""
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
    """Return the objects that contain this one, from its parent up."""
    found: list[Key] = []
    while len(found) < most:
        name, path = await bus.get(*(found[-1] if found else key), spi.ACCESSIBLE, "Parent")
        if path in (spi.NULL, spi.ROOT):
            break
        found.append((name, path))
    return found
