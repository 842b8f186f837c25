"""Where windows and popups lie whose program tells places within its own window, as all programs on Wayland do.

The system tells where the program's surface lies (`Window.content`). A program that draws the shadow of its window
itself counts from the shadow's corner; then something inside of the window has exactly the size of the surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.base.geometry import Point, Rect
from app.desktop.accessibility.nodes import NOWHERE, Key, Node, Program, Scale
from app.desktop.accessibility.outline import Stack

_DEPTH = 4
"""How far inside the window that may be which fills its surface. Chromium's is three steps inside."""
_MOST_NODES = 12
_BORDER_PX, _LOWEST_TITLE_PX, _HIGHEST_TITLE_PX = 8, 16, 64
"""What a frame that a program draws around its window measures: at most, at the sides; and its title bar."""

Filling = tuple[Node, ...]
"""What may fill a window's surface: the window, its children together, or one object inside."""


def fillings(window: Node) -> list[Filling]:
    """Outermost first. Their boxes are not read yet."""
    found: list[Filling] = [(window,)]
    level: Sequence[Node] = window.children
    for _ in range(_DEPTH):
        if not 0 < len(level) <= _MOST_NODES:
            break
        found += [tuple(level), *((node,) for node in level)]
        level = [child for node in level for child in node.children]
    return found


def place(program: Program, windows: Sequence[Node], stack: Stack, *, is_adrift: bool) -> None:
    """Find the scales of windows if their program tells places within them. `is_adrift`: its popups' are of no use, and
    it counts what it draws around a window as a part of it.

    The boxes of the windows and of their `fillings` were read. A popup is no window of the system, and does not tell
    places from the corner of its own.
    """
    contents = {window.key: _contents(program, window, stack) for window in windows if _is_at_origin(window)}
    if not contents or not stack.is_wayland:
        return
    program.is_within = True
    for window in windows:
        if window.key in contents:
            scale, anchor = anchored(contents[window.key], fillings(window))
            if not anchor and not is_adrift and window.box:
                scale, anchor = framed(contents[window.key], window)
            program.scales[window.key] = scale
            program.anchors[window.key] = anchor
    for window in windows:
        if window.key not in contents:
            program.scales[window.key] = NOWHERE if is_adrift else _of_parent(program, stack)
            program.anchors[window.key] = ()


def anchored(contents: Sequence[Rect], found: Sequence[Filling]) -> tuple[Scale, Filling]:
    """Return the scale by which what fills a surface lies in it, and what that is.

    NOWHERE if nothing fills a surface (the window may just be changing its size), or if it may be more than one.
    """
    boxes = [(filling, box) for filling in found if (box := around(node.box for node in filling)) is not None]
    for fills in (_fills, _overflows):
        for filling, box in boxes:
            if scales := {_laid(box, area) for area in contents if fills(box, area)}:
                return (scales.pop() if len(scales) == 1 else NOWHERE), filling
    return NOWHERE, ()


def framed(contents: Sequence[Rect], window: Node) -> tuple[Scale, Filling]:
    """Return the scale of a window whose program draws the frame around it: GNOME leaves that to Qt.

    The frame is as wide at the bottom as at the sides; what remains of the height is the title bar.
    """
    box = window.box
    scales = {scale for area in contents if box and (scale := _within_frame(box, area))}
    return (scales.pop(), (window,)) if len(scales) == 1 else (NOWHERE, ())


def _within_frame(box: Rect, area: Rect) -> Scale | None:
    border, odd = divmod(area.width - box.width, 2)
    title_px = area.height - box.height - border
    is_frame = not odd and 0 <= border <= _BORDER_PX and _LOWEST_TITLE_PX <= title_px <= _HIGHEST_TITLE_PX
    return Scale(dx=area.x + border - box.x, dy=area.y + title_px - box.y) if is_frame else None


def anchored_again(contents: Sequence[Rect], box: Rect | None, before: Scale, *, is_adrift: bool) -> Scale:
    """Return the scale by which a box lies that filled a surface before; NOWHERE if it fills none now, or several."""
    if box is None:
        return NOWHERE
    scales = {_laid(box, area) for area in contents if _fills(box, area) or _overflows(box, area)}
    if not scales and not is_adrift:
        scales = {scale for area in contents if (scale := _within_frame(box, area))}
    if before in scales:
        return before
    return scales.pop() if len(scales) == 1 else NOWHERE


def _laid(box: Rect, area: Rect) -> Scale:
    return Scale(dx=area.x - box.x, dy=area.y - box.y)


def _fills(box: Rect, area: Rect) -> bool:
    return box.size == area.size


def _overflows(box: Rect, area: Rect) -> bool:
    """True if a window cannot be as narrow, or as low, as its surface. Compositors show its top left part."""
    is_wider = box.width > area.width and box.height == area.height
    return is_wider or (box.width == area.width and box.height > area.height)


def around(boxes: Iterable[Rect | None]) -> Rect | None:
    """Return the smallest rectangle around boxes; None if none of them has an area."""
    known = [box for box in boxes if box is not None and box.size.area]
    if not known:
        return None
    left, top = min(box.x for box in known), min(box.y for box in known)
    return Rect(left, top, max(box.right for box in known) - left, max(box.bottom for box in known) - top)


def _is_at_origin(window: Node) -> bool:
    return window.box is not None and (window.box.x, window.box.y) == (0, 0) and window.box.size.area > 0


def _contents(program: Program, window: Node, stack: Stack) -> list[Rect]:
    return stack.contents(program.pid, window.name, is_active=window.has("active") if program.is_active else None)


def _of_parent(program: Program, stack: Stack) -> Scale:
    """Return the scale of a popup that lists no parent: that of its program's only window, or of the active one."""
    placed = [window for window in program.windows if program.anchors.get(window.key)]
    if len(placed) > 1:
        placed = [window for window in placed if stack.is_active(program.pid, window.name)]
    return program.scales[placed[0].key] if len(placed) == 1 else NOWHERE


_TOUCH_PX = 8
"""How far a menu may lie from what opened it, because of its frame."""


def open_menus(program: Program) -> list[tuple[Node, Node]]:
    """Of a program of GTK 3. Outer ones first, each after its window."""
    menus = [(window, node) for window, node in program.walk() if node.role == "menu"]
    return [(window, menu) for window, menu in menus if any(child.shows for child in menu.children)]


def place_menus(program: Program, menus: Sequence[tuple[Node, Node]], within: Mapping[Key, Rect]) -> None:
    """Find the scales of what GTK 3's open menus hold. `within` has the box of each menu's first entry in that menu.

    GTK 3 tells where a menu lies as counted from the menu bar, or for that of a combo box from the window. The menu's
    shadow is told as a part of it. NOWHERE if the menu would not touch what opened it, and for a context menu.
    """
    found: dict[Key, tuple[Point, Scale]] = {}
    for window, menu in menus:
        entries = [child for child in menu.children if child.box is not None and child.box.size.area]
        told, first = around(child.box for child in entries), within.get(menu.key)
        if told is None or first is None or entries[0].box is None or menu.box is None or menu.parent is None:
            continue
        scale, base, opener = program.scale_for(window), Point(0, 0), menu.box
        if menu.parent.role == "combo box" and menu.parent.box:
            told, opener = menu.box, menu.parent.box
        elif menu.parent.role == "menu bar" and menu.parent.box:
            base = Point(menu.parent.box.x, menu.parent.box.y)
        elif menu.parent.key in found:
            base, outer = found[menu.parent.key]
            opener = Rect(opener.x + outer.dx - scale.dx, opener.y + outer.dy - scale.dy, opener.width, opener.height)
        else:
            continue
        corner = Point(base.x + entries[0].box.x - first.x, base.y + entries[0].box.y - first.y)
        place = Rect(corner.x, corner.y, told.width, told.height)
        if scale != NOWHERE and _touch(place, opener):
            found[menu.key] = base, scale.moved(told, place)
    for _, menu in menus:
        scale = found[menu.key][1] if menu.key in found else NOWHERE
        is_title = menu.parent is not None and menu.parent.role != "combo box"
        program.scales |= {node.key: scale for node in (menu.children if is_title else [menu])}


def is_popover(node: Node) -> bool:
    """Return whether a node of GTK 4 is a popup, which tells its place as if it lay where its opener lies.

    Its class says so (before GTK 4.10), or it is a part of a control and does not lie in it.
    """
    parent = node.parent
    if node.is_floating or parent is None or not parent.is_operable or node.box is None or parent.box is None:
        return node.is_floating
    return node.box.size.area > 0 and parent.box.overlap(node.box) != node.box


def _touch(popup: Rect, opener: Rect) -> bool:
    """True if the popup lies right below, above or beside what opened it, or over it from the same left edge."""
    is_beside_y = popup.y < opener.bottom and opener.y < popup.bottom
    is_beside_x = popup.x < opener.right and opener.x < popup.right
    edges_y = (popup.y - opener.bottom, opener.y - popup.bottom)
    edges_x = (popup.x - opener.right, opener.x - popup.right, popup.x - opener.x)
    near_y, near_x = (any(abs(edge) <= _TOUCH_PX for edge in edges) for edges in (edges_y, edges_x))
    return (is_beside_x and near_y) or (is_beside_y and near_x)
