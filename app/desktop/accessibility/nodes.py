"""A program's accessibility tree as it was read, before any part of it is chosen for an outline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.base.geometry import Point, Rect
from app.base.values import dataclass, field
from app.desktop.accessibility import constants as spi

_FACTORS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 4.0)
_BORDER_PX = 16
"""The most that a window manager's frame adds on the left, the right and at the bottom."""
_TITLE_PX = 96


@dataclass(frozen=True, slots=True)
class Scale:
    """Map a program's coordinates to the screen: screen pixels = reported pixels * `factor` + (`dx`, `dy`)."""

    factor: float = 1.0
    dx: int = 0
    dy: int = 0

    def on_screen(self, box: Rect) -> Rect:
        if self == AS_TOLD or box.size.area == 0:
            return box
        left, top = round(box.x * self.factor), round(box.y * self.factor)
        right, bottom = round(box.right * self.factor), round(box.bottom * self.factor)
        return Rect(left + self.dx, top + self.dy, right - left, bottom - top)

    def moved(self, told: Rect, place: Rect) -> Scale:
        """Return the scale by which a box that is reported as `told` lies where `place` lies by this one."""
        dx, dy = round((place.x - told.x) * self.factor), round((place.y - told.y) * self.factor)
        return Scale(self.factor, self.dx + dx, self.dy + dy)


AS_TOLD = Scale()
NOWHERE = Scale(0.0)
"""For an object that is not on the screen yet, such as a menu that is just opening."""


def scale_of(told: Rect, areas: Sequence[Rect], corners: Sequence[Point] = (Point(0, 0),)) -> Scale:
    """Find the scale of a window's coordinates. `told` is the box that its program reports.

    `areas` are the screen areas, frames included, that the window may have; `corners` are the top left corners of the
    monitors.
    """
    if told.size.area == 0:
        return AS_TOLD
    scales = [_counted_from(corner, factor) for factor in _FACTORS for corner in (Point(0, 0), *corners)]
    if (told.x, told.y) == (0, 0):
        scales += [_moved(told, area, factor) for factor in _FACTORS for area in areas]
    fitting = (scale for scale in scales if any(lies_in(scale.on_screen(told), area) for area in areas))
    return next(fitting, AS_TOLD)


def _counted_from(corner: Point, factor: float) -> Scale:
    return Scale(factor, round(corner.x * (1 - factor)), round(corner.y * (1 - factor)))


def _moved(told: Rect, area: Rect, factor: float) -> Scale:
    """Return the scale of a window that reports positions relative to itself, from its reported box and screen area.

    The frame is as wide at the bottom as at the sides; what remains of the height is the title bar.
    """
    width, height = round(told.width * factor), round(told.height * factor)
    border = (area.width - width) // 2
    return Scale(factor, area.x + border, area.bottom - border - height)


def lies_in(box: Rect, area: Rect) -> bool:
    """True if the box fills the area except for the window's frame around it."""
    sides = (box.x - area.x, area.right - box.right, area.bottom - box.bottom)
    return all(-2 <= side <= _BORDER_PX for side in sides) and -2 <= box.y - area.y <= _TITLE_PX


PROGRAM_LIMIT_S = 0.5
"""How long one look may wait for one program, over all of its calls."""

Key = tuple[str, str]
"""Bus name and object path, which identify an object for as long as it exists."""

_CONTENT_NAMES = 4


@dataclass(slots=True, eq=False)
class Node:
    """One accessible object. `box` and `value` are None until they are read, `interfaces` until they are known.

    `length` is how many characters its text has; `value` is only the beginning of a long one.

    `is_floating`: GTK 4 names a class for it that is shown in a popup. `is_unplaced`: it shows, nobody knows where.

    `unseen` counts the children that are there and do not show, as they are scrolled away.

    `place` identifies a cell of a sheet by its table's key, its row and its column, because LibreOffice makes a new
    object for the same cell each time.
    """

    key: Key
    role: str = "unknown"
    name: str = ""
    description: str = ""
    states: int = 0
    interfaces: frozenset[str] | None = None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    box: Rect | None = None
    value: str | None = None
    length: int = 0
    label: str = ""
    place: Key | None = None
    unseen: int = 0
    is_floating: bool = False
    is_unplaced: bool = False

    def has(self, state: str) -> bool:
        return bool(self.states & spi.BITS[state])

    def may(self, interface: str) -> bool:
        return self.interfaces is None or interface in self.interfaces

    @property
    def shows(self) -> bool:
        # GTK 3 says that a viewport does not show once it was scrolled by its own height, whatever shows in it.
        is_view = self.role == "viewport" and self.has("visible")
        return (self.has("showing") or is_view) and not self.has("defunct")

    @property
    def is_far_row(self) -> bool:
        """True for a row that is out of sight in a list. Qt does not mark such rows as visible."""
        return not self.shows and self.has("selectable") and self.parent is not None and self.parent.role in spi.ROOMY

    @property
    def is_scrolled_away(self) -> bool:
        """True if the node shows only once it is scrolled to."""
        return not self.shows and (self.has("visible") or self.is_far_row)

    @property
    def is_operable(self) -> bool:
        return self.role in spi.OPERABLE

    @property
    def is_in_page(self) -> bool:
        """True for a web page and for what is inside one."""
        return self.role in spi.PAGES or any(above.role in spi.PAGES for above in self.ancestors())

    @property
    def is_notable(self) -> bool:
        """True if the node's position matters. It does not for the many nodes that only arrange others."""
        return self.is_operable or bool(self.name.strip()) or self.parent is None or self.role in spi.VALUES

    @property
    def pane(self) -> Node | None:
        """The root pane that holds the node, or is the node; None if there is none, as in most toolkits."""
        return next((above for above in (self, *self.ancestors()) if above.role == spi.ROOT_PANE), None)

    @property
    def called(self) -> str:
        """The object's name. A control without one gets its label, the texts inside it, or its tool tip.

        A combo box with a label has that: Qt and GTK 3 name it by what is chosen in it.
        """
        if self.role == spi.COMBO_BOX and self.label:
            return self.label
        if self.name.strip() or not self.is_operable:
            return self.name
        return self.label or self._content() or self.tip

    @property
    def tip(self) -> str:
        """The description, without the accelerator that GTK 3 adds after blanks: "Square root    R"."""
        return self.description.split("   ")[0]

    def _content(self) -> str:
        if self.role in spi.TEXTS:
            return ""
        inside = (node.name.strip() for node in self.walk() if node is not self and node.name.strip())
        return " ".join(name for name, _ in zip(inside, range(_CONTENT_NAMES), strict=False))

    def walk(self) -> Iterator[Node]:
        """Yield the node and all its descendants, parents first, in the order in which the program lists them."""
        yield self
        for child in self.children:
            yield from child.walk()

    def ancestors(self) -> Iterator[Node]:
        """Yield the ancestors of the node, from its parent up to its window."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


@dataclass(slots=True, eq=False)
class Program:
    """A program on the bus and what is known about it. `windows` are its visible top-level windows.

    `is_silent`: it did not answer in time. `is_cut`: its tree was read only in part. `left_s` is how many seconds Wisp
    still waits for it. `is_unordered`: its children come in no useful order (GTK 3 may lose the order). `cached` is its
    whole tree, in the wire format in which the program sent it.
    """

    bus_name: str
    name: str = ""
    pid: int = 0
    windows: list[Node] = field(default_factory=list)
    is_read: bool = False
    is_silent: bool = False
    is_cut: bool = False
    is_unordered: bool = False
    left_s: float = PROGRAM_LIMIT_S
    cached: dict[Any, Any] = field(default_factory=dict)
    scales: dict[Key, Scale] = field(default_factory=dict)
    """For each window, the scale of its coordinates."""
    is_within: bool = False
    """Whether it tells places within its windows, and the system where these are. So it is on Wayland."""
    anchors: dict[Key, tuple[Node, ...]] = field(default_factory=dict)
    """For each window of such a program, what fills its surface; () for popups and where nothing does."""

    def scale_for(self, node: Node) -> Scale:
        """A popup is not a window of its own: it uses its program's scale."""
        if node.is_in_page and not self.is_within:
            return AS_TOLD
        known = (self.scales[holder.key] for holder in (node, *node.ancestors()) if holder.key in self.scales)
        others = (scale for scale in self.scales.values() if scale != AS_TOLD)
        return next(known, None) or next(others, AS_TOLD)

    @property
    def is_active(self) -> bool:
        return any(window.has("active") for window in self.windows)

    def walk(self) -> Iterator[tuple[Node, Node]]:
        """Yield all nodes, each with its window."""
        for window in self.windows:
            for node in window.walk():
                yield window, node

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Its duration is taken from `left_s`. Raises TimeoutError when nothing is left."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(self.left_s):
                yield
        finally:
            self.left_s = max(self.left_s - (clock() - began), 0.0)


def pane_scale(scale: Scale, pane: Rect | None, around: Rect | None) -> Scale:
    """Return the scale inside a root pane, from that of its window, its reported box, and that of what is around it.

    A pane that is as large as what is around it fills it. LibreOffice reports it, and all that is in it, too high by
    the height of the menu bar until the pointer is in its window for the first time.
    """
    if pane is None or around is None or pane.size != around.size:
        return scale
    return scale.moved(pane, around)


def states_of(words: list[int]) -> int:
    """Build a state set from the two 32-bit words of the wire format."""
    return sum((word & 0xFFFFFFFF) << (32 * place) for place, word in enumerate(words))


def role_of(number: int) -> str:
    return spi.ROLES[number] if 0 <= number < len(spi.ROLES) else "unknown"


def state_names(states: int) -> frozenset[str]:
    return frozenset(name for name, bit in spi.BITS.items() if states & bit)
