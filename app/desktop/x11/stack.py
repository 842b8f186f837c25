"""What is really drawn on an X11 screen, and in which order: menus and tool tips are windows that nobody lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from Xlib import X
from Xlib.error import XError

from app.base.geometry import Rect
from app.desktop.api import Window
from app.desktop.x11.connection import Connection

_OF_ONE_CLIENT = 21
"""Bits of a window's number that its program chooses; those above name the program's connection."""
_WITHOUT_KEYS = frozenset(
    f"_NET_WM_WINDOW_TYPE_{kind}" for kind in ("DESKTOP", "DOCK", "DND", "NOTIFICATION", "SPLASH", "TOOLTIP")
)
_MOST_TYPES = 16
_OPAQUE = 0xFFFFFFFF


def drawn(connection: Connection, listed: Sequence[Window], is_own: Callable[[int], bool]) -> tuple[Window, ...]:
    """The windows that are mapped, topmost first; those that nobody manages count as their program's. `is_own` tells
    by its number whether a window belongs to a Wisp.
    """
    clients = {int(window.ref[1:], 16): window for window in listed if not window.is_minimised}
    frames = {top_level(connection, number): window for number, window in clients.items()}
    programs = {number >> _OF_ONE_CLIENT: window for number, window in clients.items()}
    return tuple(_mapped(connection, frames, programs, is_own))


def _mapped(
    connection: Connection,
    frames: Mapping[int, Window],
    programs: Mapping[int, Window],
    is_own: Callable[[int], bool],
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
        except XError:
            continue


def _unlisted(window: Any, programs: Mapping[int, Window]) -> Window:
    """A menu, or a window so new that nobody lists it yet. It may be see-through: overlays are."""
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
    except XError:
        return 0
    return int(window.id)
