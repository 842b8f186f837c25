"""The connection to the X server, its reports of drawing, and the marks of Wisp's windows. Desktop thread only."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakSet

from Xlib import X
from Xlib.display import Display
from Xlib.error import ConnectionClosedError, DisplayError, XauthError, XError, xerror_class
from Xlib.ext import damage
from Xlib.ext.res import LocalClientPIDMask
from Xlib.xobject.drawable import Window as XWindow

from app.base.errors import NeedsPerson
from app.base.geometry import Rect
from app.base.ids import WINDOW_MARK
from app.base.values import dataclass
from app.desktop.capture import bounds_of

_X_RESOURCE = "X-Resource"
Handler = Callable[[Any], None]


class Connection:
    """The display, its root window and its atoms. Passes every event to each handler given to `listen`.

    Asynchronous errors (such as for a window that was closed meanwhile) are dropped. A caller that needs to know of an
    error uses a request that has a reply.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get("DISPLAY", "")
        if not name:
            raise NeedsPerson(
                "There is no screen here, because DISPLAY is not set. Start Wisp inside a desktop session."
            )
        try:
            self.display = Display(name)
        except (DisplayError, ConnectionClosedError, XauthError, OSError, OverflowError) as error:
            raise NeedsPerson(
                f"The screen {name} does not answer ({error}). Start Wisp inside a desktop session."
            ) from None
        # The library's RandR errors take the codes of core errors (1 and 2) and are no X errors, so that a bad value
        # would end in an AttributeError: https://github.com/python-xlib/python-xlib/blob/master/Xlib/ext/randr.py
        self.display.display.error_classes.update(xerror_class)
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
        if name not in self._atoms:
            self._atoms[name] = self.display.intern_atom(name)
        return self._atoms[name]

    def atom_name(self, atom: int) -> str:
        """The atom must exist."""
        if atom not in self._names:
            self._names[atom] = str(self.display.get_atom_name(atom))
        return self._names[atom]

    def window(self, number: int) -> XWindow:
        return self.display.create_resource_object("window", number)

    def focused(self) -> int:
        """Return the number of the window with the input focus, X.NONE, or X.PointerRoot."""
        focus = self.display.get_input_focus().focus
        return focus if isinstance(focus, int) else int(focus.id)

    def chain_at(self, x: int, y: int) -> list[int]:
        """Return the numbers of the windows that a press at a point of the screen goes to, the outermost first."""
        chain: list[int] = []
        window = self.root
        while child := window.translate_coords(self.root, x, y).child:
            chain.append(int(child.id))
            window = child
        return chain

    def keyboard_place(self, focused: int) -> str:
        """Return the `Landing.place` of the next key. While no window has the focus, it is the one at the pointer."""
        if focused != X.PointerRoot:
            return f"{focused:x}"
        child = self.root.query_pointer().child
        return f"{focused:x}:{int(child.id) if child else 0:x}"

    def pid_of_client(self, number: int) -> int:
        """Return the process whose connection created a window; 0 if the server does not know it."""
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
        """Pass the events that have arrived to the handlers.

        Call this before every wait for an event: replies to own requests bring events along, and then the connection
        has nothing left to read that would wake the event loop.
        """
        try:
            while self.display.pending_events():
                self.handle(self.display.next_event())
        except ConnectionClosedError:  # because a closed socket stays readable and would wake the loop for ever
            self._forget_reader()

    def handle(self, event: Any) -> None:
        """Pass an event to the handlers."""
        for handler in tuple(self._handlers):
            handler(event)

    def send(self, target: XWindow, kind: str, data: tuple[int, ...], *, mask: int | None = None) -> None:
        """Send a client message about `target`: to the root window, or with `mask` to `target` itself."""
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

    The server reports only drawing outside the area that it has already reported, so idle time costs nothing.
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
        """The server reports drawing reliably only if it has DAMAGE, and no compositor runs."""
        if not self._display.has_extension(damage.extname):
            return False
        compositor = self._connection.atom(f"_NET_WM_CM_S{self._display.get_default_screen()}")
        return bool(self._display.get_selection_owner(compositor) == X.NONE)

    def drain(self) -> None:
        """Pass the events that have arrived to the handlers."""
        self._connection.drain()

    def ask_again(self) -> None:
        """Handle what was reported, and clear the reported area, so that the server reports all new drawing."""
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
    """Which windows belong to a Wisp, this one or another. Every Wisp leaves a mark on the display for this purpose.

    A property of the root window names one window of each Wisp; that window holds its process number. All windows of
    the same connection belong to that Wisp: dialogs, menus and pop-ups too, without a mark of their own. A name left by
    a Wisp that has ended leads to no marked window, and is ignored. `connections` are the numbers of the Wisps'
    connections, `pids` their processes. Any program may set a mark: it keeps tools away from a window without proof,
    but hides a window from pictures only with proof (`others`).
    """

    connections: frozenset[int] = frozenset()
    pids: frozenset[int] = frozenset()
    one_client: int = 0
    """The bits of a window's number that its program chooses; the others name its connection."""
    others: frozenset[int] = frozenset()
    """The connections of proven Wisps in other processes."""
    manager: int = 0
    """The connection of the window manager: its frames and its own windows are no program's. 0 if none runs."""

    def is_on(self, number: int) -> bool:
        """True if the window belongs to a Wisp."""
        return bool(self.connections) and number & ~self.one_client in self.connections

    def is_of_other(self, number: int) -> bool:
        """True if the window is proven to belong to a Wisp in another process."""
        return bool(self.others) and number & ~self.one_client in self.others

    def is_managers(self, number: int) -> bool:
        """True if the window manager made the window."""
        return bool(self.manager) and number & ~self.one_client == self.manager


def read_marks(connection: Connection) -> Marks:
    """Read the marks as they are now."""
    one_client = int(connection.display.display.info.resource_id_mask)
    named = {number: pid for number in _marked(connection) if (pid := number_of(connection, number, WINDOW_MARK))}
    others = {number for number, pid in named.items() if pid != os.getpid() and _is_wisps(connection, number, pid)}
    connections, proven = (frozenset(number & ~one_client for number in found) for found in (named, others))
    check = number_of(connection, int(connection.root.id), "_NET_SUPPORTING_WM_CHECK")
    return Marks(connections, frozenset(named.values()), one_client, proven, check & ~one_client)


def _marked(connection: Connection) -> list[int]:
    told = connection.root.get_property(connection.atom(WINDOW_MARK), X.AnyPropertyType, 0, _MOST_MARKS)
    return [int(number) for number in told.value] if told is not None and told.format == 32 else []


def number_of(connection: Connection, number: int, name: str) -> int:
    """Return the number that a property of a window holds; 0 if it holds none, or the window is gone."""
    try:
        told = connection.window(number).get_property(connection.atom(name), X.AnyPropertyType, 0, 1)
    except XError:  # because the window closed meanwhile
        return 0
    return next((int(one) for one in told.value), 0) if told is not None and told.format == 32 else 0


def _is_wisps(connection: Connection, number: int, pid: int) -> bool:
    """By the server's word, too, and only while that process runs Wisp."""
    pids = {number_of(connection, number, "_NET_WM_PID"), connection.pid_of_client(number)} - {0}
    return pids == {pid} and _runs_wisp(Path(f"/proc/{pid}"))


def _runs_wisp(process: Path) -> bool:
    """A process of this user counts that was started as `python … wisp …` or `python … -m app …`."""
    try:
        is_ours = process.stat().st_uid == Path("/proc/self").stat().st_uid
        words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:  # because it has ended, or belongs to another user
        return False
    start = list(itertools.dropwhile(lambda word: word.startswith("-") and word != "-m", words[1:]))
    is_named = any(Path(word).name == "wisp" for word in (words[0], *start[:1]))
    return is_ours and (is_named or start[:2] == ["-m", "app"])
