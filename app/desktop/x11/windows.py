"""Top-level windows, through the window manager's standard (EWMH), or directly if there is no window manager."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from Xlib import X
from Xlib.error import XError
from Xlib.xobject.drawable import Window as XWindow

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.ids import WINDOW_MARK
from app.desktop.backends import Frame, Landing, Window
from app.desktop.x11.connection import Connection, Marks, drawn, own_pixels, read_marks

_LIMIT_S = 2.0
_CLOSING_S = 5.0
_LOOK_AGAIN_S = 0.1
_BUTTONS = 0x1F00  # the mouse buttons, in the server's button and modifier state
_TREE_LAG_S = 0.1  # because a browser's accessibility tree is out of date this long after a page has handled a key
_BETWEEN_LOOKS_S = 0.01
_WHOLE_REST, _ENOUGH_REST = 3, 6
# because window managers may refuse a plain program: https://specifications.freedesktop.org/wm-spec/wm-spec-latest.html
_BY_A_PAGER = 2
_MOVE_RESIZE_FLAGS = (0b1111 << 8) | (_BY_A_PAGER << 12) | X.StaticGravity
_NO_WINDOWS = {"_NET_WM_WINDOW_TYPE_DESKTOP", "_NET_WM_WINDOW_TYPE_DOCK", "_NET_WM_WINDOW_TYPE_SPLASH"}
_DIALOG = "_NET_WM_WINDOW_TYPE_DIALOG"
_EXTENTS = "_NET_FRAME_EXTENTS"
_PROPERTY_LENGTH = 4096
_MATTERING = (
    "WM_CLASS", "WM_NAME", "WM_TRANSIENT_FOR", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING",
    "_NET_FRAME_EXTENTS", "_NET_SUPPORTING_WM_CHECK", "_NET_WM_DESKTOP", "_NET_WM_NAME", "_NET_WM_PID", "_NET_WM_STATE",
    "_NET_WM_WINDOW_OPACITY", "_NET_WM_WINDOW_TYPE", WINDOW_MARK,
)  # fmt: skip
"""The properties that change a `Window`. Programs set others at every click and key."""
_ORDERING = ("_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING")
# StructureNotify is included because Qt sends answers to pings only to clients that select it.
_NEWS = X.PropertyChangeMask | X.SubstructureNotifyMask | X.StructureNotifyMask


class X11Windows:
    """The top-level windows. It listens to the root window, so waiting costs nothing and ends at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._news = asyncio.Event()
        self._known: tuple[Window, ...] | None = None
        self._drawn: tuple[Window, ...] | None = None
        self._marks: Marks | None = None
        self._known_order: tuple[int, ...] = ()
        self._is_doubtful = False
        self._asking: XWindow | None = None
        self._pings: dict[int, asyncio.Event] = {}
        self._ordering = frozenset(connection.atom(name) for name in _ORDERING)
        self._mattering = frozenset(connection.atom(name) for name in _MATTERING)
        connection.root.change_attributes(event_mask=_NEWS)
        connection.listen(self._note)

    def _note(self, event: Any) -> None:
        if event.type == X.ClientMessage and event.client_type == self._connection.atom("WM_PROTOCOLS"):
            answered = self._pings.get(event.data[1][1])
            if answered:
                answered.set()
        elif event.type == X.PropertyNotify and event.atom not in self._mattering:
            return
        elif event.type == X.PropertyNotify and event.atom in self._ordering:
            self._news.set()
            self._is_doubtful = True
        elif event.type in (X.PropertyNotify, X.MapNotify, X.UnmapNotify, X.DestroyNotify, X.ConfigureNotify):
            self._news.set()
            self._known = self._drawn = self._marks = None

    # --- seeing

    def all(self) -> tuple[Window, ...]:
        """Return the known list if no event arrived: the server sends events before any later reply."""
        if self._known is not None:
            self._connection.display.sync()
        return self._heard()

    def _heard(self) -> tuple[Window, ...]:
        """Return all windows. The server has just replied to something, so earlier events have arrived."""
        self._connection.drain()
        if self._is_doubtful and self._known is not None:
            self._is_doubtful = False
            # Window managers write the same order again at every click.
            if self._order() != self._known_order:
                self._known = self._drawn = None
        return self._known if self._known is not None else self._asked()

    def _order(self) -> tuple[int, ...]:
        """Return the active window, and all windows from the top."""
        return (self.active(), *self._clients())

    def _asked(self) -> tuple[Window, ...]:
        self._connection.drain()
        # Set the list before reading it, so that an event meanwhile clears it and the result is not kept.
        self._known, self._is_doubtful = (), False
        self._known_order = active, *numbers = self._order()
        found = (self._told(number, is_active=number == active) for number in numbers)
        windows = tuple(window for window in found if window)
        self._connection.drain()
        if self._known is not None:
            self._known = windows if self._is_managed() else None
        return windows

    def shown(self) -> tuple[Window, ...]:
        listed = self.all()
        if self._known is None or self._drawn is None:
            self._drawn = drawn(self._connection, listed, self._is_own)
        return self._drawn

    def keyboard(self) -> Landing:
        focus = self._connection.display.get_input_focus().focus
        number = focus if isinstance(focus, int) else int(focus.id)
        known = {window.ref: window for window in self._heard()}
        ref = self._window_around(number, known)
        is_own = self._is_own(number) or (ref in known and known[ref].is_own)
        return Landing(f"{number:x}", ref, is_own)

    def _window_around(self, focused: int, known: Mapping[str, Window]) -> str:
        """Return the ref of the window that contains the focused X window, or of the active one."""
        # Do not ask the window manager, because it reports windows and the active one late (_NET_ACTIVE_WINDOW):
        # https://specifications.freedesktop.org/wm-spec/wm-spec-latest.html
        inner = focused
        while inner > X.PointerRoot:
            if f"w{inner:x}" in known:
                return f"w{inner:x}"
            try:
                around = self._connection.window(inner).query_tree()
            except XError:  # because the window closed meanwhile
                break
            if around.parent == self._connection.root:
                return f"w{inner:x}"
            inner = int(around.parent.id) if around.parent else X.NONE
        return next((window.ref for window in known.values() if window.is_active), "")

    def under(self, point: Point) -> Landing:
        """Ask the server, because it skips windows that take no input at that point."""
        chain: list[int] = []
        window = self._connection.root
        try:
            while child := window.translate_coords(self._connection.root, point.x, point.y).child:
                chain.append(int(child.id))
                window = child
        except XError:  # because a window in the chain closed meanwhile
            return Landing()
        known = {int(each.ref[1:], 16): each for each in self._heard()}
        found = next((known[number] for number in chain if number in known), None) or self._program_of(chain)
        is_own = any(self._is_own(number) for number in chain) or (found is not None and found.is_own)
        framed = self._framed_by(chain[0]) if chain and found is None and not is_own else ""
        return Landing(f"{chain[0]:x}" if chain else "", found.ref if found else "", is_own, framed)

    def _framed_by(self, number: int) -> str:
        """Return the ref of the listed window whose frame this is, or ""."""
        for window in self.all():
            above = self._connection.window(_number(window.ref))
            try:
                while (holder := above.query_tree().parent) and holder.id != self._connection.root.id:
                    above = holder
            except XError:  # because the window closed meanwhile
                continue
            if above.id == number:
                return window.ref
        return ""

    def _program_of(self, chain: Sequence[int]) -> Window | None:
        """Return the listed window of the program that created one of these windows, such as its menus."""
        bits = int(self._connection.display.display.info.resource_id_mask)
        programs = {number & ~bits for number in chain}
        return next((window for window in self.all() if _number(window.ref) & ~bits in programs), None)

    def _is_own(self, number: int) -> bool:
        return self._marked().is_on(number)

    def _marked(self) -> Marks:
        self._connection.drain()
        if self._marks is None:
            self._marks = read_marks(self._connection)
        return self._marks

    def _clients(self) -> list[int]:
        """Return the window numbers, topmost first."""
        told = self._property(self._connection.root, "_NET_CLIENT_LIST_STACKING")
        if told is not None:
            return [int(number) for number in reversed(told)]
        return list(reversed(list(self._bare_clients())))

    def _bare_clients(self) -> Iterator[int]:
        """Yield the windows without a window manager: the viewable children of the root that are not menus."""
        for child in self._connection.root.query_tree().children:
            try:
                attributes = child.get_attributes()
                if attributes.map_state == X.IsViewable and not attributes.override_redirect and child.get_wm_class():
                    yield int(child.id)
            except XError:  # because the window closed after it was listed
                continue

    def _told(self, number: int, *, is_active: bool) -> Window | None:
        window = self._connection.window(number)
        try:
            window.change_attributes(event_mask=X.PropertyChangeMask)
            kinds = {self._connection.atom_name(a) for a in self._property(window, "_NET_WM_WINDOW_TYPE") or ()}
            if kinds & _NO_WINDOWS:
                return None
            states = {self._connection.atom_name(a) for a in self._property(window, "_NET_WM_STATE") or ()}
            names = window.get_wm_class() or ("", "")
            pid = self.pid(number)
            return Window(
                ref=f"w{number:x}",
                title=self._title(window),
                app=names[1] or names[0] or _file_of(pid),
                area=self._area(window),
                pid=pid,
                is_active=is_active,
                is_minimised="_NET_WM_STATE_HIDDEN" in states,
                is_dialog=_DIALOG in kinds or window.get_wm_transient_for() is not None,
                is_own=self._is_own(number) or pid in self._marked().pids | {os.getpid()},
                desktop=int(next(iter(self._property(window, "_NET_WM_DESKTOP") or (0,)))),
            )
        except XError:  # because the window closed while it was read
            return None

    def _title(self, window: XWindow) -> str:
        told = window.get_full_property(self._connection.atom("_NET_WM_NAME"), X.AnyPropertyType)
        raw = told.value if told else window.get_wm_name() or ""
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)

    def _area(self, window: XWindow) -> Rect:
        shape = window.get_geometry()
        corner = self._connection.root.translate_coords(window, 0, 0)
        left, right, top, bottom = (int(n) for n in (self._property(window, "_NET_FRAME_EXTENTS") or (0, 0, 0, 0)))
        return Rect(corner.x - left, corner.y - top, shape.width + left + right, shape.height + top + bottom)

    def _property(self, window: XWindow, name: str) -> Any:
        """Return a property's value. None if it is not set, or the window is gone."""
        try:
            told = window.get_property(self._connection.atom(name), X.AnyPropertyType, 0, _PROPERTY_LENGTH)
        except XError:
            return None
        return told.value if told is not None else None

    def active(self) -> int:
        """Return the number of the window that has the keyboard, or 0 if none has it."""
        told = self._property(self._connection.root, "_NET_ACTIVE_WINDOW")
        if told is not None and len(told) and told[0]:
            return int(told[0])
        return self._top_of(self._connection.display.get_input_focus().focus)

    def pid(self, number: int) -> int:
        """Return the process of a window, as its program (xterm does not) or the server reports it; 0 if unknown."""
        told = self._property(self._connection.window(number), "_NET_WM_PID")
        return int(next(iter(told or (0,)))) or self._connection.pid_of_client(number)

    def _top_of(self, focus: Any) -> int:
        """Return the client window around a focused one."""
        if isinstance(focus, int):
            return 0
        clients = set(self._clients())
        window = focus
        while window and window.id != self._connection.root.id:
            if int(window.id) in clients:
                return int(window.id)
            try:
                window = window.query_tree().parent
            except XError:  # because the window closed meanwhile
                return 0
        return 0

    # --- acting

    async def focus(self, ref: str) -> Window:
        found = self._by_ref(ref)
        window = self._connection.window(_number(ref))
        if self._is_managed():
            self._connection.send(window, "_NET_ACTIVE_WINDOW", (_BY_A_PAGER, X.CurrentTime, 0))
        else:
            window.configure(stack_mode=X.Above)
            window.set_input_focus(X.RevertToParent, X.CurrentTime)
            self._connection.display.sync()
        if not await self.until(lambda: self.has_keyboard(ref), _LIMIT_S):
            raise ToolFailed(
                f"The window {found.title!r} did not come forward; another one may be holding the keyboard."
            )
        return self._by_ref(ref)

    def has_keyboard(self, ref: str) -> bool:
        """Return whether a window is the active one and keys go to it or to a window inside it."""
        number = _number(ref)
        return self.active() == number and self._top_of(self._connection.display.get_input_focus().focus) == number

    async def close(self, ref: str) -> bool:
        self._by_ref(ref)
        window = self._connection.window(_number(ref))
        if self._is_managed():
            self._connection.send(window, "_NET_CLOSE_WINDOW", (X.CurrentTime, _BY_A_PAGER))
        else:
            data = (self._connection.atom("WM_DELETE_WINDOW"), X.CurrentTime)
            self._connection.send(window, "WM_PROTOCOLS", data, mask=X.NoEventMask)
        return await self._is_gone(ref)

    async def _is_gone(self, ref: str) -> bool:
        """Wait until the window is gone, or until its program opens a dialog."""
        before = {window.ref for window in self.all()}

        def is_decided() -> bool:
            now = self.all()
            asks = any(window.is_dialog and window.ref not in before for window in now)
            return asks or all(window.ref != ref for window in now)

        await self.until(is_decided, _CLOSING_S)
        return all(window.ref != ref for window in self.all())

    async def place(self, ref: str, area: Rect) -> Window:
        before = self._by_ref(ref)
        window = self._connection.window(_number(ref))
        left, right, top, bottom = (int(n) for n in (self._property(window, "_NET_FRAME_EXTENTS") or (0, 0, 0, 0)))
        inner = Rect(area.x + left, area.y + top, area.width - left - right, area.height - top - bottom)
        if self._is_managed():
            # Restore it first, because window managers ignore a move of a maximised window.
            for state in ("_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ", "_NET_WM_STATE_FULLSCREEN"):
                self._connection.send(window, "_NET_WM_STATE", (0, self._connection.atom(state), 0, _BY_A_PAGER))
            self._connection.send(
                window, "_NET_MOVERESIZE_WINDOW", (_MOVE_RESIZE_FLAGS, inner.x, inner.y, inner.width, inner.height)
            )
        else:
            window.configure(x=inner.x, y=inner.y, width=inner.width, height=inner.height)
            self._connection.display.sync()
        await self.until(lambda: self._by_ref(ref).area != before.area or before.area == area, _LIMIT_S)
        return self._by_ref(ref)

    async def minimise(self, ref: str) -> None:
        self._by_ref(ref)
        if not self._is_managed():
            raise ToolFailed("No window manager is running here, so windows cannot be minimised.")
        self._connection.send(self._connection.window(_number(ref)), "WM_CHANGE_STATE", (3,))
        await self.until(lambda: self._by_ref(ref).is_minimised, _LIMIT_S)

    def _is_managed(self) -> bool:
        told = self._property(self._connection.root, "_NET_SUPPORTING_WM_CHECK")
        return told is not None and bool(told)

    def _by_ref(self, ref: str) -> Window:
        found = next((window for window in self.all() if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone; list_windows shows what is there.")
        return found

    async def picture(self, ref: str) -> Frame | None:
        number = _number(self._by_ref(ref).ref)
        if not await self.answers(ref, _LIMIT_S):
            return None

        async def has_drawn() -> None:
            await self.answers(ref, _LIMIT_S)

        return await own_pixels(self._connection, number, has_drawn)

    async def arranged(self, limit_s: float) -> bool:
        """Ask for a frame's size: window managers answer requests in order, on the window that asks."""
        if not self._is_managed():
            return False
        if self._asking is None:
            root = self._connection.root
            self._asking = root.create_window(-1, -1, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask)
        extents = self._connection.atom(_EXTENTS)
        self._asking.delete_property(extents)
        self._connection.send(self._asking, "_NET_REQUEST_FRAME_EXTENTS", ())
        return await self.until(lambda: self._property(self._asking, _EXTENTS) is not None, limit_s)

    async def changed(self, limit_s: float) -> None:
        self._news.clear()
        self._connection.drain()
        try:
            async with asyncio.timeout(limit_s):
                await self._news.wait()
        except TimeoutError:
            return

    async def until(self, is_so: Callable[[], bool], limit_s: float) -> bool:
        """Wait until the condition is true, and return whether it is. Checked at every change and now and then."""
        limit = time.monotonic() + limit_s
        while not is_so():
            left = limit - time.monotonic()
            if left <= 0:
                return False
            await self.changed(min(left, _LOOK_AGAIN_S))
        return True

    def is_answering(self, number: int) -> bool:
        """Return whether a window's program answers `_NET_WM_PING` (Tk's and plain X programs do not)."""
        protocols = self._property(self._connection.window(number), "WM_PROTOCOLS") or ()
        return self._connection.atom("_NET_WM_PING") in protocols

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:
        """Send `_NET_WM_PING`: a program answers it after the input that it got before."""
        number = _number(ref)
        if not self.is_answering(number):
            return None
        window, ping = self._connection.window(number), self._connection.atom("_NET_WM_PING")
        # Programs return the stamp unchanged: https://specifications.freedesktop.org/wm-spec/1.3/ar01s06.html
        stamp = time.monotonic_ns() // 1000 & 0x7FFFFFFF
        answered = self._pings.setdefault(stamp, asyncio.Event())
        try:
            async with asyncio.timeout(limit_s):
                if not await self.until(lambda: not self._is_click_held_back(), limit_s):
                    return False
                self._connection.send(window, "WM_PROTOCOLS", (ping, stamp, number), mask=X.NoEventMask)
                self._connection.drain()
                await answered.wait()
                if whole and has_pages_apart(pid := self.pid(number)):
                    await _pages_at_rest(pid)
        except TimeoutError:
            return False
        finally:
            del self._pings[stamp]
        return True

    def _is_click_held_back(self) -> bool:
        """Return whether the window manager holds back the last click: a ping would overtake it."""
        # It uses a synchronous grab (AllowEvents): https://www.x.org/releases/current/doc/xproto/x11protocol.html
        pressed = int(self._connection.root.query_pointer().mask) & _BUTTONS
        return bool(pressed & ~self._connection.held_buttons)


def _file_of(pid: int) -> str:
    """Return the name of the file that a process runs, for windows that do not name their program; "" if unknown."""
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:  # because the process has ended or belongs to another user
        return ""


_MARKS = (b"--type=", b"-contentproc", b"WebKitWebProcess")
"""Parts of the command lines of page processes: those of Chromium and Electron, Firefox, WebKit."""


def has_pages_apart(pid: int) -> bool:
    """Return whether a program's window shows pages of other processes. True if the pid is unknown."""
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


async def _pages_at_rest(pid: int) -> None:
    """Wait for a browser's page processes, because the browser answers a ping before they see the input."""
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


def _number(ref: str) -> int:
    """Raise ToolFailed for a text that is no window's ref."""
    try:
        return int(ref.removeprefix("w"), 16)
    except ValueError:  # because the model invents refs or takes them from other tools
        raise ToolFailed(f"There is no window {ref!r}; list_windows shows what is there.") from None
