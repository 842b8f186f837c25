"""A program's tree as it was read, before anything is chosen from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.base.geometry import Rect
from app.desktop.accessibility import constants as spi

Key = tuple[str, str]
"""Bus name and object path: what an object is called for as long as it lives."""

_CONTENT_NAMES = 4


@dataclass(slots=True, eq=False)
class Node:
    """One object. `box` and `value` are None until they were asked for."""

    key: Key
    role: str
    name: str = ""
    description: str = ""
    states: int = 0
    interfaces: frozenset[str] | None = None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    box: Rect | None = None
    value: str | None = None
    label: str = ""

    def has(self, state: str) -> bool:
        return bool(self.states & spi.BITS[state])

    @property
    def shows(self) -> bool:
        return self.has("showing") and not self.has("defunct")

    @property
    def is_operable(self) -> bool:
        return self.role in spi.OPERABLE

    @property
    def called(self) -> str:
        """Its name, else its label, else the texts inside it where it is a control."""
        if self.name.strip() or not self.is_operable:
            return self.name
        return self.label or self._content()

    def _content(self) -> str:
        if self.role in spi.TEXTS:
            return ""
        inside = (node.name.strip() for node in self.walk() if node is not self and node.name.strip())
        return " ".join(name for name, _ in zip(inside, range(_CONTENT_NAMES), strict=False))

    def walk(self) -> Iterator[Node]:
        """Itself and all below, in reading order of the tree."""
        yield self
        for child in self.children:
            yield from child.walk()

    def ancestors(self) -> Iterator[Node]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


@dataclass(slots=True)
class Program:
    """A program on the bus and what is known of it. `windows` are its showing top levels.

    `is_silent`: it did not answer in time; `is_cut`: it answered in part.
    """

    bus_name: str
    name: str = ""
    pid: int = 0
    windows: list[Node] = field(default_factory=list)
    is_read: bool = False
    is_silent: bool = False
    is_cut: bool = False

    @property
    def is_active(self) -> bool:
        return any(window.has("active") for window in self.windows)

    def walk(self) -> Iterator[tuple[Node, Node]]:
        """All nodes, each with its window."""
        for window in self.windows:
            for node in window.walk():
                yield window, node


def states_of(words: list[int]) -> int:
    """A state set from the two 32-bit words of the wire."""
    return sum((word & 0xFFFFFFFF) << (32 * place) for place, word in enumerate(words))


def role_of(number: int) -> str:
    return spi.ROLES[number] if 0 <= number < len(spi.ROLES) else "unknown"


def state_names(states: int) -> frozenset[str]:
    return frozenset(name for name, bit in spi.BITS.items() if states & bit)
