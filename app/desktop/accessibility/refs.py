"""Short names for objects, the same for as long as an object exists: `e12`."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.geometry import Point, Rect
from app.base.ids import counter
from app.base.values import dataclass, replace
from app.desktop.accessibility.nodes import Key, Node, Program, Scale, state_names
from app.desktop.backends import Window
from app.desktop.elements import Element

COVERED = "covered"
"""The state of an element whose middle is behind another window. AT-SPI has no such state."""
_POPUPS = frozenset({"window", "popup menu", "menu", "tool tip"})


class Stack:
    """The windows at one moment, topmost first. If it is empty, nothing is covered. `corners` are the monitors'."""

    def __init__(self, windows: Sequence[Window] = (), monitors: Sequence[Rect] = ()) -> None:
        self.corners = tuple(Point(monitor.x, monitor.y) for monitor in monitors)
        own = (window for window in windows if not window.is_minimised and (window.pid or not window.is_popup))
        self._windows = list(own)  # because a menu without a process may be an overlay that clicks pass through

    def areas(self, pid: int, title: str) -> list[Rect]:
        """Return the areas that a program's window of that title may have, frames included (GTK's dialogs have no
        title).
        """
        own = [known for known in self._windows if known.pid == pid and not known.is_popup]
        return [known.area for known in own if known.title == title] or [known.area for known in own]

    def popups(self, pid: int) -> list[Rect]:
        """Return the areas of a program's menus and tool tips."""
        return [known.area for known in self._windows if known.pid == pid and known.is_popup]

    def hides(self, program: Program, window: Node, node: Node) -> bool:
        """Return whether a click on the middle of the node would reach another window."""
        return node.box is not None and self.hides_at(node.box.center, program, window, node)

    def hides_at(self, point: Point, program: Program, window: Node, node: Node) -> bool:
        """Return whether a click at a point of the node would reach another window."""
        own = [known for known in self._windows if known.pid == program.pid]
        top = self._top(point)
        if top is None or not own or is_in_popup(window, node):
            return False
        if top.pid != program.pid:
            return True
        return top.title != window.name and any(known.title == window.name for known in own)

    def _top(self, point: Point) -> Window | None:
        return next((window for window in self._windows if window.area.contains(point)), None)


def is_in_popup(window: Node, node: Node) -> bool:
    """Return whether the node is in a menu or drop-down list, which lie over everything and in no window list."""
    return window.role in _POPUPS or any(above.role in _POPUPS for above in node.ancestors())


_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Seen:
    """An object that has a ref: its key, its window's key, the scale of its coordinates, and its last state.

    `place` is set for a cell of a sheet. `is_apart`: its coordinates do not follow its window's scale, because it is in
    a page or a menu.
    """

    key: Key
    window: Key
    scale: Scale
    is_apart: bool
    element: Element
    place: Key | None = None


class RefBook:
    """Gives refs to objects and finds objects by them. Forgets the oldest after 20 000."""

    def __init__(self) -> None:
        self._next = counter("e")
        self._refs: dict[Key, str] = {}
        self._seen: dict[str, Seen] = {}

    def element(self, program: Program, window: Node, node: Node, *, is_covered: bool = False) -> Element:
        """Return the node as a value, with its ref."""
        assert node.box is not None, "fill() comes first"
        element = Element(
            ref=self.ref_of(node.place or node.key),
            role=node.role,
            name=node.called,
            value=node.value or "",
            box=node.box,
            states=state_names(node.states) | ({COVERED} if is_covered else set()),
            window=window.name,
            app=program.name,
            pid=program.pid,
            description=node.description,
        )
        scale = program.scale_for(node)
        is_apart = node.is_in_page or scale != program.scales.get(window.key, scale)
        self._seen[element.ref] = Seen(node.key, window.key, scale, is_apart, element, node.place)
        return element

    def renewed(self, ref: str, node: Node) -> Element:
        """Return the element under a ref, as it was just read again."""
        seen = self._seen[ref]
        before = seen.element
        assert node.box is not None
        element = replace(
            before,
            role=node.role,
            name=node.name or before.name,
            value=node.value or "",
            box=node.box,
            states=state_names(node.states),
            description=node.description,
        )
        self._seen[ref] = replace(seen, element=element, key=node.key)
        return element

    def ref_of(self, key: Key) -> str:
        ref = self._refs.get(key)
        if ref is None:
            ref = self._refs[key] = self._next()
            if len(self._refs) > _KEPT:
                oldest = next(iter(self._refs))
                self._seen.pop(self._refs.pop(oldest), None)
        return ref

    def key_of(self, ref: str) -> Key | None:
        """Return the object under a ref, or the place of a cell; None for an unknown ref."""
        seen = self._seen.get(ref)
        return seen.place or seen.key if seen else None

    def known(self, key: Key | None) -> str:
        """Return the ref that an object already has, or ""."""
        return self._refs.get(key, "") if key else ""

    def name_of(self, key: Key) -> str | None:
        """Return what an object was called when it was last read, or None if it never was."""
        seen = self._seen.get(self._refs.get(key, ""))
        return seen.element.name if seen else None

    def last_seen(self, ref: str) -> Seen | None:
        """Return the object and its state when it was last read."""
        return self._seen.get(ref)
