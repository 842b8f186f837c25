"""A window's own pixels, also where others cover it, by the Composite extension.

The server keeps the whole window for as long as it is redirected. What was covered before is empty at first: the server
asks its program to draw that, and the program is given a moment for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from Xlib import X
from Xlib.error import XError
from Xlib.ext import composite

from app.base.geometry import Rect
from app.desktop.backends import Frame, Window
from app.desktop.capture import part_of
from app.desktop.x11.connection import Connection

_OF_ONE_CLIENT = 21
"""Bits of a window's number that its program chooses; those above name the program's connection."""
_WITHOUT_KEYS = frozenset(
    f"_NET_WM_WINDOW_TYPE_{kind}" for kind in ("DESKTOP", "DOCK", "DND", "NOTIFICATION", "SPLASH", "TOOLTIP")
)
_MOST_TYPES = 16
_OPAQUE = 0xFFFFFFFF


def drawn(connection: Connection, listed: Sequence[Window], is_own: Callable[[int], bool]) -> tuple[Window, ...]:
    """Return the mapped windows, topmost first. An unmanaged window (a menu) is attributed to its program.

    `is_own` says for a window id whether the window belongs to a Wisp.
    """
    clients = {int(window.ref[1:], 16): window for window in listed if not window.is_minimised}
    frames = {top_level(connection, number): window for number, window in clients.items()}
    programs = {number >> _OF_ONE_CLIENT: window for number, window in clients.items()}
    return tuple(_mapped(connection, frames, programs, is_own))


def _mapped(
    connection: Connection, frames: Mapping[int, Window], programs: Mapping[int, Window], is_own: Callable[[int], bool]
) -> Iterator[Window]:
    for child in reversed(connection.root.query_tree().children):
        try:
            looks = child.get_attributes()
            if looks.map_state != X.IsViewable or looks.win_class != X.InputOutput:
                continue
            known = frames.get(int(child.id))
            if known is None:
                own = is_own(int(child.id))
                takes_keys = not own and bool(looks.override_redirect) and _is_bare(connection, child)
                unlisted = _unlisted(child, programs)
                yield replace(unlisted, is_own=own, takes_keys=takes_keys and not unlisted.ref)
            else:
                client = connection.window(int(known.ref[1:], 16))
                yield replace(known, is_solid=_is_solid(connection, child) and _is_solid(connection, client))
        except XError:  # because the window closed meanwhile
            continue


def _unlisted(window: Any, programs: Mapping[int, Window]) -> Window:
    """Describe a menu, or a window too new for the window list. It may be transparent, as overlays are."""
    shape = window.get_geometry()
    area = Rect(shape.x, shape.y, shape.width + 2 * shape.border_width, shape.height + 2 * shape.border_width)
    inner = [window, *window.query_tree().children]
    owner = next((programs[key] for one in inner if (key := int(one.id) >> _OF_ONE_CLIENT) in programs), None)
    if owner:
        return replace(owner, area=area, is_active=False, is_solid=False, is_popup=True)
    names = next((names for one in inner if (names := one.get_wm_class())), ("", ""))
    return Window("", str(window.get_wm_name() or ""), names[1] or names[0], area, is_solid=False, is_popup=True)


def _is_bare(connection: Connection, window: Any) -> bool:
    """Whether a program drew it past the window manager, to be used: no frame, panel, note or picture of a drag."""
    told = window.get_property(connection.atom("_NET_WM_WINDOW_TYPE"), X.AnyPropertyType, 0, _MOST_TYPES)
    kinds = {connection.atom_name(number) for number in told.value} if told is not None else set()
    return window.get_wm_class() is not None and not kinds & _WITHOUT_KEYS


def _is_solid(connection: Connection, window: Any) -> bool:
    opacity = window.get_full_property(connection.atom("_NET_WM_WINDOW_OPACITY"), X.AnyPropertyType)
    if opacity and opacity.value[0] < _OPAQUE:
        return False
    has_shapes = connection.display.has_extension("SHAPE")
    return not (has_shapes and window.shape_query_extents().bounding_shaped)


def top_level(connection: Connection, number: int) -> int:
    """The child of the root that holds a window: its frame, or itself."""
    window = connection.window(number)
    try:
        while (parent := window.query_tree().parent) and parent.id != connection.root.id:
            window = parent
    except XError:  # because the window closed meanwhile
        return 0
    return int(window.id)


_LOOK_AGAIN_S = 0.035
_MOST_LOOKS = 12
_ALL_PLANES = 0xFFFFFFFF
_DEPTHS = (24, 32)


async def own_pixels(connection: Connection, number: int, has_drawn: Callable[[], Awaitable[None]]) -> Frame | None:
    """What the window shows, its frame included, once two looks are equal; None where the server gives none.

    `has_drawn` returns once its program has worked off what it was sent.
    """
    display: Any = connection.display  # extensions add their methods at run time
    if not display.has_extension(composite.extname):
        return None
    top: Any = connection.window(top_level(connection, number))
    try:
        top.composite_redirect_window(composite.RedirectAutomatic)
        try:
            await has_drawn()
            return await _at_rest(connection, top)
        finally:
            top.composite_unredirect_window(composite.RedirectAutomatic)
            display.flush()
    except XError:  # because the window closed meanwhile
        return None


async def _at_rest(connection: Connection, top: Any) -> Frame | None:
    last = _grabbed(connection, top)
    for _ in range(_MOST_LOOKS):
        await asyncio.sleep(_LOOK_AGAIN_S)
        frame = _grabbed(connection, top)
        if last is None or frame is None or frame.bgrx == last.bgrx:
            return frame
        last = frame
    return last


def _grabbed(connection: Connection, top: Any) -> Frame | None:
    shape = top.get_geometry()
    if shape.depth not in _DEPTHS:
        return None
    pixmap = top.composite_name_window_pixmap()
    border = 2 * shape.border_width
    area = Rect(shape.x, shape.y, shape.width + border, shape.height + border)
    try:
        image = pixmap.get_image(0, 0, area.width, area.height, X.ZPixmap, _ALL_PLANES)
    finally:
        pixmap.free()
    screen = connection.root.get_geometry()
    shown = area.overlap(Rect(0, 0, screen.width, screen.height))
    return part_of(Frame(area, image.data), shown) if shown else None
