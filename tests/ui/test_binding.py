"""The Qt binding itself."""

from __future__ import annotations

import sys

from PySide6.QtCore import QPoint


def test_calls_that_return_nothing_keep_the_count_of_none() -> None:
    """PySide6 6.12.0 under Python 3.11 loses one reference to None per call, and crashes soon after."""
    point, before = QPoint(), sys.getrefcount(None)
    for _ in range(1000):
        point.setX(1)
    assert abs(sys.getrefcount(None) - before) < 100
