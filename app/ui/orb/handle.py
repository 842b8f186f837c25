"""What a hand does with the orb: a click, a drag, the menu; and where it is put."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAccessible, QContextMenuEvent, QMouseEvent
from PySide6.QtWidgets import QApplication

from app.base.geometry import Rect
from app.ui.floating import Floating, Surroundings
from app.ui.theme import Theme


class Handle(Floating):
    """`clicked`, `moved` (with the resting orb's rectangle, once let go) and `menu_wanted` are its facts."""

    ROLE = QAccessible.Role.Button
    clicked = Signal()
    dragged = Signal()
    moved = Signal(object)
    menu_wanted = Signal(QPoint)

    def __init__(self, theme: Theme, around: Surroundings) -> None:
        super().__init__(theme, around)
        self._pressed: QPoint | None = None
        self._dragging = False

    def rest_rect(self) -> Rect:
        """The resting orb's square, in global device-independent pixels: what placement reckons with."""
        side = self.theme.size("orb")
        inset = (self.width() - side) // 2
        corner = self.pos()
        return Rect(corner.x() + inset, corner.y() + inset, side, side)

    def put(self, rect: Rect) -> None:
        """Move so that the resting orb's square is there."""
        inset = (self.width() - self.theme.size("orb")) // 2
        self.move(rect.x - inset, rect.y - inset)

    def press(self) -> None:
        """What a click does."""
        self.clicked.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.globalPosition().toPoint() - self.pos()
            self._dragging = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        target = event.globalPosition().toPoint() - self._pressed
        if not self._dragging and (target - self.pos()).manhattanLength() < QApplication.startDragDistance():
            return
        self._dragging = True
        self.move(target)
        self.dragged.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        self._pressed = None
        if self._dragging:
            self._dragging = False
            self.moved.emit(self.rest_rect())
        else:
            self.clicked.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())
