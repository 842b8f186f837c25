"""Read the content of a program's windows in as few round trips as the program allows.

GTK 3 returns its whole tree from one `Cache.GetItems`. Qt, GTK 4 and Chromium do not; their trees are read level by
level, with all calls of a level in flight at once, and only below visible objects. Boxes, texts and values are read
last, and only for nodes that a caller needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects, surfaces
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.matching import normal
from app.desktop.accessibility.nodes import (
    NOWHERE,
    PROGRAM_LIMIT_S,
    Key,
    Node,
    Program,
    Scale,
    pane_scale,
    role_of,
    scale_of,
    states_of,
)
from app.desktop.accessibility.outline import Seen, Stack

_NODE_LIMIT = 6000
_ITEM_FIELDS = 10
_PAGE_LIMIT_S = 4.0
_SHEET_LIMIT_S = 2.0
_LARGE_LIMIT_S = 1.0
_SLOW_LIMIT_S = 3.0
_ICON = "icon"
_ICON_VIEW = "layered pane"
_ICON_LIMIT = 300
"""The limits above are for reading a whole page. That happens only if a search found nothing, in a program that
has just answered."""

Pair = tuple[Program, Node]


class OutlineReader:
    """Reads programs' trees through one bus, each within `Program.left_s`. `keep` gets each complete tree."""

    def __init__(self, bus: Bus, keep: Callable[[Program], None]) -> None:
        self._bus = bus
        self._keep = keep
        self._slow: set[str] = set()
        """Programs that were cut off before, which get more time: LibreOffice reports two thousand objects."""
        self._piecemeal: set[str] = set()
        """Programs whose cache comes too late, or lacks most of what they show: LibreOffice's holds all menus."""

    async def grow(self, program: Program, *, cells: bool = True) -> None:
        """Read a program's tree, unless it was read before. If the time is too short, mark the program as `is_cut`.

        Without `cells`, sheets are left empty, which is three times as fast.
        """
        if program.is_read:
            return
        program.is_read = True
        if program.is_silent or not program.windows:
            return
        if program.bus_name in self._slow:
            program.left_s = max(program.left_s, _SLOW_LIMIT_S if program.is_active else _LARGE_LIMIT_S)
        try:
            async with program.limited():
                await self._grow(program)
            if cells:
                await self._add_cells(program)
            self._keep(program)
        except TimeoutError:  # so that a slow program gives a partial outline, not none
            program.is_cut = True
            self._slow.add(program.bus_name)

    async def grow_patiently(self, program: Program, *, cells: bool = True) -> None:
        """Read a program's tree. If the active program's tree is cut off, read it again with more time."""
        await self.grow(program, cells=cells)
        if program.is_cut and program.is_active:
            program.is_read = program.is_cut = False
            program.left_s = _SLOW_LIMIT_S
            await self.grow(program, cells=cells)

    async def read(self, program: Program, stack: Stack) -> None:
        """Read the program's tree, then the boxes and values of all notable nodes."""
        await self.grow(program)
        await self.fill([(program, node) for _, node in program.walk() if node.is_notable], stack)

    async def fill(self, pairs: Iterable[Pair], stack: Stack) -> None:
        """Read the boxes (in screen pixels) and values of nodes. A node that does not answer gets an empty box."""
        nodes: dict[Program, list[Node]] = {}
        for program, node in pairs:
            if node.box is None:
                nodes.setdefault(program, []).append(node)
        await asyncio.gather(*(self._fill(program, wanted, stack) for program, wanted in nodes.items()))

    async def out_of_sight(self, program: Program) -> list[tuple[Node, Node]]:
        """Return the controls in pages and lists that are visible only after scrolling, each with its window."""
        shown = [(window, holder) for window, holder in program.walk() if is_scrolled(holder)]
        pages = [(window, Node(page.key, page.role, states=page.states, parent=page.parent)) for window, page in shown]
        try:
            async with asyncio.timeout(_PAGE_LIMIT_S):
                known = [page for _, page in pages if page.key in program.cached]
                lacking = _planted(known, program.cached, hidden_too=True)
                lacking += [page for _, page in pages if page.key not in program.cached]
                await self._grow_by_level(lacking, hidden_too=True)
        except TimeoutError:  # so that a slow program gives a partial outline, not none
            program.is_cut = True
        controls = ((window, node) for window, page in pages for node in page.walk() if node.is_operable)
        return [(window, node) for window, node in controls if node.is_scrolled_away]

    async def again(self, seen: Seen, stack: Stack) -> tuple[Node, Scale] | None:
        """Read an object and the scale of its coordinates again. Returns None if it is gone or hidden, or if its window
        is just changing its size. Raises ToolFailed if its program is silent.
        """
        node = Node(seen.key, place=seen.place)
        try:
            async with asyncio.timeout(PROGRAM_LIMIT_S):
                if seen.place:
                    node.key = await objects.cell_at(self._bus, seen.place)
                await asyncio.gather(objects.state(self._bus, node), objects.role(self._bus, node))
                is_unsaid = seen.element.role == _ICON and node.has("visible") and not node.has("defunct")
                if not (node.shows or is_unsaid):
                    return None
                keys = (seen.window, *seen.pane, *(seen.anchor or ()))
                boxes = asyncio.gather(*(objects.box(self._bus, Node(key)) for key in keys))
                _, _, _, (told, *others) = await asyncio.gather(
                    objects.name(self._bus, node),
                    objects.description(self._bus, node),
                    objects.fill(self._bus, node),
                    boxes,
                )
        except CallRefused:  # because the object is gone
            return None
        except TimeoutError as late:
            raise ToolFailed(f"The program does not answer within {PROGRAM_LIMIT_S:g} s.", transient=True) from late
        if not (node.shows or is_unsaid):  # because some objects have no place only while they are scrolled away
            return None
        pane, anchor = others[: len(seen.pane)], others[len(seen.pane) :]
        scale = _scale_again(seen, told, anchor, stack, is_adrift=seen.key[0] in self._bus.adrift)
        if pane:
            scale = pane_scale(scale, *pane)
        if scale == NOWHERE and seen.scale != NOWHERE:
            return None
        node.is_unplaced = seen.anchor is not None and scale == NOWHERE
        node.box = scale.on_screen(node.box or told)
        if node.box.overlap(seen.element.box) == seen.element.box:  # because only this part of it is in view
            node.box = seen.element.box
        return node, scale

    async def _grow(self, program: Program) -> None:
        if not await self._grow_from_cache(program):
            await objects.all_of(self._bus, objects.role, program.windows)
            await self._grow_by_level(program.windows)
            operable = [node for _, node in program.walk() if node.is_operable]
            await objects.all_of(self._bus, objects.description, operable)
        for view in [node for _, node in program.walk() if node.role == _ICON_VIEW]:
            view.children += await self._unsaid(view)
        _keep_once(program)
        await self._label(program)

    async def _add_cells(self, program: Program) -> None:
        """Read the visible cells of sheets. They have their own time limit, because there are hundreds."""
        tables = [node for _, node in program.walk() if node.role == "table" and not node.children]
        sheets = [table for table in tables if table.may(spi.TABLE)]
        if sheets:
            async with asyncio.timeout(_SHEET_LIMIT_S):
                await objects.all_of(self._bus, objects.add_cells, sheets)
            program.left_s = max(program.left_s, _SHEET_LIMIT_S)

    async def _unsaid(self, view: Node) -> list[Node]:
        """Return icons in sight that GTK 2 does not report as showing: it decides that before it places the icons."""
        keys = await objects.family(self._bus, view)
        lacking = set(keys) - {child.key for child in view.children}
        if not lacking or len(keys) > _ICON_LIMIT:
            return []
        area = await objects.box(self._bus, view)
        icons = await objects.described(self._bus, [key for key in keys if key in lacking], view, hidden_too=True)
        boxes = await asyncio.gather(*(objects.box(self._bus, icon) for icon in icons))
        pairs = zip(icons, boxes, strict=True)
        return [icon for icon, box in pairs if icon.has("visible") and area.contains(box.center)]

    async def _fill(self, program: Program, nodes: Sequence[Node], stack: Stack) -> None:
        frames = [window for window in program.windows if window.box is None]
        is_vague = program.bus_name in self._bus.vague
        holders = [above for node in nodes for above in node.ancestors() if above.box is None] if is_vague else []
        holders += [above for node in nodes for above in _placing(node) if above.box is None]
        menus = self._open_menus(program) if frames and stack.contents(program.pid, "") else []
        if frames and stack.contents(program.pid, ""):
            holders += _placing_surfaces(frames, menus)
        wanted = list(dict.fromkeys([*frames, *holders, *nodes]))
        # However long the search took: what it found is worth its place.
        program.left_s = max(program.left_s, PROGRAM_LIMIT_S)
        within: dict[Key, Rect] = {}
        try:
            async with program.limited():
                await asyncio.gather(*(objects.fill(self._bus, node) for node in frames))
                await asyncio.gather(*(objects.fill(self._bus, node) for node in wanted if node.box is None))
                within = await self._within(menus)
        except TimeoutError:  # so that a slow program gives a partial outline, not none
            program.is_cut = True
            if any(window.box is None for window in frames):
                for node in wanted:  # because boxes lie elsewhere on the screen as long as their window's is not known
                    node.box = None
        self._scale(program, frames, wanted, stack)
        if program.is_within:
            surfaces.place_menus(program, menus, within)
        for node in wanted:
            told, scale = node.box or Rect(0, 0, 0, 0), program.scale_for(node)
            node.is_unplaced = program.is_within and scale == NOWHERE and told.size.area > 0
            node.box = scale.on_screen(told)
        for window in frames:  # without the shadow that it draws itself
            window.box = surfaces.around(part.box for part in program.anchors.get(window.key, ())) or window.box
        for node in nodes:
            node.box = _in_view(node)

    def _scale(self, program: Program, frames: Sequence[Node], wanted: Sequence[Node], stack: Stack) -> None:
        """Find the scales of windows, and of what in them has a scale of its own. The boxes are as they were told."""
        for window in frames:
            if window.box and (areas := stack.areas(program.pid, window.name)):
                program.scales[window.key] = scale_of(window.box, areas, stack.corners)
        surfaces.place(program, frames, stack, is_adrift=program.bus_name in self._bus.adrift)
        for pane in [node for node in wanted if node.role == spi.ROOT_PANE and node.parent]:
            around = pane.parent.box if pane.parent else None
            program.scales[pane.key] = pane_scale(program.scale_for(pane), pane.box, around)
        if program.bus_name in self._bus.vague:
            popups = stack.popups(program.pid)
            program.scales |= {node.key: scale for node in wanted if (scale := _of_popup(node, popups))}
            if program.is_within:
                told = {None, *wanted}  # because what was read before has its place on the screen already
                popovers = [node for node in wanted if node.parent in told and surfaces.is_popover(node)]
                program.scales |= {node.key: _of_popup(node, popups) or NOWHERE for node in popovers}

    def _open_menus(self, program: Program) -> list[tuple[Node, Node]]:
        return surfaces.open_menus(program) if program.bus_name in self._bus.adrift - self._bus.vague else []

    async def _within(self, menus: Sequence[tuple[Node, Node]]) -> dict[Key, Rect]:
        """The box of each menu's first entry as counted in the menu's own surface."""
        shown = [(menu.key, [node for node in menu.children if node.box and node.box.size.area]) for _, menu in menus]
        keys = [key for key, entries in shown if entries]
        firsts = [entries[0] for _, entries in shown if entries]
        boxes = await asyncio.gather(*(objects.box(self._bus, node, spi.IN_WINDOW) for node in firsts))
        return dict(zip(keys, boxes, strict=True))

    async def _grow_from_cache(self, program: Program) -> bool:
        """Build the tree from the program's cache. Returns False if the program has none (yet, for Chromium).

        A GTK 4 program caches only objects that a client has asked for before.
        """
        if program.bus_name in self._bus.vague | self._piecemeal:
            return False
        self._piecemeal.add(program.bus_name)  # until it has come in time
        try:
            items = (await self._bus.call(program.bus_name, spi.CACHE, spi.ITEMS, "GetItems"))[0]
        except CallRefused:  # because the toolkit offers no cache
            self._piecemeal.discard(program.bus_name)
            return False
        self._piecemeal.discard(program.bus_name)
        known = {tuple(item[0]): item for item in items if len(item) == _ITEM_FIELDS}
        if not all(window.key in known for window in program.windows):
            return False
        lacking = _planted(program.windows, known)
        await self._grow_by_level(lacking)
        if any(node.role == spi.ROOT_PANE for _, node in program.walk()):
            self._piecemeal.add(program.bus_name)
        program.is_unordered, program.cached = True, known
        return True

    async def _grow_by_level(self, parents: Sequence[Node], *, hidden_too: bool = False) -> None:
        level, count = list(parents), 0
        while level and count < _NODE_LIMIT:
            families = await objects.all_of(self._bus, partial(objects.family, hidden_too=hidden_too), level)
            first = [(node, keys[0]) for node, keys in zip(level, families, strict=True) if keys and _is_entry(node)]
            await objects.all_of(self._bus, objects.note_submenu, first)
            described = await asyncio.gather(
                *(
                    objects.described(self._bus, keys or (), node, hidden_too=hidden_too)
                    for node, keys in zip(level, families, strict=True)
                )
            )
            for node, children in zip(level, described, strict=True):
                node.children = children
            level = [child for children in described for child in children]
            count += len(level)

    async def _label(self, program: Program) -> None:
        """Give each control without a name a label: the text of the objects that label it, or else its own text.

        A combo box outside of a page gets one too, because what it is named by may be what is chosen in it.
        """
        nodes = {node.key: node for _, node in program.walk()}
        unnamed = [node for node in nodes.values() if node.is_operable and _may_lack_name(node)]
        labels = await objects.all_of(self._bus, objects.labels, unnamed)
        groups: dict[Key, str] = {}
        for node, keys in zip(unnamed, labels, strict=True):
            known = [nodes[key] for key in keys or () if key in nodes]
            around = list(node.ancestors())  # Qt says that a group labels all that is in it
            node.label = " ".join(label.name.strip() for label in known if label not in around)
            groups[node.key] = next((label.name.strip() for label in known if label in around), "")
        for window in program.windows:
            await self._label_by_place(window, [node for node in unnamed if not node.label])
        for node in unnamed:
            node.label = node.label or ("" if node.name.strip() else groups[node.key])
            if node.name.strip() and node.label:  # a combo box
                node.value = "" if normal(node.name) == normal(node.label) else node.name
        written = [node for node in unnamed if node.role in spi.WRITTEN and not node.label and node.may(spi.TEXT)]
        texts = await objects.all_of(self._bus, objects.text, written)
        for node, text in zip(written, texts, strict=True):
            node.label = text or ""

    async def _label_by_place(self, window: Node, unnamed: Sequence[Node]) -> None:
        """Give fields of one line in a window the label that stands before or above them.

        What is in a page has its names, and what stands above the text of an editor does not name it.
        """
        inside = [node for node in window.walk() if not node.is_in_page]
        fields = [
            node for node in inside if node in unnamed and node.role in spi.LABELLED and not node.has("multi-line")
        ]
        labels = [node for node in inside if node.role == "label" and node.name.strip()] if fields else []
        boxes = await objects.all_of(self._bus, objects.box, [*fields, *labels] if labels else [])
        places = [box or Rect(0, 0, 0, 0) for box in boxes]
        for field, label in labels_of(places[: len(fields)], places[len(fields) :]).items():
            fields[field].label = labels[label].name.strip()


_BEFORE_PX, _ABOVE_PX, _INDENT_PX, _TOUCH_PX = 160, 16, 40, 4


def labels_of(fields: Sequence[Rect], labels: Sequence[Rect]) -> dict[int, int]:
    """Return for each field, by its index, the index of the label beside it. A label belongs to the nearest field."""
    found: dict[int, tuple[int, int]] = {}
    for at, field in enumerate(fields):
        gaps = [(gap, index) for index, label in enumerate(labels) if (gap := _gap(field, label)) is not None]
        if field.size.area and gaps:
            gap, index = min(gaps)
            before = found.get(index)
            found[index] = min((gap, at), before) if before else (gap, at)
    return {at: index for index, (_, at) in found.items()}


def _gap(field: Rect, label: Rect) -> int | None:
    """Return how far a label stands before a field in its row, or else above it; None if it does neither."""
    before, above = field.x - label.right, field.y - label.bottom
    if -_TOUCH_PX <= before <= _BEFORE_PX and field.y <= label.center.y < field.bottom:
        return before
    is_above = -_TOUCH_PX <= above <= _ABOVE_PX and abs(label.x - field.x) <= _INDENT_PX
    return _BEFORE_PX + above if is_above else None


def _scale_again(seen: Seen, told: Rect, anchor: Sequence[Rect], stack: Stack, *, is_adrift: bool) -> Scale:
    """Return the scale of an object's coordinates now, from the boxes of its window and of what fills its surface."""
    pid, title = seen.element.pid, seen.element.window
    if seen.anchor:
        contents, filling = stack.contents(pid, title), surfaces.around(anchor)
        return surfaces.anchored_again(contents, filling, seen.scale, is_adrift=is_adrift)
    areas = stack.areas(pid, title)
    is_kept = seen.is_apart or seen.anchor is not None or not areas
    return seen.scale if is_kept else scale_of(told, areas, stack.corners)


def _may_lack_name(node: Node) -> bool:
    return not node.name.strip() or (node.role == spi.COMBO_BOX and not node.is_in_page)


def _is_entry(node: Node) -> bool:
    """True for a menu entry that may open a menu without saying so."""
    return node.role == "menu item" and not node.has("has-popup")


def unseen_in(program: Program) -> int:
    """Return how many objects in the pages and lists of a program show only once they are scrolled to, at least."""
    holders = [node for _, node in program.walk() if is_scrolled(node)]
    return sum(node.unseen for holder in holders for node in holder.walk())


def is_scrolled(node: Node) -> bool:
    """True for a page or list that is not inside another page or list."""
    scrolled = spi.PAGES | spi.ROOMY
    return node.role in scrolled and not any(above.role in scrolled for above in node.ancestors())


def _placing(node: Node) -> list[Node]:
    """Return what is around a node and decides where it shows: lists, scrolled areas, its pane and what that fills."""
    pane = [node.pane, node.pane.parent] if node.pane else []
    return [above for above in (*node.ancestors(), *pane) if above and (_may_clip(above) or above in pane)]


def _placing_surfaces(windows: Sequence[Node], menus: Sequence[tuple[Node, Node]]) -> list[Node]:
    """Return what tells where windows and menus lie whose program tells places within its windows."""
    inside = [node for window in windows for filling in surfaces.fillings(window) for node in filling]
    inside += [node for _, menu in menus for node in (menu.parent, menu, *menu.children) if node]
    return [node for node in inside if node.box is None]


def _may_clip(node: Node) -> bool:
    return node.role in spi.ROOMY | spi.VIEWS


def _in_view(node: Node) -> Rect:
    """The part of the node's box that the lists and scrolled areas around it show; all of it if none does."""
    assert node.box is not None
    shown = node.box
    for above in node.ancestors():
        if _may_clip(above) and above.box is not None:
            shown = shown.overlap(above.box) or shown
    return shown


def _of_popup(node: Node, popups: Sequence[Rect]) -> Scale | None:
    """Return the scale of a GTK 4 menu, which reports positions as if it were at the place it was opened from.

    The open menu is found in `popups` by its size. If none has this size: NOWHERE for a menu, None for other nodes.
    """
    box = node.box
    if box is None or node.parent is None:
        return None
    found = (Scale(dx=area.x - box.x, dy=area.y - box.y) for area in popups if area.size == box.size)
    return next(found, NOWHERE if node.role == "menu" else None)


def _keep_once(program: Program) -> None:
    """Drop top-level windows that are also inside another one (Chromium's alerts)."""
    inside = {node.key for window in program.windows for node in window.walk() if node is not window}
    program.windows = [window for window in program.windows if window.key not in inside]


def _planted(windows: Iterable[Node], items: dict[Any, Any], *, hidden_too: bool = False) -> list[Node]:
    """Build the trees below the windows from cached items. Returns the nodes whose children the cache lacks."""
    below: dict[Key, list[Any]] = {}
    for item in items.values():
        below.setdefault(tuple(item[2]), []).append(item)
    lacking: list[Node] = []
    growing = list(windows)
    while growing:
        node = growing.pop()
        _tell(node, items[node.key])
        family = below.get(node.key, [])
        if _is_lacking(node, len(family), items[node.key][4]):
            lacking.append(node)
            continue
        nodes = [
            Node(tuple(item[0]), role_of(item[7]), states=states_of(item[9]), parent=node)
            for item in sorted(family, key=lambda item: int(item[3]))
        ]
        node.unseen = sum(child.is_scrolled_away for child in nodes)
        node.children = [child for child in nodes if hidden_too or child.shows]
        growing.extend(node.children)
    return lacking


def _is_lacking(node: Node, known: int, count: int) -> bool:
    """Return whether the cache lacks children of a node: it has `known`, the program reports `count` (-1: unknown)."""
    if count < 0:
        return known == 0 and (node.role in spi.ROOMY or node.has("selected"))
    return known < count


def _tell(node: Node, item: Any) -> None:
    _, _, _, _, _, interfaces, name, role, description, words = item
    node.role, node.name, node.description = role_of(role), name, description
    node.states, node.interfaces = states_of(words), frozenset(interfaces)
