"""Two programs: the second one's window comes up over the first when something reaches the first.

Run as a script it is either; the second writes down every key and press that reaches it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

FIRST, SECOND = "First window", "Second window"
_LIMIT_S = 45.0


class TwoWindows:
    """`trigger` is the event of the first window that brings up the second: Return, Tab, Down, press or motion."""

    def __init__(self, trigger: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._log = folder / "second.log"
        self._log.write_text("")
        self._environment = dict(environment)
        self._second = self._start("second", str(self._log))
        self._wait(lambda: "ready" in self.reached)
        self._first = self._start("first", trigger, str(self._second.pid))

    def __enter__(self) -> TwoWindows:
        self._wait(lambda: self._is_shown(FIRST))
        time.sleep(0.5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (self._first, self._second):
            process.kill()
            process.wait(10)

    @property
    def reached(self) -> list[str]:
        """What came to the second window, in order."""
        return self._log.read_text().splitlines()

    @property
    def has_come_up(self) -> bool:
        return "shown" in self.reached

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, str(Path(__file__).resolve()), *arguments], env=self._environment)

    def _is_shown(self, title: str) -> bool:
        found = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", title],
            env=self._environment,
            capture_output=True,
            check=False,
        )
        return found.returncode == 0

    def _wait(self, is_so: Callable[[], bool]) -> None:
        from tests.support.waiting import eventually  # late, because the script beneath runs without the tests

        assert eventually(is_so, limit_s=_LIMIT_S)


def _second(log: Path) -> None:
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

    def write(line: str) -> None:
        with log.open("a") as file:
            file.write(line + "\n")

    class Heard(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.KeyPress:
                write(f"key {event.text()!r}")
            elif event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick, QEvent.Type.Drop):
                write("press")
            elif event.type() == QEvent.Type.MouseButtonRelease:
                write("release")
            return False

    application = QApplication([])
    window = QWidget()
    window.setWindowTitle(SECOND)
    field = QLineEdit()
    QVBoxLayout(window).addWidget(field)
    heard = Heard()
    field.installEventFilter(heard)
    window.installEventFilter(heard)
    window.setGeometry(100, 100, 900, 600)
    wanted: list[bool] = []
    signal.signal(signal.SIGUSR1, lambda *_: wanted.append(True))

    def look() -> None:
        if wanted:
            wanted.clear()
            window.show()
            window.raise_()
            window.activateWindow()
            field.setFocus()
            write("shown")

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(5)
    write("ready")
    application.exec()


def _first(trigger: str, second: int) -> None:
    from PySide6.QtCore import QEvent, QObject, Qt
    from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

    kinds = {"press": QEvent.Type.MouseButtonPress, "motion": QEvent.Type.MouseMove}
    keys = {"Return": Qt.Key.Key_Return, "Tab": Qt.Key.Key_Tab, "Down": Qt.Key.Key_Down}

    class Trigger(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            if event.type() == kinds.get(trigger) or (
                event.type() == QEvent.Type.KeyPress and event.key() == keys.get(trigger)
            ):
                os.kill(second, signal.SIGUSR1)
            return False

    application = QApplication([])
    window = QWidget()
    window.setWindowTitle(FIRST)
    layout = QVBoxLayout(window)
    field = QLineEdit()
    layout.addWidget(field)
    layout.addWidget(QLineEdit())
    told = Trigger()
    for widget in (window, field):
        widget.installEventFilter(told)
    window.setGeometry(200, 200, 700, 400)
    window.show()
    field.setFocus()
    application.exec()


if __name__ == "__main__":
    if sys.argv[1] == "second":
        _second(Path(sys.argv[2]))
    else:
        _first(sys.argv[2], int(sys.argv[3]))
