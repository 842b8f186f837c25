"""A press that a person made: a button's own events, never a click that a program made up."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QInputEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractButton

from app.ui.approvals.devices import EveryPress, Witness

_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class Press(QObject):
    """Watches a button and tells only of presses that came through the window system.

    `QAbstractButton.clicked` also fires for `click()`, for an accessibility client's press action and for events that
    something in this process posted; none of them is a decision. With a `witness`, presses that other programs made up
    are none either.
    """

    meant = Signal()

    def __init__(self, button: QAbstractButton, witness: Witness | None = None) -> None:
        super().__init__(button)
        self._button = button
        self._witness = witness or EveryPress()
        self._began = False
        button.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.KeyPress):
            self._began = _is_a_press(event) and isinstance(event, QInputEvent) and self._witness.is_persons(event)
        elif event.type() in (QEvent.Type.MouseButtonRelease, QEvent.Type.KeyRelease):
            began, self._began = self._began, False
            if began and event.spontaneous() and self._inside(event) and self._button.isEnabled():
                self.meant.emit()
        return False

    def _inside(self, event: QEvent) -> bool:
        place = QRect(self._button.rect())
        return not isinstance(event, QMouseEvent) or place.contains(event.position().toPoint())


def _is_a_press(event: QEvent) -> bool:
    if isinstance(event, QKeyEvent):
        return event.key() in _KEYS and not event.isAutoRepeat()
    return isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton
