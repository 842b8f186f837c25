"""Windows by wlr-foreign-toplevel-management: it tells titles, programs and states, but no places and no processes.

https://wayland.app/protocols/wlr-foreign-toplevel-management-unstable-v1. A window's place is where its picture is
found on the screen, its process is the only one of its program's name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.values import dataclass, field
from app.desktop.backends import NotOffered, Window, WindowState, number_of_ref
from app.desktop.wayland import kernel
from app.desktop.wayland.compositor import TOPLEVELS, Compositor
from app.desktop.wayland.pictures import WindowPictures, found_in
from app.desktop.wayland.screen import WaylandScreen
from app.desktop.wayland.windows import Listing
from app.desktop.wayland.wire import Wire

_MAXIMISED, _MINIMISED, _ACTIVATED, _FULL_SCREEN = 0, 1, 2, 3
_MAXIMISE, _UNMAXIMISE, _MINIMISE, _RESTORE, _ACTIVATE, _CLOSE, _FILL_SCREEN, _LEAVE_SCREEN = 0, 1, 2, 3, 4, 5, 8, 9
_WITH_FULL_SCREEN = 2
_STATES = {_MAXIMISED: WindowState.MAXIMISED, _FULL_SCREEN: WindowState.FULL_SCREEN}
_WORD_BYTES = 4
_UNKNOWN = Rect(0, 0, 0, 0)
_LOOKS, _LOOK_AGAIN_S = 4, 0.1
_RUN_WORDS = 2
"""A script has its name after that of what runs it."""


@dataclass(slots=True)
class Toplevel:
    """A window as the compositor told it. `parent` is the object of the window that it is a dialog of, or 0."""

    title: str = ""
    app: str = ""
    states: frozenset[int] = field(default_factory=frozenset)
    parent: int = 0
    pid: int = 0


class Toplevels(Listing):
    """The windows of a compositor that tells nothing but their names. The last activated one comes first.

    A window whose place is not known has an area of no size.
    """

    name = "toplevels"

    def __init__(self, compositor: Compositor, pictures: WindowPictures, screen: WaylandScreen) -> None:
        self._compositor = compositor
        self._pictures = pictures
        self._screen = screen
        self._places: dict[int, Rect] = {}
        self._doubtful: dict[int, int] = {}
        """The windows that may lie elsewhere now, and how often they are still looked for."""
        self._looked_at = 0.0
        self._known: dict[int, Toplevel] = {}
        self._order: list[int] = []
        self._changed: Callable[[], None] = lambda: None
        compositor.on_connect(self._connected)

    def _connected(self, wire: Wire) -> None:
        self._known.clear()
        self._order.clear()
        self._places.clear()
        if self._compositor.has(TOPLEVELS):
            manager = self._compositor.bound(TOPLEVELS)
            wire.hear(manager, {0: ("n", self._appeared)})
            wire.roundtrip()

    def _appeared(self, number: int) -> None:
        told = self._known[number] = Toplevel()
        self._order.append(number)

        def titled(text: str) -> None:
            told.title = text

        def named(text: str) -> None:
            told.app = text

        def stated(raw: bytes) -> None:
            words = (raw[at : at + _WORD_BYTES] for at in range(0, len(raw), _WORD_BYTES))
            before, told.states = told.states, frozenset(int.from_bytes(word, "little") for word in words)
            if _ACTIVATED in told.states - before:
                self._order.remove(number)
                self._order.insert(0, number)

        def owned(parent: int) -> None:
            told.parent = parent

        def done() -> None:
            self.doubt(all_of_them=True)
            self._changed()

        def closed() -> None:
            del self._known[number]
            self._order.remove(number)
            self._places.pop(number, None)
            self.doubt(all_of_them=True)
            self._compositor.wire.send(number, 7)
            self._compositor.wire.forget(number)
            self._changed()

        self._compositor.wire.hear(
            number,
            {
                0: ("s", titled),
                1: ("s", named),
                4: ("a", stated),
                5: ("", done),
                6: ("", closed),
                7: ("o", owned),
            },
        )

    def windows(self) -> tuple[Window, ...]:
        self._compositor.wire.roundtrip()
        self._look_where()
        found = [self._window(number, self._known[number]) for number in self._order]
        return tuple(sorted(found, key=lambda window: window.is_minimised))

    def at(self, point: Point) -> None:  # noqa: ARG002 - the protocol does not tell
        return

    def doubt(self, *, all_of_them: bool) -> None:
        """Note that windows may have been moved: all, or only the active one."""
        self._doubtful |= dict.fromkeys(self._order if all_of_them else self._order[:1], _LOOKS)

    def _look_where(self) -> None:
        """Find the doubtful windows that are not minimised on the screen."""
        shown = [number for number in self._order if _MINIMISED not in self._known[number].states]
        wait_s = self._looked_at + _LOOK_AGAIN_S - time.monotonic()
        left = {number: looks for number in shown if (looks := self._doubtful.get(number))}
        doubtful = [number for number, looks in left.items() if looks == _LOOKS or wait_s <= 0]
        if not doubtful or not self._pictures.is_possible:
            return
        screen = self._screen.grab(self._screen.extent())
        for number in doubtful:
            told, before = self._known[number], self._places.get(number)
            picture = self._pictures.of(told.app, told.title)
            place = found_in(screen, picture, before) if picture else None
            # One that is not found may not be drawn yet, or lie behind others, where it was.
            self._doubtful[number] = 0 if place else left[number] - 1
            if place and not (before and _has_menu_beside(before, place)):
                self._places[number] = place
        self._looked_at = time.monotonic()

    def _window(self, number: int, told: Toplevel) -> Window:
        area = self._places.get(number, _UNKNOWN)
        return Window(
            ref=f"w{number:x}",
            title=told.title,
            app=told.app,
            area=area,
            pid=self._pid(told),
            is_active=_ACTIVATED in told.states,
            is_minimised=_MINIMISED in told.states,
            is_dialog=bool(told.parent),
            content=area if area.size.area else None,
            states=frozenset(state for number, state in _STATES.items() if number in told.states),
        )

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window."""
        self._changed = changed

    def _pid(self, told: Toplevel) -> int:
        if not told.pid or not Path(f"/proc/{told.pid}").exists():
            told.pid = pid_of(told.app)
        return told.pid

    def focus(self, ref: str) -> None:
        self._send(ref, _RESTORE)
        self._send(ref, _ACTIVATE, "o", self._compositor.seat())

    def close(self, ref: str) -> None:
        self._send(ref, _CLOSE)

    def place(self, ref: str, area: Rect) -> None:  # noqa: ARG002
        raise ToolFailed("This desktop does not let Wisp move windows or change their size.")

    def minimise(self, ref: str) -> None:
        self._send(ref, _MINIMISE)

    def set_state(self, ref: str, state: WindowState, *, on: bool) -> None:
        """Maximise a window or fill the screen with it, or no longer: the protocol keeps none above the others."""
        if state is WindowState.FULL_SCREEN and self._compositor.version(TOPLEVELS) < _WITH_FULL_SCREEN:
            raise NotOffered
        if state is WindowState.MAXIMISED:
            self._send(ref, _MAXIMISE if on else _UNMAXIMISE)
        elif state is WindowState.FULL_SCREEN and on:
            self._send(ref, _FILL_SCREEN, "o", 0)  # on the monitor that the compositor chooses
        elif state is WindowState.FULL_SCREEN:
            self._send(ref, _LEAVE_SCREEN)
        else:
            raise NotOffered

    def _send(self, ref: str, opcode: int, signature: str = "", *arguments: int) -> None:
        number = number_of_ref(ref)
        if number not in self._known:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        self._compositor.wire.send(number, opcode, signature, *arguments)
        self._compositor.wire.roundtrip()


def _has_menu_beside(window: Rect, picture: Rect) -> bool:
    """An open menu may reach beyond its window, and then the picture does, too."""
    return picture.overlap(window) == window and (picture.x < window.x or picture.y < window.y)


def pid_of(app: str) -> int:
    """Return the process of a program that has windows under this name; 0 if it is none or several.

    The children of a process that has the name, too, belong to it.
    """
    wanted = app.rpartition(".")[2].casefold()
    parents = {pid: parent for pid, parent, names in _processes() if app.casefold() in names or wanted in names}
    roots = [pid for pid, parent in parents.items() if parent not in parents]
    return roots[0] if wanted and len(roots) == 1 else 0


def _processes() -> Iterator[tuple[int, int, frozenset[str]]]:
    """Yield each process of this person: its number, its parent's, and the names of what it runs, in lower case."""
    for folder in Path("/proc").iterdir():
        try:
            if not folder.name.isdigit() or not kernel.is_own(folder):
                continue
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:_RUN_WORDS]
            parent = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:  # because it has ended meanwhile
            continue
        yield int(folder.name), parent, frozenset(Path(word).name.casefold() for word in words if word)
