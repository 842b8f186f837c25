"""A window that writes down what it receives, in a process of its own; our hands are judged by it.

`canvas` tells every mouse, wheel and key event with its place on the screen; `text` is a text field that tells its
content. The Python side is `FixtureWindow`; run as a script it is the window.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

_LIMIT_S = 45.0
_WORKED_OFF_S = 180.0
"""A long line that was typed before is laid out again for each of its signs."""
_SHOWN_CHARS = 300


class FixtureWindow:
    """`mode` is canvas or text; `options` go to the script (`--size 400x300`, `--at 10,10`).

    `--blue 20,30,80,40` paints a blue rectangle with that left, top, width and height on the canvas. `--hover yes`: it
    tells moves without a button, too. `--words TEXT` stands in its middle.
    """

    def __init__(self, mode: str, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.told: list[dict[str, Any]] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), mode, *options],
            env={**(environment or os.environ), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> FixtureWindow:
        self.ready = self.wait(lambda event: event["event"] == "ready")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=5)
        self._reader.join(timeout=5)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, is_it: Callable[[dict[str, Any]], bool], limit_s: float = _LIMIT_S) -> dict[str, Any]:
        """The next event told that `is_it`; all on the way are kept in `told`."""
        limit = time.monotonic() + limit_s
        while True:
            try:
                event = json.loads(self._lines.get(timeout=max(limit - time.monotonic(), 0.01)))
            except queue.Empty:
                last = [str(event)[:_SHOWN_CHARS] for event in self.told[-8:]]
                raise AssertionError(f"The window did not tell it in time; it told {last}") from None
            self.told.append(event)
            if is_it(event):
                return event

    def quiet(self) -> list[dict[str, Any]]:
        """Everything told so far: the window is asked to say a word, and all before that word has been told.

        What the X server still has for it may come later: for input that nobody waited for, use `wait`.
        """
        self.say("mark")
        self.wait(lambda event: event["event"] == "mark")
        return [event for event in self.told if event["event"] not in ("mark", "ready")]

    def forget(self) -> None:
        """Start anew: no events, an empty field."""
        self.say("clear")
        self.wait(lambda event: event["event"] == "cleared", _WORKED_OFF_S)
        self.told.clear()

    def freeze(self) -> None:
        """Let the window's process hang until `thaw`."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def say(self, word: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()


def _tell(event: str, **details: Any) -> None:
    print(json.dumps({"event": event, **details}), flush=True)


def _modifiers(event: Any) -> list[str]:
    from PySide6.QtCore import Qt

    names = {"shift": "ShiftModifier", "ctrl": "ControlModifier", "alt": "AltModifier", "super": "MetaModifier"}
    return [name for name, flag in names.items() if event.modifiers() & getattr(Qt.KeyboardModifier, flag)]


def _in_pixels(place: Any) -> tuple[float, float]:
    """A place of Qt's in pixels of the whole desktop: Qt scales within a monitor, but not where monitors begin."""
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QGuiApplication

    screen = QGuiApplication.screenAt(QPoint(int(place.x()), int(place.y()))) or QGuiApplication.primaryScreen()
    corner = QPointF(screen.geometry().topLeft())
    found = corner + (place - corner) * screen.devicePixelRatio()
    return found.x(), found.y()


def _canvas(painted: str, words: str) -> Any:  # noqa: C901 - one short handler for each kind of event
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
    from PySide6.QtWidgets import QWidget

    class Canvas(QWidget):
        def _mouse(self, event: str, mouse: QMouseEvent) -> None:
            x, y = _in_pixels(mouse.globalPosition())
            _tell(event, x=x, y=y, button=mouse.button().name, modifiers=_modifiers(mouse))

        def mousePressEvent(self, event: QMouseEvent) -> None:
            self._mouse("press", event)

        def mouseReleaseEvent(self, event: QMouseEvent) -> None:
            self._mouse("release", event)

        def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
            self._mouse("double", event)

        def mouseMoveEvent(self, event: QMouseEvent) -> None:
            self._mouse("move", event)

        def wheelEvent(self, event: QWheelEvent) -> None:
            turned = event.angleDelta()
            _tell("wheel", dx=turned.x(), dy=turned.y(), modifiers=_modifiers(event))

        def keyPressEvent(self, event: QKeyEvent) -> None:
            self._key("key", event)

        def keyReleaseEvent(self, event: QKeyEvent) -> None:
            self._key("key_up", event)

        def _key(self, name: str, event: QKeyEvent) -> None:
            if not event.isAutoRepeat():
                _tell(name, key=Qt.Key(event.key()).name, text=event.text(), modifiers=_modifiers(event))

    canvas = Canvas()
    if painted:
        from PySide6.QtWidgets import QFrame

        mark = QFrame(canvas)
        mark.setStyleSheet("background: #0000ff")
        mark.setGeometry(*(int(part) for part in painted.split(",")))
        mark.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    if words:
        from PySide6.QtWidgets import QLabel

        label = QLabel(words, canvas)
        label.move(150, 180)
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    canvas.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return canvas


def _text_field() -> Any:
    from PySide6.QtWidgets import QPlainTextEdit

    field = QPlainTextEdit()
    field.textChanged.connect(lambda: _tell("text", text=field.toPlainText()))
    return field


def _show(window: Any, options: dict[str, str]) -> None:
    from PySide6.QtCore import Qt

    window.setWindowTitle(options.get("--title", "Fixture"))
    width, height = (int(part) for part in options.get("--size", "600x400").split("x"))
    left, top = (int(part) for part in options.get("--at", "100,100").split(","))
    window.setGeometry(left, top, width, height)
    if "--bare" in options:
        window.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    window.show()
    window.activateWindow()
    window.setFocus()


def _tell_when_ready(window: Any) -> None:
    from PySide6.QtCore import QTimer

    handle = window.windowHandle()
    if handle is None or not handle.isExposed() or not window.isActiveWindow():
        QTimer.singleShot(20, lambda: _tell_when_ready(window))
        return
    corner, ratio = window.mapToGlobal(window.rect().topLeft()), window.devicePixelRatio()
    size = {"width": window.width() * ratio, "height": window.height() * ratio}
    _tell("ready", x=corner.x() * ratio, y=corner.y() * ratio, **size)


def _heard(app: Any, window: Any) -> None:
    word = sys.stdin.readline().strip()
    if not word:
        app.quit()
    elif word == "clear":
        if hasattr(window, "clear"):
            window.clear()
        _tell("cleared")
    elif word == "close":
        window.close()
    else:
        # What the X server has for this window is delivered before the word is said.
        app.sync()
        _tell(word)


def _main(mode: str, options: dict[str, str]) -> None:
    from PySide6.QtCore import QSocketNotifier
    from PySide6.QtWidgets import QApplication

    app = QApplication([])
    is_canvas = mode == "canvas"
    window = _canvas(options.get("--blue", ""), options.get("--words", "")) if is_canvas else _text_field()
    window.setMouseTracking("--hover" in options)
    _show(window, options)
    listener = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read)
    listener.activated.connect(lambda: _heard(app, window))
    _tell_when_ready(window)
    code = int(app.exec())
    # Past Qt's own end, in which two of its threads sometimes wait for each other on Wayland (QWaylandDisplay, 6.11).
    os._exit(code)


if __name__ == "__main__":
    words = sys.argv[2:]
    pairs = {words[i]: words[i + 1] for i in range(0, len(words) - 1, 2)}
    _main(sys.argv[1], pairs)
