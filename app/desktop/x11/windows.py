"""Top-level windows, through the window manager's standard (EWMH), or directly if there is no window manager."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from Xlib import X, Xutil
from Xlib.error import XError
from Xlib.xobject.drawable import Window as XWindow

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.ids import WINDOW_MARK
from app.base.phrases import Phrase
from app.base.values import replace
from app.desktop.backends import (
    STAYED_BEHIND,
    Desktops,
    Frame,
    Landing,
    NotOffered,
    Window,
    WindowState,
    number_of_ref,
)
from app.desktop.x11.connection import Connection, Marks, read_marks
from app.desktop.x11.window_facts import (
    STATES,
    client_below,
    drawn,
    extents,
    has_pages_apart,
    own_pixels,
    pages_at_rest,
    pid_of,
    property_of,
    read_window,
    title_of,
    top_level,
)

_LIMIT_S = 2.0
_CLOSING_S = 5.0
_LOOK_AGAIN_S = 0.1
_RESIZED_S = 0.3
_BUTTONS = 0x1F00  # the mouse buttons, in the server's button and modifier state
# because window managers may refuse a plain program: https://specifications.freedesktop.org/wm-spec/wm-spec-latest.html
_BY_A_PAGER = 2
_MOVE_RESIZE_FLAGS = (0b1111 << 8) | (_BY_A_PAGER << 12) | X.StaticGravity
_EXTENTS = "_NET_FRAME_EXTENTS"
_MATTERING = (
    "WM_CLASS", "WM_NAME", "WM_TRANSIENT_FOR", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING",
    "_NET_FRAME_EXTENTS", "_NET_SUPPORTING_WM_CHECK", "_NET_WM_DESKTOP", "_NET_WM_NAME", "_NET_WM_PID", "_NET_WM_STATE",
    "_NET_WM_WINDOW_OPACITY", "_NET_WM_WINDOW_TYPE", WINDOW_MARK,
)  # fmt: skip
"""The properties that change a `Window`. Programs set others at every click and key."""
_TITLES = ("_NET_WM_NAME", "WM_NAME")
_ORDERING = ("_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING")
# StructureNotify is included because Qt sends answers to pings only to clients that select it.
_NEWS = X.PropertyChangeMask | X.SubstructureNotifyMask | X.StructureNotifyMask


class X11Windows:
    """The top-level windows. The server reports their changes, so waiting costs nothing and ends at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._news = asyncio.Event()
        self._known: tuple[Window, ...] | None = None
        self._drawn: tuple[Window, ...] | None = None
        self._marks: Marks | None = None
        self._known_order: tuple[int, ...] = ()
        self._is_doubtful = False
        self._retitled: set[int] = set()
        self._asking: XWindow | None = None
        self._pings: dict[int, asyncio.Event] = {}
        self._ordering = frozenset(connection.atom(name) for name in _ORDERING)
        self._titles = frozenset(connection.atom(name) for name in _TITLES)
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
        elif event.type == X.PropertyNotify and event.atom in self._titles:
            self._news.set()
            self._retitled.add(int(event.window.id))
        elif event.type in (X.PropertyNotify, X.MapNotify, X.UnmapNotify, X.DestroyNotify, X.ConfigureNotify):
            self._news.set()
            self._known = self._drawn = self._marks = None

    # --- seeing

    def all(self) -> tuple[Window, ...]:
        """The list as last read, unless the server has reported a change since."""
        if self._known is not None:
            self._connection.display.sync()
        return self._heard()

    def _heard(self) -> tuple[Window, ...]:
        """Call it after a reply of the server: then all earlier events have arrived."""
        self._connection.drain()
        if self._is_doubtful and self._known is not None:
            self._is_doubtful = False
            # Window managers write the same order again at every click.
            if self._order() != self._known_order:
                self._known = self._drawn = None
        if self._known is None:
            return self._asked()
        if self._retitled:
            self._retitle()
        return self._known

    def _retitle(self) -> None:
        """Read again only the titles that have changed: editors change theirs with the first letter typed."""
        numbers = {f"w{number:x}": number for number in self._retitled}
        self._retitled.clear()
        titles: dict[str, str] = {}
        for ref in {window.ref for window in self._known or ()} & numbers.keys():
            with suppress(XError):  # because the window may have closed meanwhile, which clears the list
                titles[ref] = title_of(self._connection, self._connection.window(numbers[ref]))

        def renew(windows: tuple[Window, ...] | None) -> tuple[Window, ...] | None:
            return windows and tuple(replace(one, title=titles.get(one.ref, one.title)) for one in windows)

        self._known, self._drawn = renew(self._known), renew(self._drawn)

    def _order(self) -> tuple[int, ...]:
        """The active window's number, then the numbers of all windows, topmost first."""
        return (self.active(), *self._clients())

    def _asked(self) -> tuple[Window, ...]:
        self._connection.drain()
        # Set the list before reading it, so that an event meanwhile clears it and the result is not kept.
        self._known, self._is_doubtful = (), False
        self._retitled.clear()
        self._known_order = active, *numbers = self._order()
        found = (
            read_window(self._connection, number, self._marked(), is_active=number == active) for number in numbers
        )
        windows = tuple(window for window in found if window)
        self._connection.drain()
        if self._known is not None:
            self._known = windows if self._is_managed() else None
        return windows

    def shown(self) -> tuple[Window, ...]:
        listed = self.all()
        if self._known is None or self._drawn is None:
            self._drawn = drawn(self._connection, listed, self._marked())
        return self._drawn

    def keyboard(self) -> Landing:
        number = self._connection.focused()
        place = self._connection.keyboard_place(number)
        known = {window.ref: window for window in self._heard()}
        there = self._at_pointer() if number == X.PointerRoot else Landing()
        ref = there.window or self._window_around(number, known)
        is_own = there.is_own or self._is_own(number) or (ref in known and known[ref].is_own)
        return Landing(place, ref, is_own)

    def _at_pointer(self) -> Landing:
        at = self._connection.root.query_pointer()
        return self.under(Point(at.root_x, at.root_y))

    def _window_around(self, focused: int, known: Mapping[str, Window]) -> str:
        """Return the ref of the window that contains the X window `focused`, or else of the active one.

        A window outside the list takes keys by itself (a launcher does), unless it is the window manager's: managers
        keep the focus on a frame, or on a window nobody sees, while no program wants it.
        """
        # Do not ask the window manager first, because it reports windows and the active one late (_NET_ACTIVE_WINDOW):
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
                if not self._marked().is_managers(inner):
                    return f"w{inner:x}"
                break
            inner = int(around.parent.id) if around.parent else X.NONE
        return next((window.ref for window in known.values() if window.is_active), "")

    def under(self, point: Point) -> Landing:
        """Return the window that gets a press at this point: the server skips windows that take no input."""
        try:
            chain = self._connection.chain_at(point.x, point.y)
        except XError:  # because a window in the chain closed meanwhile
            return Landing()
        known = {int(each.ref[1:], 16): each for each in self._heard()}
        found = next((known[number] for number in chain if number in known), None) or self._program_of(chain)
        is_own = any(self._is_own(number) for number in chain) or (found is not None and found.is_own)
        framed = self._framed_by(chain[0]) if chain and found is None and not is_own else ""
        # By the program's own window, because a window manager may give it its frame a moment after it came.
        place = next((number for number in chain if number in known), chain[0] if chain else X.NONE)
        return Landing(f"{place:x}" if place else "", found.ref if found else "", is_own, framed)

    def _framed_by(self, number: int) -> str:
        """The ref of the listed window with this frame; "" if it is no frame."""
        for window in self.all():
            above = self._connection.window(number_of_ref(window.ref))
            try:
                while (holder := above.query_tree().parent) and holder.id != self._connection.root.id:
                    above = holder
            except XError:  # because the window closed meanwhile
                continue
            if above.id == number:
                return window.ref
        return ""

    def _program_of(self, chain: Sequence[int]) -> Window | None:
        """A listed window of a program that created a window in `chain`; None if none fits."""
        bits = int(self._connection.display.display.info.resource_id_mask)
        programs = {number & ~bits for number in chain}
        return next((window for window in self.all() if number_of_ref(window.ref) & ~bits in programs), None)

    def _is_own(self, number: int) -> bool:
        return self._marked().is_on(number)

    def _marked(self) -> Marks:
        self._connection.drain()
        if self._marks is None:
            self._marks = read_marks(self._connection)
        return self._marks

    def _clients(self) -> list[int]:
        """Topmost first."""
        told = property_of(self._connection, self._connection.root, "_NET_CLIENT_LIST_STACKING")
        if told is not None:
            return [int(number) for number in reversed(told)]
        listed = property_of(self._connection, self._connection.root, "_NET_CLIENT_LIST")
        if listed is not None:  # because xfwm4 tells the order only after a window was first raised
            return self._stacked([int(number) for number in listed])
        return list(reversed(list(self._bare_clients())))

    def _stacked(self, numbers: Sequence[int]) -> list[int]:
        """In the order of their frames, topmost first."""
        order = {int(child.id): place for place, child in enumerate(self._connection.root.query_tree().children)}
        return sorted(numbers, key=lambda number: -order.get(top_level(self._connection, number), -1))

    def _bare_clients(self) -> Iterator[int]:
        """Yield the windows if no manager lists any: the visible children of the root that are no menus, unframed."""
        for child in self._connection.root.query_tree().children:
            try:
                attributes = child.get_attributes()
                if attributes.map_state != X.IsViewable:
                    continue
                if client := client_below(self._connection, child):
                    yield client
                elif not attributes.override_redirect and child.get_wm_class():
                    yield int(child.id)
            except XError:  # because the window closed after it was listed
                continue

    def active(self) -> int:
        """Return the number of the window that has the keyboard, or 0 if none has it."""
        told = property_of(self._connection, self._connection.root, "_NET_ACTIVE_WINDOW")
        if told is not None and len(told) and told[0]:
            return int(told[0])
        return self._top_of(self._connection.display.get_input_focus().focus)

    def pid(self, number: int) -> int:
        """Return the process of a window, as its program (xterm does not) or the server reports it; 0 if unknown."""
        return pid_of(self._connection, number) if number else 0

    def _top_of(self, focus: Any) -> int:
        """The listed window that contains the focused X window; 0 if there is none."""
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
        window = self._connection.window(number_of_ref(ref))
        if self._is_managed():
            self._connection.send(window, "_NET_ACTIVE_WINDOW", (_BY_A_PAGER, X.CurrentTime, 0))
        else:
            window.configure(stack_mode=X.Above)
            window.set_input_focus(X.RevertToParent, X.CurrentTime)
            self._connection.display.sync()
        is_there = self.is_in_front if _takes_no_keys(self._connection, window) else self.has_keyboard
        if not await self.until(lambda: is_there(ref), _LIMIT_S):
            raise ToolFailed(Phrase(STAYED_BEHIND, {"title": found.title}))
        return self._by_ref(ref)

    def has_keyboard(self, ref: str) -> bool:
        """It must be the active window. Keys go to it or to a window inside it."""
        number = number_of_ref(ref)
        return self.active() == number and self._top_of(self._connection.display.get_input_focus().focus) == number

    def is_in_front(self, ref: str) -> bool:
        """True if no other program's window lies over it."""
        window = self._by_ref(ref)
        above = takewhile(lambda other: other.ref != ref, self.all())
        covers = (other for other in above if not (other.is_own or other.is_minimised))
        return not window.is_minimised and not any(other.area.overlap(window.area) for other in covers)

    async def close(self, ref: str) -> bool:
        self._by_ref(ref)
        window = self._connection.window(number_of_ref(ref))
        if self._is_managed():
            self._connection.send(window, "_NET_CLOSE_WINDOW", (X.CurrentTime, _BY_A_PAGER))
        else:
            data = (self._connection.atom("WM_DELETE_WINDOW"), X.CurrentTime)
            self._connection.send(window, "WM_PROTOCOLS", data, mask=X.NoEventMask)
        return await self._is_gone(ref)

    async def _is_gone(self, ref: str) -> bool:
        """Wait until the window is gone or a dialog opens. Returns whether the window is gone."""
        before = {window.ref for window in self.all()}

        def is_decided() -> bool:
            now = self.all()
            asks = any(window.is_dialog and window.ref not in before for window in now)
            return asks or all(window.ref != ref for window in now)

        await self.until(is_decided, _CLOSING_S)
        return all(window.ref != ref for window in self.all())

    async def place(self, ref: str, area: Rect) -> Window:
        before = self._by_ref(ref)
        window = self._connection.window(number_of_ref(ref))
        left, right, top, bottom = extents(self._connection, window)
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
        if await self.until(lambda: self._by_ref(ref).area != before.area or before.area == area, _LIMIT_S):
            # Place and size may come one after the other. A terminal keeps to whole lines, so this may never come true.
            await self.until(lambda: self._by_ref(ref).area == area, _RESIZED_S)
        return self._by_ref(ref)

    async def minimise(self, ref: str) -> None:
        self._by_ref(ref)
        if not self._is_managed():
            raise ToolFailed("No window manager is running here, so windows cannot be minimised.")
        self._connection.send(self._connection.window(number_of_ref(ref)), "WM_CHANGE_STATE", (3,))
        await self.until(lambda: self._by_ref(ref).is_minimised, _LIMIT_S)

    async def set_state(self, ref: str, state: WindowState, *, on: bool) -> Window:
        found, names = self._by_ref(ref), STATES[state]
        if not self._offers(*names):
            raise NotOffered
        atoms = [self._connection.atom(name) for name in names]
        data = (int(on), atoms[0], atoms[1] if atoms[1:] else 0, _BY_A_PAGER)
        self._connection.send(self._connection.window(number_of_ref(ref)), "_NET_WM_STATE", data)
        if not await self.until(lambda: (state in self._by_ref(ref).states) == on, _LIMIT_S):
            raise ToolFailed(Phrase("The window {title!r} did not do that.", {"title": found.title}))
        return self._by_ref(ref)

    def desktops(self) -> Desktops:
        if not self._offers("_NET_CURRENT_DESKTOP", "_NET_NUMBER_OF_DESKTOPS", "_NET_WM_DESKTOP"):
            raise NotOffered
        return Desktops(self._number_in("_NET_CURRENT_DESKTOP") + 1, self._number_in("_NET_NUMBER_OF_DESKTOPS"))

    def _number_in(self, name: str) -> int:
        return int(next(iter(property_of(self._connection, self._connection.root, name) or (0,))))

    async def go_to_desktop(self, number: int) -> None:
        self._connection.send(self._connection.root, "_NET_CURRENT_DESKTOP", (number - 1, X.CurrentTime))
        if not await self.until(lambda: self.desktops().current == number, _LIMIT_S):
            raise ToolFailed("The desktop was not changed.")

    async def send_to_desktop(self, ref: str, number: int) -> None:
        found, window = self._by_ref(ref), self._connection.window(number_of_ref(ref))
        self._connection.send(window, "_NET_WM_DESKTOP", (number - 1, _BY_A_PAGER))
        if not await self.until(lambda: self._by_ref(ref).desktop == number, _LIMIT_S):
            raise ToolFailed(Phrase("The window {title!r} was not moved to another desktop.", {"title": found.title}))

    def _offers(self, *names: str) -> bool:
        offered = property_of(self._connection, self._connection.root, "_NET_SUPPORTED")
        known = frozenset() if offered is None else frozenset(offered)
        return self._is_managed() and all(self._connection.atom(name) in known for name in names)

    def _is_managed(self) -> bool:
        told = property_of(self._connection, self._connection.root, "_NET_SUPPORTING_WM_CHECK")
        return told is not None and bool(told)

    def _by_ref(self, ref: str) -> Window:
        found = next((window for window in self.all() if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        return found

    async def picture(self, ref: str) -> Frame | None:
        number = number_of_ref(self._by_ref(ref).ref)
        if not await self.answers(ref, _LIMIT_S):
            return None

        async def has_drawn() -> None:
            await self.answers(ref, _LIMIT_S)

        return await own_pixels(self._connection, number, has_drawn)

    async def arranged(self, limit_s: float) -> bool:
        """Ask the window manager for a frame's size, and wait: it answers requests in order. False after the limit."""
        if not self._is_managed():
            return False
        if self._asking is None:
            root = self._connection.root
            self._asking = root.create_window(-1, -1, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask)
        self._asking.delete_property(self._connection.atom(_EXTENTS))
        self._connection.send(self._asking, "_NET_REQUEST_FRAME_EXTENTS", ())
        return await self.until(lambda: property_of(self._connection, self._asking, _EXTENTS) is not None, limit_s)

    async def changed(self, limit_s: float) -> None:
        self._news.clear()
        self._connection.drain()
        try:
            async with asyncio.timeout(limit_s):
                await self._news.wait()
        except TimeoutError:
            return

    async def until(self, is_so: Callable[[], bool], limit_s: float) -> bool:
        """Wait until the condition is true or the limit is over. Returns whether it is true."""
        limit = time.monotonic() + limit_s
        while not is_so():
            left = limit - time.monotonic()
            if left <= 0:
                return False
            await self.changed(min(left, _LOOK_AGAIN_S))
        return True

    def is_answering(self, number: int) -> bool:
        """True if the program can answer `_NET_WM_PING` (Tk's and plain X programs cannot)."""
        protocols = property_of(self._connection, self._connection.window(number), "WM_PROTOCOLS") or ()
        return self._connection.atom("_NET_WM_PING") in protocols

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:
        """Send `_NET_WM_PING` and wait: a program answers it after it has handled the input before it."""
        number = number_of_ref(ref)
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
                    await pages_at_rest(pid)
        except TimeoutError:
            return False
        finally:
            del self._pings[stamp]
        return True

    def _is_click_held_back(self) -> bool:
        """A window manager may delay the last click, so that a ping would arrive before it."""
        # It uses a synchronous grab (AllowEvents): https://www.x.org/releases/current/doc/xproto/x11protocol.html
        pressed = int(self._connection.root.query_pointer().mask) & _BUTTONS
        return bool(pressed & ~self._connection.held_buttons)


def _takes_no_keys(connection: Connection, window: XWindow) -> bool:
    """Return whether a window never takes the keyboard, as a clock does.

    https://x.org/releases/current/doc/xorg-docs/icccm/icccm.html, section 4.1.7: "No Input".
    """
    hints = window.get_wm_hints()
    takes_itself = connection.atom("WM_TAKE_FOCUS") in window.get_wm_protocols()
    return hints is not None and bool(hints.flags & Xutil.InputHint) and not hints.input and not takes_itself
