"""The interfaces of the desktop: small protocols, each with one backend for each platform (see `choose.py`).

All methods are called on the desktop thread, except those of `Curtain`. All coordinates are screen pixels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Protocol

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.desktop.elements import Accessibility
from app.desktop.keys import UNCHECKED, Chord, KeyChecks


class Button(StrEnum):
    """A mouse button."""

    LEFT = "left"
    MIDDLE = "middle"
    RIGHT = "right"
    BACK = "back"
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class Press:
    """How to press a mouse button: how many times, and which modifier keys (names of `keys.py`) are held down."""

    button: Button = Button.LEFT
    count: int = 1
    modifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle of screen pixels. `bgrx` holds rows of four bytes (blue, green, red, unused) from the top of `area`.

    `hidden` lists the titles of private windows that are blackened in it.
    """

    area: Rect
    bgrx: bytes | bytearray
    hidden: tuple[str, ...] = ()


class WindowState(StrEnum):
    """What a window may be besides minimised. `ABOVE` stays above all others."""

    MAXIMISED = "maximised"
    FULL_SCREEN = "full_screen"
    ABOVE = "above"


@dataclass(frozen=True, slots=True)
class Desktops:
    """The virtual desktops, counted from 1. `count` is 0 where there is one for each number."""

    current: int
    count: int


class NotOffered(ToolFailed):
    """Raised where a desktop lets no program change that about windows."""

    def __init__(self) -> None:
        super().__init__(Phrase("This desktop does not let Wisp do that with windows."))


@dataclass(frozen=True, slots=True)
class Window:
    """A top-level window. `ref` names it for as long as it exists (`w12`); `area` is its rectangle, frame included.

    `is_own`: it belongs to a Wisp, this one or another (`is_of_other_wisp`). `is_solid`: nothing behind it shows
    through. `is_popup`: it is a menu, a tool tip or another window that no window manager lists; it has the `ref` and
    title of its program's window. `is_tip`: it is a tool tip, which comes and goes by itself and takes no press.
    `takes_keys`: it is a pop-up of a program without a listed window, such as dmenu, which may have the keyboard
    although another window is active. Only `Windows.shown` fills in these four. `content` is where the program's own
    surface lies, if the system tells it; None: only the frame is known. `states` are those that the system tells.
    `desktop` is the virtual desktop, counted from 1; 0: it is on all of them, or nobody tells.
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
    is_of_other_wisp: bool = False
    is_solid: bool = True
    is_popup: bool = False
    is_tip: bool = False
    takes_keys: bool = False
    content: Rect | None = None
    states: frozenset[WindowState] = frozenset()


def number_of_ref(ref: str) -> int:
    """Raises ToolFailed for any text that is no window's ref."""
    try:
        return int(ref.removeprefix("w"), 16)
    except ValueError:  # because the model invents refs or takes them from other tools
        raise ToolFailed(
            "That window is not there.", f"There is no window {ref!r}; list_windows shows what is there."
        ) from None


@dataclass(frozen=True, slots=True)
class Landing:
    """The window that the next key or mouse press goes to.

    `place` identifies that window among all visible ones. `window` is the ref of the listed window that it belongs to,
    or empty. `is_own`: it belongs to a Wisp. `framed` is the ref of the window whose frame is there: the window manager
    handles a press on it.
    """

    place: str = ""
    window: str = ""
    is_own: bool = False
    framed: str = ""


STAYED_BEHIND = "The window {title!r} did not come forward; another one may be holding the keyboard."


class WindowCame(ToolFailed):
    """Raised instead of a press: the pointer is no longer over the window that the policy judged."""

    def __init__(self) -> None:
        super().__init__(Phrase("Another window came up there at this moment."))


class KeyboardMoved(ToolFailed):
    """Raised instead of sending keys: the keyboard focus is no longer where the policy judged it to be.

    `sent_chars`: how many characters of the text at hand were sent before.
    """

    def __init__(self, sent_chars: int = 0) -> None:
        super().__init__(Phrase("The keyboard went elsewhere at this moment."))
        self.sent_chars = sent_chars


def landing(shown: Sequence[Window], point: Point | None = None) -> Landing:
    """Return the topmost window at `point`, or the active window if no point is given.

    For systems that report only a list of windows.
    """
    found = next((w for w in shown if (w.is_active if point is None else w.area.contains(point))), None)
    return Landing(found.ref, found.ref, found.is_own) if found else Landing()


@dataclass(frozen=True, slots=True)
class App:
    """An installed program. The backend starts it by `ref`. `words` (in lower case) are its other names.

    `categories` are those of freedesktop.org. A program that is not `is_offered` is started only if it is named
    exactly. `options` are those of its command: an entry for one tool of a program has some. A program that is not
    `is_listed` is in no menu and only opens documents that other programs pass to it. `names` are what people call it,
    also in their language; `labels` are its entry, its executable and its window class. All are in lower case. `icon`
    is the name or path of its icon.
    """

    ref: str
    name: str
    words: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    is_offered: bool = True
    options: tuple[str, ...] = ()
    is_listed: bool = True
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """The program that a window belongs to, by its process and its desktop entry.

    `ref` identifies it: the name of its desktop entry, else its executable or window class. `names` are what people
    call it, `labels` what it is compared with in tables: entry, executable, class (both in lower case). `categories`
    are those of its entry. `holds_terminal`: it controls a pseudo-terminal.
    """

    ref: str = ""
    name: str = ""
    names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    holds_terminal: bool = False
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Launched:
    """A program that was started. `pid` is 0 if the system does not report it."""

    pid: int
    name: str


def pointer_at(pointer: Pointer) -> Point:
    """Raises ToolFailed if nobody can know where the pointer is."""
    if (at := pointer.position()) is None:
        raise ToolFailed(
            Phrase(
                "Wisp does not know where the pointer is. On Wayland it knows only "
                "after it has moved the pointer itself."
            ),
            "Say where: by the name of a control, its ref, or a place.",
        )
    return at


Formats = Mapping[str, bytes]
"""The clipboard's content, keyed by the system's names of the formats."""


Marked = tuple[Rect, ...]
"""What a mark of ours covers, in screen pixels."""


class Curtain(Protocol):
    """Hides Wisp's own windows for a moment. Its methods may be called from any thread and block at most 500 ms."""

    def covers(self, area: Rect) -> bool:
        """True if one of Wisp's windows is visible inside `area` (screen pixels)."""
        ...

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """Inside it, no window of Wisp is visible or takes input within `area`."""
        ...

    def point_at(self, place: Rect, name: str, came_from: Point) -> Future[Marked] | None:
        """Mark `place` (screen pixels) with its name, to show the person where Wisp acts. `covers` ignores the mark.

        The mark has a trail that leads from `came_from`, where the pointer was.

        The future is done when the mark is visible. Returns None if no mark is shown. The mark takes no input.
        """
        ...

    def unmark(self) -> None:
        """Remove the mark of `point_at` at once. Programs may need a moment to draw again what it covered."""
        ...


class Screen(Protocol):
    """Captures pixels."""

    def monitors(self) -> tuple[Rect, ...]:
        """The primary one first."""
        ...

    def extent(self) -> Rect:
        """Return the rectangle that contains all monitors."""
        ...

    def grab(self, area: Rect) -> Frame:
        """Capture an area inside the extent. Raises ToolFailed if the system returns no pixels."""
        ...


class Drawn(Protocol):
    """Reports what was drawn on the screen since `follow`. `at` is the time of the last drawing (monotonic, in s)."""

    at: float

    async def more(self, limit_s: float) -> bool:
        """True if something was drawn since the last call of `area`; else wait up to the limit for it."""
        ...

    def area(self) -> Rect | None:
        """Where something was drawn since the last call; None if nothing was drawn."""
        ...


class Drawing(Protocol):
    """Reports when and where something is drawn, so that the caller need not compare captures again and again."""

    def follow(self) -> Drawn | None:
        """Start to follow what is drawn. Returns None if the system cannot report it now."""
        ...


class Pointer(Protocol):
    """Moves the mouse and presses its buttons. The system has received each event when the call returns."""

    def position(self) -> Point | None:
        """None if nobody can know: no Wayland compositor tells it."""
        ...

    def double_click_s(self) -> float:
        """Return the longest time between two presses that count as a double click."""
        ...

    def move(self, to: Point) -> None: ...

    def button(self, button: Button, *, down: bool) -> None: ...

    def only_at(self, place: str) -> AbstractContextManager[None]:
        """Inside it, a press reaches only the window that has this `Landing.place`.

        Raises ToolFailed if the pointer is over another window. Backends that cannot guarantee this check nothing.
        """
        ...

    def scroll(self, dx: int, dy: int) -> None:
        """Turn the wheel by one notch in each direction that is not 0 (-1, 0 or 1). Positive is right and down."""
        ...


class Keyboard(Protocol):
    """Presses keys. Keys have the names of `keys.py`; text is limited to what the current layout can type."""

    def key(self, name: str, *, down: bool) -> None:
        """Press or release a key. Raises ToolMisuse if the current layout does not have it."""
        ...

    def place(self, name: str) -> str:
        """The physical key that this key name maps to in the current layout."""
        ...

    def can_type(self, text: str) -> bool:
        """True if the current layout has every character of the text."""
        ...

    def type_text(self, text: str) -> None:
        """Type at most 16 characters that `can_type` accepts. At return, the system has received all of them."""
        ...

    def symbols_of(self, name: str) -> frozenset[str]:
        """Return every symbol that this key can produce, in any layout and with any modifier."""
        ...

    def plain(self) -> AbstractContextManager[None]:
        """Inside it, caps lock and keys that the person holds do not change the text."""
        ...

    def only_into(self, place: str) -> AbstractContextManager[None]:
        """Inside it, keys reach only the window that has this `Landing.place`.

        Raises ToolFailed if the keyboard focus is elsewhere. Backends that cannot guarantee this check nothing.
        """
        ...

    @property
    def is_lending(self) -> bool:
        """Whether keys without a symbol are mapped at present to characters that the layout lacks."""
        ...

    def give_back(self) -> None:
        """Restore the original layout after programs have handled the keys that were pressed."""
        ...


class ExactTyping(Protocol):
    """Types characters that no key of the layout produces."""

    def can_paste(self) -> bool:
        """True if ctrl+v pastes in the active program."""
        ...

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:
        """Paste through the clipboard and restore its content. Returns False if no program fetched the text.

        `into` is the `Landing.place` that must have the keyboard; KeyboardMoved is raised if it has not. The
        checks raise if the keys may not be sent, or a program may not get the text.
        """
        ...

    async def remap(self, text: str, into: str = "") -> None:
        """Type the text with keys that have no symbol, which are mapped to its characters for that moment.

        `into` is the `Landing.place` that must have the keyboard; KeyboardMoved is raised if it has not.
        """
        ...


class Windows(Protocol):
    """Lists and controls the top-level windows, topmost first. Methods with a `ref` raise ToolFailed if it is gone."""

    def all(self) -> tuple[Window, ...]: ...

    def shown(self) -> tuple[Window, ...]:
        """Return all visible windows, topmost first: no minimised ones, but menus and tool tips too."""
        ...

    def keyboard(self) -> Landing:
        """Return the window that keys go to now, according to the window system."""
        ...

    def under(self, point: Point) -> Landing:
        """Return the window that a press at this point goes to now."""
        ...

    async def focus(self, ref: str) -> Window:
        """Bring a window to the front and give it the keyboard focus. Raises ToolFailed if that fails.

        A window that never takes keys, such as a clock's, is not active then.
        """
        ...

    async def close(self, ref: str) -> bool:
        """Ask a window to close. Returns False if it is still open after a while, perhaps with a question."""
        ...

    async def place(self, ref: str, area: Rect) -> Window:
        """Move and resize a window. Returns the window as it is afterwards."""
        ...

    async def minimise(self, ref: str) -> None: ...

    async def set_state(self, ref: str, state: WindowState, *, on: bool) -> Window:
        """Give a window a state, or take it away. Returns the window as it is afterwards; raises NotOffered."""
        ...

    def desktops(self) -> Desktops:
        """Return the virtual desktops. Raises NotOffered where there are none that a program may change."""
        ...

    async def go_to_desktop(self, number: int) -> None:
        """Show the virtual desktop with this number. Raises ToolFailed if another one stays."""
        ...

    async def send_to_desktop(self, ref: str, number: int) -> None:
        """Move a window to the virtual desktop with this number. Raises ToolFailed if it stays where it was."""
        ...

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:
        """Wait until the window's program has handled its input.

        Returns True if it has, False after the limit, None if the program never reports it. `whole`: wait for a
        browser's page processes too.
        """
        ...

    async def picture(self, ref: str) -> Frame | None:
        """Capture a window's own pixels, also the parts behind other windows. None if the system gives none."""
        ...

    async def arranged(self, limit_s: float) -> bool:
        """Wait until the window manager has handled all requests sent so far. Returns False after the limit."""
        ...

    async def changed(self, limit_s: float) -> None:
        """Wait until a window opens, closes or becomes active, at most for the limit."""
        ...


class PlainWindows:
    """The answers of a desktop that lets no program change states of windows or virtual desktops."""

    async def set_state(self, ref: str, state: WindowState, *, on: bool) -> Window:  # noqa: ARG002
        raise NotOffered

    def desktops(self) -> Desktops:
        raise NotOffered

    async def go_to_desktop(self, number: int) -> None:  # noqa: ARG002
        raise NotOffered

    async def send_to_desktop(self, ref: str, number: int) -> None:  # noqa: ARG002
        raise NotOffered


class Apps(Protocol):
    """Finds and starts programs."""

    def installed(self) -> tuple[App, ...]: ...

    def command(self, name: str) -> App | None:
        """Return the program started by this command if it opens windows and is in no menu; else None."""
        ...

    def preferred(self, asked: str) -> tuple[str, ...]:
        """Return the person's default programs for a file type, a URL scheme or a command, best first.

        They are returned as names of desktop entries or of program files. Starts nothing.
        """
        ...

    def command_line(self, app: App) -> tuple[str, ...]:
        """Return the command that `launch` would run: the program's path, then its arguments; () if unknown."""
        ...

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        """Start a program in its own session. Raises ToolFailed if the system refuses."""
        ...

    def owner(self, pid: int, window_class: str) -> Owner:
        """By the window's process (0 if unknown) and its class."""
        ...

    def open(self, address: str) -> Launched:
        """Start the program that opens a file or URL."""
        ...

    def how_it_ended(self, launched: Launched) -> str | None:
        """Return None while the program runs, otherwise the end of its error output, which may be empty."""
        ...


class Clipboard(Protocol):
    """The system's clipboard."""

    async def read(self) -> str:
        """The text, or "" if there is none."""
        ...

    async def write(self, text: str) -> None: ...

    async def selected(self, window: str) -> str:
        """The selected text, where the system keeps it apart from the clipboard; else ""."""
        ...

    async def formats(self) -> Formats: ...


class Access(Protocol):
    """What a desktop has to grant before its screen can be seen and used."""

    async def open(self) -> None:
        """Ask for it if it is not there. Raises NeedsPerson if the person refused it, or took it back."""
        ...

    def asked_anew(self) -> None:
        """Note that the person asked for something: what they refused may be asked for once more."""
        ...

    def on_question(self, listener: Callable[[Phrase], None]) -> None:
        """Call the listener with a sentence before the desktop asks the person."""
        ...


Listen = Callable[[Chord, Callable[[], None], Callable[[], None]], Callable[[], None]]
"""`listen(stop_key, stop, touched)` observes the person's input in a thread, and returns a function that ends it."""


def _is_anybodys(_window: Window) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Backend:
    """All interfaces of one platform. It is created, used and closed on the desktop thread.

    `name` is the platform and its desktop (`x11:0`). `listen` is None if the person's input cannot be observed, and
    `drawing` is None if changes can only be found by comparing pixels. `is_private` says which windows Wisp must not
    see. `reach` raises NeedsPerson while the screen cannot be seen or controlled; None if it always can.
    `access` is what has to be opened before that; None if nothing.
    `shows_drawing` draws for a moment and returns whether a capture shows that; None if this cannot be tried.
    `shows_pointer` returns whether the pointer, which is at that point, is in captures; None if it never is.
    `is_streamed`: captures are the last picture of a stream, which shows a change some moments late.
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
    access: Access | None = None
    shows_drawing: Callable[[], Awaitable[bool]] | None = None
    shows_pointer: Callable[[Point], bool] | None = None
    is_streamed: bool = False


class NoCurtain:
    """The curtain of a run in which Wisp has no windows: it hides nothing."""

    def covers(self, area: Rect) -> bool:  # noqa: ARG002
        return False

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def point_at(self, place: Rect, name: str, came_from: Point) -> Future[Marked] | None:  # noqa: ARG002
        return None

    def unmark(self) -> None:
        return
