"""A desktop on which nothing really happens: it shows a given picture and records what was done.

`--dry-run` uses it, and so do tests that need no screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect, Size
from app.base.values import dataclass, replace
from app.desktop.backends import (
    App,
    Backend,
    Button,
    Desktops,
    Formats,
    Frame,
    Landing,
    Launched,
    Window,
    WindowState,
    landing,
)
from app.desktop.elements import Accessibility, NoAccessibility
from app.desktop.keys import UNCHECKED, KeyChecks
from app.desktop.programs import HandedOverApps
from app.desktop.takeover import StopFlag

_SIZE = Size(1280, 800)
_DESKTOPS = 4
_GREY = bytes((0x50, 0x50, 0x50, 0))
_APPS = (
    App("headless/calculator.desktop", "Calculator", ("calculator",), ("Calculator",)),
    App("headless/editor.desktop", "Text Editor", ("editor",), ("TextEditor",)),
    App("headless/terminal.desktop", "Terminal", ("xterm",), ("TerminalEmulator",)),
    App("headless/files.desktop", "Files", ("file manager",), ("FileManager",)),
)


@dataclass(frozen=True, slots=True)
class Moved:
    to: Point


@dataclass(frozen=True, slots=True)
class PressedDown:
    what: Button | str


@dataclass(frozen=True, slots=True)
class Released:
    what: Button | str


@dataclass(frozen=True, slots=True)
class Scrolled:
    dx: int
    dy: int


@dataclass(frozen=True, slots=True)
class Typed:
    text: str


@dataclass(frozen=True, slots=True)
class Started:
    name: str


Deed = Moved | PressedDown | Released | Scrolled | Typed | Started


class HeadlessDesktop:
    """A desktop without a screen. `done` lists the low-level events in order; `picture` is its content.

    `windows` are open at its start, `programs` are installed.
    """

    def __init__(
        self,
        picture: Frame | None = None,
        accessibility: Accessibility | None = None,
        windows: Sequence[Window] = (),
        programs: Sequence[App] = (),
    ) -> None:
        whole = Rect(0, 0, _SIZE.width, _SIZE.height)
        self.picture = picture or Frame(whole, _GREY * _SIZE.area)
        self.done: list[Deed] = []
        self.text = ""
        self.opened = list(windows)
        self.programs = tuple(programs) or _APPS
        self.shown_desktop = 1
        self._accessibility = accessibility or NoAccessibility("This is a dry run without programs.")

    def backend(self, _stop: StopFlag) -> Backend:
        """Every part of the backend acts on this object."""
        return Backend(
            name="headless",
            screen=_Screen(self),
            pointer=_Pointer(self),
            keyboard=_Keyboard(self),
            exact=_ExactTyping(self),
            windows=_Windows(self),
            apps=_Apps(self),
            clipboard=_Clipboard(self),
            accessibility=self._accessibility,
            close=self._accessibility.close,
            drawing=_Drawing(),
        )


class _Screen:
    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop

    def monitors(self) -> tuple[Rect, ...]:
        return (self.extent(),)

    def extent(self) -> Rect:
        return self._desktop.picture.area

    def grab(self, area: Rect) -> Frame:
        from app.desktop.capture import part_of

        return part_of(self._desktop.picture, area)


class _Drawing:
    """Reports at once that nothing was drawn: the headless screen never changes by itself."""

    at = 0.0

    def follow(self) -> _Drawing:
        return self

    async def more(self, limit_s: float) -> bool:  # noqa: ARG002
        await asyncio.sleep(0)  # so that other tasks run, as on a real desktop
        return False

    def area(self) -> Rect | None:
        return None


class _Pointer:
    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop
        self._at = Point(0, 0)

    def position(self) -> Point:
        return self._at

    def double_click_s(self) -> float:
        return 0.0

    def only_at(self, place: str) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def move(self, to: Point) -> None:
        self._at = to
        self._desktop.done.append(Moved(to))

    def button(self, button: Button, *, down: bool) -> None:
        self._desktop.done.append(PressedDown(button) if down else Released(button))

    def scroll(self, dx: int, dy: int) -> None:
        self._desktop.done.append(Scrolled(dx, dy))


class _Keyboard:
    is_lending = False

    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop

    def key(self, name: str, *, down: bool) -> None:
        self._desktop.done.append(PressedDown(name) if down else Released(name))

    def place(self, name: str) -> str:
        return name

    def can_type(self, text: str) -> bool:
        return text.isascii()

    def type_text(self, text: str) -> None:
        self._desktop.done.append(Typed(text))

    def symbols_of(self, name: str) -> frozenset[str]:  # noqa: ARG002
        return frozenset()

    @contextmanager
    def plain(self) -> Iterator[None]:
        yield

    def only_into(self, place: str) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def give_back(self) -> None:
        return None


class _ExactTyping:
    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop

    def can_paste(self) -> bool:
        return False

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:  # noqa: ARG002
        self._desktop.done.append(Typed(text))
        return True

    async def remap(self, text: str, into: str = "") -> None:  # noqa: ARG002
        self._desktop.done.append(Typed(text))


class _Windows:
    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop

    def all(self) -> tuple[Window, ...]:
        return tuple(self._desktop.opened)

    def shown(self) -> tuple[Window, ...]:
        return tuple(window for window in self._desktop.opened if not window.is_minimised)

    def keyboard(self) -> Landing:
        return landing(self.shown())

    def under(self, point: Point) -> Landing:
        return landing(self.shown(), point)

    def _find(self, ref: str) -> Window:
        found = next((window for window in self._desktop.opened if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        return found

    async def focus(self, ref: str) -> Window:
        front = replace(self._find(ref), is_active=True, is_minimised=False)
        rest = [replace(w, is_active=False) for w in self._desktop.opened if w.ref != ref]
        self._desktop.opened[:] = [front, *rest]
        return front

    async def close(self, ref: str) -> bool:
        self._desktop.opened.remove(self._find(ref))
        return True

    async def place(self, ref: str, area: Rect) -> Window:
        return self._replace(replace(self._find(ref), area=area))

    async def minimise(self, ref: str) -> None:
        self._replace(replace(self._find(ref), is_minimised=True, is_active=False))

    async def set_state(self, ref: str, state: WindowState, *, on: bool) -> Window:
        found = self._find(ref)
        return self._replace(replace(found, states=found.states | {state} if on else found.states - {state}))

    def desktops(self) -> Desktops:
        return Desktops(self._desktop.shown_desktop, _DESKTOPS)

    async def go_to_desktop(self, number: int) -> None:
        self._desktop.shown_desktop = number

    async def send_to_desktop(self, ref: str, number: int) -> None:
        self._replace(replace(self._find(ref), desktop=number))

    def _replace(self, window: Window) -> Window:
        self._desktop.opened[:] = [window if w.ref == window.ref else w for w in self._desktop.opened]
        return window

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:  # noqa: ARG002
        return True

    async def picture(self, ref: str) -> Frame | None:  # noqa: ARG002
        return None

    async def arranged(self, limit_s: float) -> bool:  # noqa: ARG002
        return True

    async def changed(self, limit_s: float) -> None:  # noqa: ARG002
        await asyncio.sleep(0)


class _Apps(HandedOverApps):
    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop

    def installed(self) -> tuple[App, ...]:
        return self._desktop.programs

    def command_line(self, app: App) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self._start(" ".join((app.name, *arguments)))

    def open(self, address: str) -> Launched:
        return self._start(address)

    def _start(self, name: str) -> Launched:
        self._desktop.done.append(Started(name))
        count = len(self._desktop.opened) + 1
        behind = [replace(window, is_active=False) for window in self._desktop.opened]
        area = self._desktop.picture.area
        self._desktop.opened[:] = [Window(f"w{count}", name, name, area, pid=count, is_active=True), *behind]
        return Launched(count, name)


class _Clipboard:
    def __init__(self, desktop: HeadlessDesktop) -> None:
        self._desktop = desktop

    async def read(self) -> str:
        return self._desktop.text

    async def write(self, text: str) -> None:
        self._desktop.text = text

    async def selected(self, window: str) -> str:  # noqa: ARG002
        return ""

    async def formats(self) -> Formats:
        return {"text/plain": self._desktop.text.encode()} if self._desktop.text else {}
