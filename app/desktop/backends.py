"""The seams of the desktop: small protocols, each with backends chosen in `choose.py`.

Everything but the `Curtain` lives on the desktop thread and is only called there. All coordinates are screen pixels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Protocol

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.values import dataclass
from app.desktop.elements import Accessibility
from app.desktop.keys import Chord

Check = Callable[[], Awaitable[None]]
"""Raises ToolFailed where the act that it comes before may not be done."""


async def nothing_to_check(*_left: object) -> None:
    """Check nothing before an act."""


class Button(StrEnum):
    """A mouse button."""

    LEFT = "left"
    MIDDLE = "middle"
    RIGHT = "right"
    BACK = "back"
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class Frame:
    """Pixels as they were on the screen: `area`, rows of four bytes (blue, green, red, unused) from the top.

    `hidden` are the titles of private windows that are black in it.
    """

    area: Rect
    bgrx: bytes | bytearray
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A top-level window. `ref` names it for its life (`w12`); `area` is what it shows, frame included.

    `is_own`: it belongs to a Wisp, this one or another. `is_solid`: nothing behind it shows through. `is_popup`: it is
    a menu, a tool tip or the like that no window manager lists; it has the `ref` and title of its program's window.
    `takes_keys`: it is a pop-up of a program without a listed window, such as dmenu: it may hold the keyboard although
    another window is active. The last three are known only of what `Windows.shown` tells.
    """

    ref: str
    title: str
    app: str
    area: Rect
    pid: int = 0
    is_active: bool = False
    is_minimised: bool = False
    is_dialog: bool = False
    desktop: int = 0
    is_own: bool = False
    is_solid: bool = True
    is_popup: bool = False
    takes_keys: bool = False


@dataclass(frozen=True, slots=True)
class Landing:
    """Where the next key or press goes. `place` names it among all that show; `window` is the ref of its window, for a
    menu that of its program's; empty where it has none. `is_own`: it belongs to a Wisp. `framed` is the ref of the
    window whose frame is there: the window manager takes what is pressed on it.
    """

    place: str = ""
    window: str = ""
    is_own: bool = False
    framed: str = ""


class WindowCame(ToolFailed):
    """Nothing was pressed, because the pointer is no longer over the window that was judged."""

    def __init__(self) -> None:
        super().__init__("Another window came up there at this moment.")


class KeyboardMoved(ToolFailed):
    """Nothing was pressed, because the keyboard is no longer where it was judged to be."""

    def __init__(self) -> None:
        super().__init__("The keyboard went to another window at this moment.")


def landing(shown: Sequence[Window], point: Point | None = None) -> Landing:
    """Return the topmost window at a point, or the active one, for systems that describe nothing but windows."""
    found = next((w for w in shown if (w.is_active if point is None else w.area.contains(point))), None)
    return Landing(found.ref, found.ref, found.is_own) if found else Landing()


@dataclass(frozen=True, slots=True)
class App:
    """A program that is installed. `ref` is what the backend starts it by; `words` (in lower case) are what else it is
    known as; `categories` are those of freedesktop.org. What is not `is_offered` is started only when it is named.
    `options` are those of its command: an entry for one tool of a program has some.
    """

    ref: str
    name: str
    words: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    is_offered: bool = True
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launched:
    """A program that was started; `pid` 0 where the system does not tell."""

    pid: int
    name: str


Formats = Mapping[str, bytes]
"""A clipboard's content by the system's own names of its formats."""


class Curtain(Protocol):
    """Gets our own windows out of the way. Both methods may be called from any thread and never wait over 500 ms."""

    def covers(self, area: Rect) -> bool:
        """Whether a window of ours is showing inside `area` (screen pixels)."""
        ...

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """While inside, no window of ours shows within `area` or takes input there."""
        ...


class Screen(Protocol):
    """Sees pixels."""

    def monitors(self) -> tuple[Rect, ...]:
        """The monitors, the primary one first."""
        ...

    def extent(self) -> Rect:
        """The rectangle that holds all monitors."""
        ...

    def grab(self, area: Rect) -> Frame:
        """The pixels of an area inside the extent. ToolFailed when the system gives none."""
        ...


class Drawn(Protocol):
    """What is drawn from one moment on. `at` is when something was drawn last, in seconds of the monotonic clock."""

    at: float

    async def more(self, limit_s: float) -> bool:
        """Whether anything was drawn since `area` was last asked, or is within the limit."""
        ...

    def area(self) -> Rect | None:
        """Where anything was drawn since this was last asked; None where nothing was."""
        ...


class Drawing(Protocol):
    """Report when and where something is drawn, so that the caller need not poll the screen."""

    def follow(self) -> Drawn | None:
        """What is drawn from now on; None where that cannot be known just now."""
        ...


class Pointer(Protocol):
    """Moves the mouse. Each call has reached the system when it returns."""

    def position(self) -> Point: ...

    def double_click_s(self) -> float:
        """Within what time two presses on one spot are a double click."""
        ...

    def move(self, to: Point) -> None: ...

    def button(self, button: Button, *, down: bool) -> None: ...

    def only_at(self, place: str) -> AbstractContextManager[None]:
        """While inside, a press goes to that `Landing.place`; ToolFailed where the pointer is over something else.

        A system that cannot promise it checks nothing.
        """
        ...

    def scroll(self, dx: int, dy: int) -> None:
        """One notch in each direction that is not 0 (-1, 0 or 1); positive is right and down."""
        ...


class Keyboard(Protocol):
    """Presses keys. Keys are named as in `keys.py`; text is what the present layout can type."""

    def key(self, name: str, *, down: bool) -> None:
        """ToolMisuse when the present layout has no such key."""
        ...

    def place(self, name: str) -> str:
        """Return the name of the physical key that this key name maps to in the current layout."""
        ...

    def can_type(self, text: str) -> bool:
        """Whether every character is on the present layout."""
        ...

    def type_text(self, text: str) -> None:
        """A slice of at most 16 characters that `can_type`; all of it has reached the system at return."""
        ...

    def symbols_of(self, name: str) -> frozenset[str]:
        """All that the key of that name may make in any layout, with any modifiers, by the names of `keys.py`."""
        ...

    def plain(self) -> AbstractContextManager[None]:
        """While inside, caps lock is off and no key that the person holds changes what is typed."""
        ...

    def only_into(self, place: str) -> AbstractContextManager[None]:
        """While inside, what is pressed goes to that `Landing.place`; ToolFailed where the keyboard is elsewhere.

        A system that cannot promise it checks nothing.
        """
        ...

    @property
    def is_lending(self) -> bool:
        """Whether spare keys carry symbols that the layout does not have."""
        ...

    def give_back(self) -> None:
        """Make the layout what it was, once programs have worked off the keys pressed."""
        ...


class ExactTyping(Protocol):
    """Types what no layout has, by other means than a key for each character."""

    def can_paste(self) -> bool:
        """Whether the active program is one in which ctrl+v pastes."""
        ...

    async def paste(self, text: str, chord: str, into: str = "", check: Check = nothing_to_check) -> bool:
        """Paste through the clipboard and restore its content. Returns False if no program fetched the text.

        `into` is the place that must have the keyboard (`Landing.place`). Raises KeyboardMoved where it is elsewhere.
        `check` is called right before the keys, and raises where they may not be sent.
        """
        ...

    async def remap(self, text: str) -> None:
        """Through spare keys that carry the characters for as long as it takes; the layout is restored."""
        ...


class Windows(Protocol):
    """Knows the top-level windows, topmost first. `ref` is a window's; ToolFailed when it is gone."""

    def all(self) -> tuple[Window, ...]: ...

    def shown(self) -> tuple[Window, ...]:
        """All that is drawn, topmost first: without what is minimised, with the menus and tool tips of programs."""
        ...

    def keyboard(self) -> Landing:
        """Where keys go now, as the window system has it."""
        ...

    def under(self, point: Point) -> Landing:
        """Where a press at this point goes now."""
        ...

    async def focus(self, ref: str) -> Window:
        """Bring it forward and give it the keyboard; returns when it has it. ToolFailed when it does not take it."""
        ...

    async def close(self, ref: str) -> bool:
        """Ask it to close; False when it is still there after a while (it may be asking something)."""
        ...

    async def place(self, ref: str, area: Rect) -> Window:
        """Move and resize; returns the window as it then is."""
        ...

    async def minimise(self, ref: str) -> None: ...

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:
        """Return once its program has worked off the input it got; False after the limit, None where it never says.

        `whole`: the processes that its pages live in as well, as a browser's do.
        """
        ...

    async def picture(self, ref: str) -> Frame | None:
        """A window's own pixels, also where others cover it; None where the system or its program gives none."""
        ...

    async def arranged(self, limit_s: float) -> bool:
        """Return once the window manager has worked off what it got so far; False where it does not say in time."""
        ...

    async def changed(self, limit_s: float) -> None:
        """Return when a window came, went, or became active, or when the limit has passed."""
        ...


class Apps(Protocol):
    """Knows and starts programs."""

    def installed(self) -> tuple[App, ...]: ...

    def command(self, name: str) -> App | None:
        """A program that opens windows and is in no menu, by the name of its command alone."""
        ...

    def preferred(self, asked: str) -> tuple[str, ...]:
        """The person's own programs for a type of file or address, or behind a command, by the names of their entries
        or files, the first one before the others. It starts nothing.
        """
        ...

    def command_line(self, app: App) -> tuple[str, ...]:
        """What `launch` would start, as far as that is known: the program's own path first, then its arguments."""
        ...

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        """Start it in a session of its own. ToolFailed when the system refuses."""
        ...

    def is_launcher(self, window: Window | None, role: str = "") -> bool:
        """Whether words that are typed in the window can start programs. `role` is that of the control they go to."""
        ...

    def builds(self, window: Window | None) -> bool:
        """Whether keys of the window can build or run what is written in it, as in a development environment."""
        ...

    def shown_folders(self, window: Window) -> tuple[str, ...]:
        """The folders that a file manager shows in the window, as far as they are known."""
        ...

    def open(self, address: str) -> Launched:
        """Start the program that handles a file or URL."""
        ...

    def how_it_ended(self, launched: Launched) -> str | None:
        """None while it runs; otherwise its last words, or an empty string."""
        ...


class Clipboard(Protocol):
    """What was cut or copied."""

    async def read(self) -> str:
        """Its text; empty when it holds none."""
        ...

    async def write(self, text: str) -> None: ...

    async def formats(self) -> Formats:
        """Everything it holds."""
        ...


Listen = Callable[[Chord, Callable[[], None], Callable[[], None]], Callable[[], None]]
"""Hear the person: `listen(stop_key, stop, touched)` starts a thread that calls the two, and returns how to end it."""


def _is_anybodys(_window: Window) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Backend:
    """All seams of one platform; made, used and closed on the desktop thread.

    `name` says which platform and which desktop (`x11:0`). `listen` is None where the person cannot be heard, and
    `drawing` where one has to look to see whether something was drawn. `is_private` tells windows that are not seen.
    `reach` raises NeedsPerson where nothing on the screen can be seen or driven from here; None where that cannot be.
    """

    name: str
    screen: Screen
    pointer: Pointer
    keyboard: Keyboard
    exact: ExactTyping
    windows: Windows
    apps: Apps
    clipboard: Clipboard
    accessibility: Accessibility
    close: Callable[[], Awaitable[None]]
    listen: Listen | None = None
    drawing: Drawing | None = None
    is_private: Callable[[Window], bool] = _is_anybodys
    reach: Callable[[], None] | None = None


class NoCurtain:
    """For runs without windows of our own."""

    def covers(self, area: Rect) -> bool:  # noqa: ARG002
        return False

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()
