"""Garbage collection between Qt's events.

By itself Python collects in the middle of any allocation and in any thread. What it deletes then may be a window that
Qt is just working on, or one that only Qt's own thread may delete: both end the process.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QAbstractEventDispatcher


def collect_between_events() -> None:
    """From now on, collect garbage only between two events of this thread, which must be the application's."""
    gc.disable()
    QAbstractEventDispatcher.instance().aboutToBlock.connect(_collect_if_due)


def spare_what_is_loaded() -> None:
    """Leave what exists now out of later collections: to look through all modules takes a tenth of a second."""
    gc.freeze()


def _collect_if_due() -> None:
    """Collect the oldest generation that is due by Python's own thresholds."""
    due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if due[0]:
        gc.collect(max(generation for generation in range(len(due)) if due[generation]))
