"""What is cut off in the presence: a process with letters of another size names every text that finds no room.

`python -m tests.support.clipping POINTS` prints one line for each: where, what, and the room it has and needs, in
pixels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QWidget,
)

from app.settings.store import Settings
from app.ui import application, eventloop, translation
from app.ui.bubble.rows import AnswerButton, lines_of
from app.ui.machine import NoMachine
from app.ui.preferences.window import SettingsWindow
from app.ui.theme.appearance import look_of
from app.ui.welcome import WelcomeWindow
from tests.support.gallery.board import boards
from tests.support.waiting import until

_ROOT = Path(__file__).resolve().parents[2]
_EDGES = 2
_ANSWERS_INSET_PX = 12
_LIMIT_S = 5.0


def cut_off(points: float, language: str, folder: Path) -> list[str]:
    """What a process cuts off on a small screen where the system's letters have this size (10 is usual)."""
    screen = {"name": "small", "x": 0, "y": 0, "width": 1280, "height": 800, "logicalDpi": 96, "dpr": 1}
    plan = folder / "screen.json"
    plan.write_text(json.dumps({"screens": [screen | {"logicalBaseDpi": 96}]}), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QT_", "LC_", "WISP_"))}
    environment = {**kept, "QT_QPA_PLATFORM": f"offscreen:configfile={plan}", "LANG": language}
    command = [sys.executable, "-m", "tests.support.clipping", str(points)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


def _needs(widget: QWidget) -> Iterator[tuple[str, int, int]]:
    """Each text of a widget with the width, or the height, that it has and that it needs."""
    metrics, wide = QFontMetrics(widget.font()), widget.contentsRect().width()
    if isinstance(widget, QLabel) and widget.text():
        if widget.wordWrap():
            yield widget.text(), widget.height(), widget.heightForWidth(widget.width())
        else:
            yield widget.text(), widget.width(), widget.sizeHint().width()
        yield widget.text(), widget.height(), metrics.height()
    elif isinstance(widget, AnswerButton):
        box = lines_of(metrics, widget.width() - 2 * _ANSWERS_INSET_PX, widget.text())[1]
        yield widget.text(), widget.width(), box.width()
        yield widget.text(), widget.height(), box.height()
    elif isinstance(widget, QAbstractButton) and widget.text():
        yield widget.text(), widget.width(), widget.sizeHint().width()
        yield widget.text(), widget.height(), metrics.height()
    elif isinstance(widget, (QComboBox, QAbstractSpinBox)):
        yield widget.accessibleName(), widget.width(), widget.minimumSizeHint().width()
        yield widget.accessibleName(), widget.height(), metrics.height() + _EDGES
    elif isinstance(widget, QLineEdit):
        words = widget.text() or widget.placeholderText()
        yield words, wide, metrics.horizontalAdvance(words)
        yield words, widget.height(), metrics.height() + _EDGES
    elif isinstance(widget, QPlainTextEdit) and not widget.toPlainText():
        words = widget.placeholderText()
        yield words, widget.viewport().width(), metrics.horizontalAdvance(words)
        yield words, widget.viewport().height(), metrics.height()
    elif isinstance(widget, QListWidget):
        yield widget.objectName(), widget.viewport().width(), widget.sizeHintForColumn(0)
    elif hasattr(widget, "height_for"):
        yield widget.accessibleName() or type(widget).__name__, widget.height(), widget.height_for(widget.width())


def cut(name: str, top: QWidget) -> Iterator[str]:
    """Each text in the widget that has less room than it needs."""
    for widget in (top, *top.findChildren(QWidget)):
        if not widget.isVisible() or isinstance(widget.parent(), (QComboBox, QAbstractSpinBox)):
            continue
        for words, has, needs in _needs(widget):
            if has < needs:
                yield f"{name}: {type(widget).__name__} {words[:60]!r} has {has}, needs {needs}"


async def _cut_at_rest(name: str, top: QWidget) -> list[str]:
    """What is still cut after each part has had its turn to be laid out, because one may make room for another."""
    with suppress(AssertionError):
        await until(lambda: not list(cut(name, top)), _LIMIT_S)
    return list(cut(name, top))


async def _look(process: QApplication) -> int:
    look = look_of(process, Settings({}, {}))
    board = boards(reduced=True)["light"]
    board.show()
    window = SettingsWindow(look.theme, Settings({}, {}), NoMachine())
    window.show()
    process.sendPostedEvents()
    room = window.screen().availableSize()
    found = [f"settings: {window.size()} of {room}"] if window.size().boundedTo(room) != window.size() else []
    for name, piece in board.pieces.items():
        found += await _cut_at_rest(name, piece)
    for row in range(window.index.count()):
        window.index.setCurrentRow(row)
        found += await _cut_at_rest(f"settings {window.index.item(row).text()}", window)
    welcome = WelcomeWindow(look.theme, NoMachine())
    welcome.show()
    found += await _cut_at_rest("welcome", welcome)
    print(*dict.fromkeys(found), sep="\n", end="\n" if found else "")
    return 0


def main() -> None:
    process = application.make_application()
    translation.install(process)
    letters = process.font()
    letters.setPointSizeF(float(sys.argv[1]))
    process.setFont(letters)
    eventloop.run_until(process, _look(process))


if __name__ == "__main__":
    main()
