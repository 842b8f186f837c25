"""Trees as a program would tell them, for tests without a desktop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from app.base.geometry import Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.nodes import Node, Program

_paths = itertools.count(1)
_ALIVE = ("showing", "visible", "sensitive", "enabled")


def node(
    role: str,
    name: str = "",
    box: tuple[int, int, int, int] = (0, 0, 10, 10),
    *children: Node,
    states: Sequence[str] = _ALIVE,
    description: str = "",
    value: str = "",
) -> Node:
    """A node with its children below it."""
    made = Node((":1.1", f"/{next(_paths)}"), role, name, description, sum(spi.BITS[state] for state in states))
    made.box, made.value, made.children = Rect(*box), value, list(children)
    for child in children:
        child.parent = made
    return made


def greyed(*also: str) -> tuple[str, ...]:
    return ("showing", "visible", *also)


def program(name: str, *windows: Node, pid: int = 7) -> Program:
    return Program(":1.1", name, pid, list(windows), is_read=True)
