"""What the X server and the process table report about a window: its properties, its pixels, its pages' processes.

Pixels come from the Composite extension: the server keeps the whole window for as long as it is redirected. Parts that
were covered are empty at first, so the program gets a moment to draw them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from Xlib import X
from Xlib.error import XError
from Xlib.ext import composite
from Xlib.xobject.drawable import Window as XWindow

from app.base.geometry import Rect
from app.base.values import replace
from app.desktop.backends import Frame, Window, WindowState
from app.desktop.capture import part_of
from app.desktop.x11.connection import Connection, Marks

_NO_WINDOWS = {"_NET_WM_WINDOW_TYPE_DESKTOP", "_NET_WM_WINDOW_TYPE_DOCK", "_NET_WM_WINDOW_TYPE_SPLASH"}
_DIALOG = "_NET_WM_WINDOW_TYPE_DIALOG"
_PROPERTY_LENGTH = 4096
_ON_ALL_DESKTOPS = 0xFFFFFFFF
_TREE_LAG_S = 0.1  # because a browser's accessibility tree is out of date this long after a page has handled a key
_BETWEEN_LOOKS_S = 0.01
_WHOLE_REST, _ENOUGH_REST = 3, 6


def property_of(connection: Connection, window: XWindow, name: str) -> Any:
    """None if the property is not set, or the window is gone."""
    try:
        told = window.get_property(connection.atom(name), X.AnyPropertyType, 0, _PROPERTY_LENGTH)
    except XError:
        return None
    return told.value if told is not None else None


def pid_of(connection: Connection, number: int) -> int:
    """Return the process of a window, as its program (xterm does not) or the server reports it; 0 if unknown."""
    told = property_of(connection, connection.window(number), "_NET_WM_PID")
    return int(next(iter(told or (0,)))) or connection.pid_of_client(number)


def extents(connection: Connection, window: XWindow) -> tuple[int, int, int, int]:
    """Return the widths of a window's frame, in pixels: left, right, top, bottom."""
    left, right, top, bottom = property_of(connection, window, "_NET_FRAME_EXTENTS") or (0, 0, 0, 0)
    return int(left), int(right), int(top), int(bottom)


STATES = {
    WindowState.MAXIMISED: ("_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ"),
    WindowState.FULL_SCREEN: ("_NET_WM_STATE_FULLSCREEN",),
    WindowState.ABOVE: ("_NET_WM_STATE_ABOVE",),
}
"""How the window manager's standard (EWMH) calls each state."""


def read_window(connection: Connection, number: int, marks: Marks, *, is_active: bool) -> Window | None:
    """From now on, the server reports the window's changes. None if it closed or is no normal window."""
    window = connection.window(number)
    try:
        window.change_attributes(event_mask=X.PropertyChangeMask)
        kinds = {connection.atom_name(a) for a in property_of(connection, window, "_NET_WM_WINDOW_TYPE") or ()}
        if kinds & _NO_WINDOWS:
            return None
        states = {connection.atom_name(a) for a in property_of(connection, window, "_NET_WM_STATE") or ()}
        names = window.get_wm_class() or ("", "")
        pid = pid_of(connection, number)
        return Window(
            ref=f"w{number:x}",
            title=title_of(connection, window),
            app=names[1] or names[0] or _file_of(pid),
            area=_area(connection, window),
            pid=pid,
            is_active=is_active,
            is_minimised="_NET_WM_STATE_HIDDEN" in states,
            is_dialog=_DIALOG in kinds or window.get_wm_transient_for() is not None,
            is_own=marks.is_on(number) or pid in marks.pids | {os.getpid()},
            is_of_other_wisp=marks.is_of_other(number),
            desktop=_desktop_of(connection, window),
            states=frozenset(state for state, names in STATES.items() if states.issuperset(names)),
        )
    except XError:  # because the window closed while it was read
        return None


def _desktop_of(connection: Connection, window: XWindow) -> int:
    """Counted from 1; 0 if the window is on all virtual desktops."""
    told = int(next(iter(property_of(connection, window, "_NET_WM_DESKTOP") or (0,))))
    return 0 if told == _ON_ALL_DESKTOPS else told + 1


def title_of(connection: Connection, window: XWindow) -> str:
    """Raises XError if the window is gone."""
    told = window.get_full_property(connection.atom("_NET_WM_NAME"), X.AnyPropertyType)
    raw = told.value if told else window.get_wm_name() or ""
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)


def _area(connection: Connection, window: XWindow) -> Rect:
    shape = window.get_geometry()
    corner = connection.root.translate_coords(window, 0, 0)
    left, right, top, bottom = extents(connection, window)
    return Rect(corner.x - left, corner.y - top, shape.width + left + right, shape.height + top + bottom)


def _file_of(pid: int) -> str:
    """The name of the file that a process runs, for windows that name no program; "" if unknown."""
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:  # because the process has ended or belongs to another user
        return ""


_OF_ONE_CLIENT = 21
"""How many low bits of a window's number its program chooses; the higher ones name its connection."""
_TIP = "_NET_WM_WINDOW_TYPE_TOOLTIP"
_WITHOUT_KEYS = frozenset(
    {_TIP, *(f"_NET_WM_WINDOW_TYPE_{kind}" for kind in ("DESKTOP", "DOCK", "DND", "NOTIFICATION", "SPLASH"))}
)
_MOST_TYPES = 16
_OPAQUE = 0xFFFFFFFF  # Lower values are translucent: the window below shines through.


def drawn(connection: Connection, listed: Sequence[Window], marks: Marks) -> tuple[Window, ...]:
    """Return the visible windows, topmost first. A menu, which is not in `listed`, gets the data of its program.

    `marks` say which windows belong to a Wisp.
    """
    clients = {int(window.ref[1:], 16): window for window in listed if not window.is_minimised}
    frames = {top_level(connection, number): window for number, window in clients.items()}
    programs = {number >> _OF_ONE_CLIENT: window for number, window in clients.items()}
    return tuple(_mapped(connection, frames, programs, marks))


def _mapped(
    connection: Connection, frames: Mapping[int, Window], programs: Mapping[int, Window], marks: Marks
) -> Iterator[Window]:
    for child in reversed(connection.root.query_tree().children):
        try:
            looks = child.get_attributes()
            if looks.map_state != X.IsViewable or looks.win_class != X.InputOutput:
                continue
            known = frames.get(int(child.id))
            if known is None:
                own = marks.is_on(int(child.id))
                kinds = _kinds(connection, child) if looks.override_redirect else frozenset()
                is_bare = bool(looks.override_redirect) and _is_bare(child, kinds)
                takes_keys = is_bare and not own and not marks.is_managers(int(child.id))
                unlisted = _unlisted(child, programs)
                others = marks.is_of_other(int(child.id))
                takes_keys = takes_keys and not unlisted.ref
                unlisted = replace(unlisted, is_own=own, is_of_other_wisp=others, takes_keys=takes_keys)
                yield replace(unlisted, is_tip=_TIP in kinds)
            else:
                client = connection.window(int(known.ref[1:], 16))
                yield replace(known, is_solid=_is_solid(connection, child) and _is_solid(connection, client))
        except XError:  # because the window closed meanwhile
            continue


def _unlisted(window: Any, programs: Mapping[int, Window]) -> Window:
    """A menu, or a window not yet in the window list. It may be transparent, as overlays are."""
    shape = window.get_geometry()
    area = Rect(shape.x, shape.y, shape.width + 2 * shape.border_width, shape.height + 2 * shape.border_width)
    inner = [window, *window.query_tree().children]
    owner = next((programs[key] for one in inner if (key := int(one.id) >> _OF_ONE_CLIENT) in programs), None)
    if owner:
        return replace(owner, area=area, is_active=False, is_solid=False, is_popup=True)
    names = next((names for one in inner if (names := one.get_wm_class())), ("", ""))
    return Window("", str(window.get_wm_name() or ""), names[1] or names[0], area, is_solid=False, is_popup=True)


def _kinds(connection: Connection, window: Any) -> frozenset[str]:
    told = window.get_property(connection.atom("_NET_WM_WINDOW_TYPE"), X.AnyPropertyType, 0, _MOST_TYPES)
    return frozenset(connection.atom_name(number) for number in told.value) if told is not None else frozenset()


def _is_bare(window: Any, kinds: frozenset[str]) -> bool:
    """True if it takes keys without a window manager's help, unlike a panel or tool tip."""
    return window.get_wm_class() is not None and not kinds & _WITHOUT_KEYS


def _is_solid(connection: Connection, window: Any) -> bool:
    opacity = window.get_full_property(connection.atom("_NET_WM_WINDOW_OPACITY"), X.AnyPropertyType)
    if opacity and opacity.value[0] < _OPAQUE:
        return False
    has_shapes = connection.display.has_extension("SHAPE")
    return not (has_shapes and window.shape_query_extents().bounding_shaped)


def top_level(connection: Connection, number: int) -> int:
    """Return the number of the root's child that contains a window: its frame or itself; 0 if it closed."""
    window = connection.window(number)
    try:
        while (parent := window.query_tree().parent) and parent.id != connection.root.id:
            window = parent
    except XError:  # because the window closed meanwhile
        return 0
    return int(window.id)


def client_below(connection: Connection, window: Any) -> int:
    """Return the number of the program's window (with WM_STATE) at or within a frame; 0 if there is none.

    The mark is the window manager's: https://x.org/releases/current/doc/xorg-docs/icccm/icccm.html, section 4.1.3.1.
    """
    if property_of(connection, window, "WM_STATE") is not None:
        return int(window.id)
    return next((found for child in window.query_tree().children if (found := client_below(connection, child))), 0)


_LOOK_AGAIN_S = 0.035
_MOST_LOOKS = 12
_ALL_PLANES = 0xFFFFFFFF
_DEPTHS = (24, 32)


async def own_pixels(connection: Connection, number: int, has_drawn: Callable[[], Awaitable[None]]) -> Frame | None:
    """Capture a window with its frame, once two captures are equal. None if the server cannot.

    `has_drawn` returns once the program has handled its events.
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
            # Stop again, because a redirected window costs the server a copy at every drawing.
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
    if shape.depth not in _DEPTHS:  # because other depths do not have four bytes for a pixel
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


_MARKS = (b"--type=", b"-contentproc", b"WebKitWebProcess")
"""Parts of the command lines of page processes: those of Chromium and Electron, Firefox, WebKit."""


def has_pages_apart(pid: int) -> bool:
    """True if other processes draw the pages of a program's window, or if the pid is unknown."""
    return pid == 0 or any(any(mark in _command(child) for mark in _MARKS) for child in _children(pid))


def _children(pid: int) -> list[int]:
    try:
        told = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # because the process has ended meanwhile
        return []
    return [int(child) for line in told for child in line.split()]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # because the process has ended meanwhile
        return b""


async def pages_at_rest(pid: int) -> None:
    """Wait until a browser's page processes are idle: it answers a ping before they get the input."""
    await asyncio.sleep(_TREE_LAG_S)
    family = _family(pid)
    rest = 0
    while rest < _ENOUGH_REST:
        await asyncio.sleep(_BETWEEN_LOOKS_S)
        if all(_sleeps(thread) for one in family for thread in _threads(one)):
            rest += _WHOLE_REST
        elif all(_sleeps(Path(f"/proc/{one}/task/{one}")) for one in family):
            rest += 1  # because pages that move or play keep their other threads awake


def _family(pid: int) -> list[int]:
    return [pid, *(one for child in _children(pid) for one in _family(child))]


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # because the process has ended meanwhile
        return []


def _sleeps(thread: Path) -> bool:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0] != "R"
    except OSError:  # because the thread has ended meanwhile
        return True


def is_asleep(pid: int) -> bool:
    """True if all threads of a process are waiting, so that it has read what was sent."""
    try:
        threads = _threads(pid)
        states = [(thread / "stat").read_text().rpartition(")")[2].split()[0] for thread in threads]
        waits = [(thread / "wchan").read_text() for thread in threads]
    except OSError:  # because the process has ended meanwhile, or is not known
        return True
    return set(states) <= {"S"} and not any("nanosleep" in wait for wait in waits)
