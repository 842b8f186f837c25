"""Describe self-painted widgets to screen readers: their role and their actions.

A widget has a `ROLE`; one that can be pressed also has `press`, and one that opens and closes has `expanded`. Qt calls
the factory for each widget once a program listens on the accessibility bus.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol, cast, runtime_checkable

from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_PRESS = QAccessibleActionInterface.pressAction
_faces: dict[int, QAccessibleInterface] = {}
"""Qt holds no reference to what the factory makes in Python."""


@runtime_checkable
class Pressable(Protocol):
    def press(self) -> None:
        """What a click on it does."""
        ...


class _Face(QAccessibleWidget):
    """A widget as the accessibility bus sees it."""

    def __init__(self, widget: QWidget, role: QAccessible.Role) -> None:
        super().__init__(widget, role)
        self._weakly = weakref.ref(widget)  # because Qt keeps interfaces longer than their widgets

    @property
    def _shown(self) -> QWidget | None:
        return self._weakly()

    def state(self) -> Any:
        state = super().state()
        expanded = getattr(self._shown, "expanded", None)
        if expanded is not None:
            state.expandable = True
            state.expanded = bool(expanded)
            state.collapsed = not expanded
        return state

    def childCount(self) -> int:
        return len(self._children())

    def child(self, index: int) -> QAccessibleInterface:
        children = self._children()
        if not 0 <= index < len(children):
            return cast(QAccessibleInterface, None)  # Qt's own answer to a child that is gone
        return QAccessible.queryAccessibleInterface(children[index])

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        shown = child.object()
        return self._children().index(shown) if shown in self._children() else -1

    def _children(self) -> list[QWidget]:
        """From top to bottom, as they are read: they may have been made in any order."""
        if (shown := self._shown) is None:
            return []
        found = [child for child in shown.children() if isinstance(child, QWidget) and not child.isHidden()]
        return sorted((child for child in found if not child.isWindow()), key=lambda child: (child.y(), child.x()))

    def actionNames(self) -> list[str]:
        names = list(super().actionNames())
        return [_PRESS(), *names] if isinstance(self._shown, Pressable) else names

    def doAction(self, name: str) -> None:
        shown: object = self._shown
        if name == _PRESS() and isinstance(shown, Pressable):
            shown.press()
        else:
            super().doAction(name)


def install() -> None:
    """From now on widgets with a `ROLE` have it; a second time changes nothing."""
    if not _installed:
        _installed.append(True)
        QAccessible.installFactory(_made)


_installed: list[bool] = []


def _made(_kind: str, thing: object) -> QAccessibleInterface | None:
    role = getattr(thing, "ROLE", None)
    if role is None or not isinstance(thing, QWidget):
        return None
    number = id(thing)
    face = _faces[number] = _Face(thing, role)
    thing.destroyed.connect(lambda: _faces.pop(number, None))
    return face
