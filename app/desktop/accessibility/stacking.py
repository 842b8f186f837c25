"""Which window is in front: AT-SPI says `showing` also of what another window hides."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.geometry import Point, Rect
from app.desktop.accessibility.nodes import Node, Program
from app.desktop.api import Window

COVERED = "covered"
"""The state of an element whose middle is behind another window; not one of AT-SPI's."""
_POPUPS = frozenset({"window", "popup menu", "menu", "tool tip"})


class Stack:
    """The windows at one moment, topmost first; with none known nothing is covered. `corners` are the monitors'."""

    def __init__(self, windows: Sequence[Window] = (), monitors: Sequence[Rect] = ()) -> None:
        self.corners = tuple(Point(monitor.x, monitor.y) for monitor in monitors)
        own = (window for window in windows if not window.is_minimised and (window.pid or not window.is_popup))
        self._windows = list(own)  # what belongs to nobody may be an overlay that clicks go through

    def areas(self, pid: int, title: str) -> list[Rect]:
        """The areas that a program's window of that title may have, frames included (GTK's dialogs tell no title)."""
        own = [known for known in self._windows if known.pid == pid and not known.is_popup]
        return [known.area for known in own if known.title == title] or [known.area for known in own]

    def popups(self, pid: int) -> list[Rect]:
        """The areas of a program's menus and the like."""
        return [known.area for known in self._windows if known.pid == pid and known.is_popup]

    def hides(self, program: Program, window: Node, node: Node) -> bool:
        """Whether a click into the middle of the node would reach another window."""
        return node.box is not None and self.hides_at(node.box.center, program, window, node)

    def hides_at(self, point: Point, program: Program, window: Node, node: Node) -> bool:
        """Whether a click at a point of the node would reach another window."""
        own = [known for known in self._windows if known.pid == program.pid]
        top = self._top(point)
        if top is None or not own or _is_in_popup(window, node):
            return False
        if top.pid != program.pid:
            return True
        return top.title != window.name and any(known.title == window.name for known in own)

    def _top(self, point: Point) -> Window | None:
        return next((window for window in self._windows if window.area.contains(point)), None)


def _is_in_popup(window: Node, node: Node) -> bool:
    """Menus and drop-down lists lie over everything and are in no list of windows."""
    return window.role in _POPUPS or any(above.role in _POPUPS for above in node.ancestors())
