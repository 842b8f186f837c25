"""What nothing refers to any more is deleted only where Qt allows it."""

from __future__ import annotations

import threading
import weakref

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot


def test_a_forgotten_window_is_deleted_between_events_on_qts_own_thread(qtbot: QtBot) -> None:
    deleted_in: list[threading.Thread] = []
    made = QWidget()
    made.itself = made  # type: ignore[attr-defined]
    weakref.finalize(made, lambda: deleted_in.append(threading.current_thread()))
    del made
    busy: list[list[object]] = []

    def work() -> None:
        busy.extend([] for _ in range(100_000))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    work()
    assert not deleted_in

    qtbot.waitUntil(lambda: bool(deleted_in))
    assert deleted_in == [threading.main_thread()]
