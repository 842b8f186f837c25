"""Describe self-painted widgets to screen readers: their role and their actions.

A widget has a `ROLE`; one that can be pressed also has `press`, and one that opens and closes has `expanded`. Qt calls
the factory for each widget once a program listens on the accessibility bus.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleAnnouncementEvent, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from app.agent import agent_events as agent
from app.ui.presenter.wording import unmarked

_PRESS = QAccessibleActionInterface.pressAction
_faces: dict[int, QAccessibleInterface] = {}
"""Qt holds no reference to what the factory makes in Python."""


@runtime_checkable
class Pressable(Protocol):
    def press(self) -> None:
        """Do what a click on the widget does."""
        ...


class _Face(QAccessibleWidget):
    """Describes a widget to the accessibility bus."""

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
        """Visible ones, from top to bottom, the order in which they are read aloud."""
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
    """Register the factory that describes widgets with a `ROLE` to screen readers. A second call changes nothing."""
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


def announce(source: QObject, events: Sequence[agent.AgentEvent]) -> None:
    """Let a screen reader speak the ends of turns, questions and notices in `events`. `source` is the object that
    speaks."""
    if not QAccessible.isActive():
        return
    for event in events:
        words = {agent.TurnEnded: "text", agent.ApprovalWanted: "sentence", agent.Notice: "sentence"}.get(type(event))
        if words and (text := getattr(event, words)):
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(source, unmarked(text)))
