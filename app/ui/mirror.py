"""Places for both ways of writing: everything is laid out as for left to right, and mirrored where words run the
other way."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtWidgets import QWidget

_MIRRORED = Qt.LayoutDirection.RightToLeft


def placed(rect: QRectF, box: QRectF, direction: Qt.LayoutDirection) -> QRectF:
    """Where a rectangle of a box stands for that direction."""
    if direction is not _MIRRORED:
        return rect
    return QRectF(box.left() + box.right() - rect.right(), rect.top(), rect.width(), rect.height())


def put(child: QWidget, rect: QRect, width: int) -> None:
    """Give a child its place in a parent of that width."""
    left = rect.x() if child.layoutDirection() is not _MIRRORED else width - rect.x() - rect.width()
    child.setGeometry(left, rect.y(), rect.width(), rect.height())
