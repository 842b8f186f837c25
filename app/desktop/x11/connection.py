"""A connection to the X server, and windows' own pixels, even where other windows cover them.

Used on the desktop thread only. Pixels come from the Composite extension: the server keeps the whole window for as long
as it is redirected. Parts that were covered are empty at first, so the program gets a moment to draw them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from Xlib import X
from Xlib.display import Display
from Xlib.error import ConnectionClosedError, DisplayError, XauthError, XError
from Xlib.ext import composite, damage
from Xlib.ext.res import LocalClientPIDMask
from Xlib.xobject.drawable import Window as XWindow

from app.base.errors import NeedsPerson
from app.base.geometry import Rect
from app.base.ids import WINDOW_MARK
from app.base.values import dataclass
from app.desktop.backends import Frame, Window
from app.desktop.capture import bounds_of, part_of

_X_RESOURCE = "X-Resource"
Handler = Callable[[Any], None]


class Connection:
    """The display, its root window and its atoms. Passes events to every handler that listens.

    Asynchronous errors (such as for a window that was closed meanwhile) are dropped. A caller that needs to know uses a
    request with a reply.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get("DISPLAY", "")
        if not name:
            raise NeedsPerson("There is no display: DISPLAY is not set. Start Wisp inside a desktop session.")
        try:
            self.display = Display(name)
        except (DisplayError, ConnectionClosedError, XauthError, OSError) as error:
            raise NeedsPerson(f"The display {name} cannot be opened ({error}). Is a desktop running there?") from None
        self.display.set_error_handler(lambda *_: None)  # because Xlib prints errors of windows that have just closed
        self.screen = self.display.screen()
        self.root: XWindow = self.screen.root
        self.held_buttons = 0
        """The buttons that Wisp holds down, as bits of the server's button state."""
        self._atoms: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._handlers: list[Handler] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def atom(self, name: str) -> int:
        """Return the number of an atom."""
        if name not in self._atoms:
            self._atoms[name] = self.display.intern_atom(name)
        return self._atoms[name]

    def atom_name(self, atom: int) -> str:
        """Return the name of an atom that exists."""
        if atom not in self._names:
            self._names[atom] = str(self.display.get_atom_name(atom))
        return self._names[atom]

    def window(self, number: int) -> XWindow:
        return self.display.create_resource_object("window", number)

    def pid_of_client(self, number: int) -> int:
        """Return the local process that owns a window's connection, as the server knows it; 0 if it does not."""
        if not self.display.has_extension(_X_RESOURCE):
            return 0
        try:
            asked = self.display.res_query_client_ids([{"client": number, "mask": LocalClientPIDMask}])
        except XError:  # because the client has disconnected meanwhile
            return 0
        return next((int(found.value[0]) for found in asked.ids if found.value), 0)

    def listen(self, handler: Handler) -> None:
        """Pass every event to `handler` from now on. Starts to read events on the running event loop."""
        self._handlers.append(handler)
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self.display.fileno(), self.drain)

    def unlisten(self, handler: Handler) -> None:
        self._handlers.remove(handler)

    def drain(self) -> None:
        """Pass on the events that have arrived.

        Call this before every wait for an event: replies to own requests bring events along, and then the connection
        has nothing left to read that would wake the event loop.
        """
        try:
            while self.display.pending_events():
                event = self.display.next_event()
                for handler in tuple(self._handlers):
                    handler(event)
        except ConnectionClosedError:  # because a closed socket stays readable and would wake the loop for ever
            self._forget_reader()

    def send(self, target: XWindow, kind: str, data: tuple[int, ...], *, mask: int | None = None) -> None:
        """Send a client message about `target`, by default to the root window, as window managers expect it."""
        from Xlib.protocol.event import ClientMessage

        # Pad the data, because a client message always carries twenty bytes.
        padded = (32, (*data, *([0] * (5 - len(data)))))
        event = ClientMessage(window=target, client_type=self.atom(kind), data=padded)
        if mask is None:
            self.root.send_event(event, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        else:
            target.send_event(event, event_mask=mask)
        self.display.flush()

    def close(self) -> None:
        self._forget_reader()
        self._handlers.clear()
        try:
            self.display.close()
        except ConnectionClosedError:  # because the server may have gone first
            return

    def _forget_reader(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self.display.fileno())
            self._loop = None


class X11Drawing:
    """Implements `Drawing` with the DAMAGE extension.

    The server reports only what is outside of the area it has already reported, so idle time costs nothing.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._display: Any = connection.display  # extensions add their methods at run time
        self._damage = 0
        self._followed: WeakSet[_Drawn] = WeakSet()
        connection.listen(self._note)

    def follow(self) -> _Drawn | None:
        if not self._is_possible():
            return None
        if not self._damage:
            self._display.damage_query_version()
            self._damage = self._connection.root.damage_create(damage.DamageReportBoundingBox)
        self.ask_again()
        drawn = _Drawn(self)
        self._followed.add(drawn)
        return drawn

    def _is_possible(self) -> bool:
        """Return whether the server reports drawing. With a compositor, not every server does."""
        if not self._display.has_extension(damage.extname):
            return False
        compositor = self._connection.atom(f"_NET_WM_CM_S{self._display.get_default_screen()}")
        return bool(self._display.get_selection_owner(compositor) == X.NONE)

    def drain(self) -> None:
        """Pass on the events that have arrived."""
        self._connection.drain()

    def ask_again(self) -> None:
        """Pass on what was reported, and have the server report everything again from now on."""
        self._connection.drain()
        # Empty the reported area, because the server stays silent about it until then.
        self._display.damage_subtract(self._damage)
        self._display.flush()

    def _note(self, event: Any) -> None:
        if self._damage and event.type == self._display.extension_event.DamageNotify:
            told = event.area
            for drawn in self._followed:
                drawn.note(Rect(told.x, told.y, told.width, told.height))


class _Drawn:
    def __init__(self, drawing: X11Drawing) -> None:
        self._drawing = drawing
        self._area: Rect | None = None
        self._news = asyncio.Event()
        self.at = time.monotonic()

    def note(self, area: Rect) -> None:
        self._area = bounds_of([area, self._area]) if self._area else area
        self.at = time.monotonic()
        self._news.set()

    async def more(self, limit_s: float) -> bool:
        self._drawing.drain()
        try:
            async with asyncio.timeout(limit_s):
                await self._news.wait()
        except TimeoutError:  # because usually nothing changes in time
            return False
        return True

    def area(self) -> Rect | None:
        self._drawing.ask_again()
        found, self._area = self._area, None
        self._news.clear()
        return found


_MOST_MARKS = 256


@dataclass(frozen=True, slots=True)
class Marks:
    """Which windows belong to a Wisp, this one or another. Every Wisp leaves a mark on the display for that.

    The root window's property names one window of each Wisp; that window holds its process number. All windows of the
    same connection belong to that Wisp: dialogs, menus and pop-ups too, without a mark of their own. The name that an
    ended Wisp leaves behind leads to no marked window, and is ignored. `connections` are the numbers of the windows'
    connections, `pids` the processes.
    """

    connections: frozenset[int] = frozenset()
    pids: frozenset[int] = frozenset()
    one_client: int = 0
    """The bits of a window's number that its program chooses; the others name its connection."""

    def is_on(self, number: int) -> bool:
        """Return whether the window of that number belongs to a Wisp."""
        return bool(self.connections) and number & ~self.one_client in self.connections


def read_marks(connection: Connection) -> Marks:
    """Read the marks as they are now."""
    one_client = int(connection.display.display.info.resource_id_mask)
    found = {number: pid for number in _numbers(connection, connection.root) if (pid := _pid(connection, number))}
    return Marks(frozenset(number & ~one_client for number in found), frozenset(found.values()), one_client)


def _pid(connection: Connection, number: int) -> int:
    try:
        return next(iter(_numbers(connection, connection.window(number))), 0)
    except XError:  # because the window closed meanwhile
        return 0


def _numbers(connection: Connection, window: XWindow) -> list[int]:
    told = window.get_property(connection.atom(WINDOW_MARK), X.AnyPropertyType, 0, _MOST_MARKS)
    return [int(number) for number in told.value] if told is not None and told.format == 32 else []


_OF_ONE_CLIENT = 21
"""How many low bits of a window's number its program chooses; the higher ones name its connection."""
_WITHOUT_KEYS = frozenset(
    f"_NET_WM_WINDOW_TYPE_{kind}" for kind in ("DESKTOP", "DOCK", "DND", "NOTIFICATION", "SPLASH", "TOOLTIP")
)
_MOST_TYPES = 16
_OPAQUE = 0xFFFFFFFF  # Lower values are translucent: the window below shines through.


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
    """Return whether a program shows the window without the window manager to take input: no panel or tool tip."""
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
    """Return the child of the root that contains a window: its frame, or the window itself."""
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
    """Capture what the window shows, with its frame, once two captures are equal. None if the server gives none.

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
