"""Collect what the policy needs to judge a press: what is around the control, and whether something is in front of it.

Both are known only as far as the control's own program reports them.
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
from app.desktop.accessibility.outline import Seen
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
_MOST_NEAR, _NEAR_CHARACTERS = 8, 600
"""More than this beside a control is a text, and no question."""
_MESSAGE = frozenset({"button", "toggle button", "check box", "expander", "icon", "image", "link", "slider", "dial"})
"""What stands in a dialog beside its sentences. A slider's value is named by nothing but them."""


def scene_of(program: Program, window: Node, node: Node | None, element: Element | None) -> Scene:
    """Return the scene around a node of a window whose tree was read. If the node is None: the scene of the window."""
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
        near=_near(node) if node and not root else (),
        is_message=root is not None and all(one.role in _MESSAGE for one in root.walk() if one.is_operable),
        is_in_items=node is not None and any(above.role in _ITEMS for above in node.ancestors()),
    )


def marked_item(program: Program) -> tuple[bool, tuple[Node, Node] | None]:
    """Return whether a menu is open, and the window and entry that the keyboard would choose (None if none is)."""
    items = list(_menu_items(program))
    marked = [pair for pair in items if pair[1].has("selected") or pair[1].has("focused")]
    return bool(items), marked[-1] if marked else None


async def bindings_of(bus: Bus, program: Program, window: Node) -> tuple[Binding, ...] | None:
    """Return the controls of a window and its open menus with their key chords; None if there are too many to ask."""
    roots = dict.fromkeys([window, *(holder for holder, _ in _menu_items(program))])
    nodes = [node for root in roots for node in root.walk() if node.is_operable and node.role not in spi.WRITTEN]
    if len(nodes) > _MOST_BOUND:
        return None
    asked = [node for node in nodes if node.may(spi.ACTION) and node.role not in spi.TEXTS]
    told = dict(zip(asked, await objects.all_of(bus, _chord_of, asked), strict=True))
    return tuple(Binding(told.get(node) or "", node.role, node.called) for node in nodes)


def is_bare(node: Node) -> bool:
    """Return whether the node is a surface with no described content: its program draws there and reports nothing."""
    return node.role in _BARE and not node.children and not node.name.strip()


async def fields_of(bus: Bus, window: Node) -> tuple[str, ...] | None:
    """Return the contents of a dialog's one-line fields; None if the window is no dialog or cannot be read."""
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
    """Return the names of the window's selected items if several are selected; None if too many to read."""
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
    """Yield each visible entry of an open menu, after its window. Menus in web pages do not count.

    Entries right in a menu bar are left out, because they are visible even if no menu is open.
    """
    for window, node in program.walk():
        is_inside = node.parent is not None and node.parent.role in _MENUS
        if node.role in _MENU_ITEMS and is_inside and node.has("showing") and not node.is_in_page:
            yield window, node


def _sentences(root: Node) -> Iterable[str]:
    """Return the texts of a dialog or small window, and the names of the options chosen in it."""
    told = [root.name, root.description, *_texts_in(root)]
    controls = [node for node in root.walk() if node.is_operable]
    if len(controls) <= _SMALL:  # because OK means what is chosen, in a dialog that is no long list of settings
        told += [node.called for node in root.walk() if _is_chosen(node)]
    found = dict.fromkeys(sentence[:_SENTENCE_CHARACTERS] for sentence in told if sentence.strip())
    return list(found)[:_MOST_SENTENCES]


def _texts_in(root: Node) -> list[str]:
    """Return the texts below a node that are not inside a control."""
    shown = (node for node in root.walk() if node.role in _SENTENCES and node.name.strip())
    return [node.name for node in shown if not any(above.is_operable for above in node.ancestors())]


def _near(node: Node) -> tuple[str, ...]:
    """Return the sentences beside a node, from its nearest ancestor that has any. Returns none if they are long."""
    told = next(filter(None, map(_texts_in, node.ancestors())), [])
    is_short = len(told) <= _MOST_NEAR and sum(map(len, told)) <= _NEAR_CHARACTERS
    return tuple(dict.fromkeys(told)) if is_short else ()


def _is_chosen(node: Node) -> bool:
    is_marked = node.role in _SELECTED and node.has("selected")
    return is_marked or (node.role in _CHECKED and node.has("checked"))


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
            if over is not None and await _is_behind(bus, seen, over):
                return "an open list or menu lies over it; close it with Escape first, or choose one of its entries."
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
    """Return the innermost object at a point of a window, as its program reports it; None if it reports none."""
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
    """Return the ancestors of an object, from its parent upwards, at most `most`."""
    found: list[Key] = []
    while len(found) < most:
        name, path = await bus.get(*(found[-1] if found else key), spi.ACCESSIBLE, "Parent")
        if path in (spi.NULL, spi.ROOT):
            break
        found.append((name, path))
    return found
