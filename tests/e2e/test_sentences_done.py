"""Plain sentences are done: offline, with nobody there, in the mode as shipped, nothing is refused or asked."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.e2e.conftest import ROOT, Screen
from tests.support.observer import observe
from tests.support.waiting import eventually

_TABLE = ROOT / "tests" / "data" / "sentences_done.toml"
_OWN = {
    "qt_form": (sys.executable, str(ROOT / "tests" / "e2e" / "qt_form.py")),
    "board": (sys.executable, str(ROOT / "tests" / "support" / "boards.py"), "board"),
    "gtk4_form": ("/usr/bin/python3", str(ROOT / "tests" / "support" / "boards.py"), "gtk4_form"),
}
_TITLES = ["xdotool", "search", "--onlyvisible", "--name", ".", "getwindowname", "%@"]
_WIDTH, _HEIGHT = 1280, 800
Row = Mapping[str, Any]


def _rows() -> Iterator[Any]:
    for number, row in enumerate(tomllib.loads(_TABLE.read_text(encoding="utf-8"))["sentence"]):
        marks = () if row.get("core") else (pytest.mark.long,)
        yield pytest.param(row, marks=marks, id=f"{number}-{row['say'][:40]}")


def _printed(screen: Screen, *command: str) -> str:
    return subprocess.run(command, env=screen.environment, capture_output=True, text=True, check=False).stdout


def _titles(screen: Screen) -> str:
    return _printed(screen, *_TITLES)


def _command(words: str, home: Path) -> list[str]:
    first, *others = shlex.split(words)
    others = [one.replace("~", str(home)) for one in others]
    more = ("--no-sandbox", "--no-first-run", "--force-renderer-accessibility") if first == "chromium" else ()
    return [*_OWN.get(first, (first,)), *more, *others]


@pytest.mark.parametrize("row", list(_rows()))
def test_a_sentence_is_done_without_a_question(row: Row, screen: Screen, tmp_path: Path) -> None:
    workspace = screen.home / "Wisp"
    workspace.mkdir()
    for name, content in row.get("files", {}).items():
        file = screen.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if content == "png":
            Image.new("RGB", (320, 200), "navy").save(file)
        else:
            file.write_text(content, encoding="utf-8")
    started = []
    try:
        for words in row.get("starts", ()):
            before = _titles(screen)
            command = _command(words, screen.home)
            if not shutil.which(command[0]):
                pytest.skip(f"{command[0]} is not installed")
            program = subprocess.Popen(command, env=screen.environment, cwd=screen.home, start_new_session=True)
            started.append(program)
            assert eventually(lambda seen=before: _titles(screen) != seen), words  # type: ignore[misc]
        assert eventually(lambda: row.get("awaits", "") in _titles(screen)), _titles(screen)
        gone = row.get("gone", "").replace("~", str(screen.home))
        if gone:
            assert eventually(lambda: gone in _titles(screen).splitlines()), _titles(screen)
        done = screen.wisp("do", "--workspace", str(workspace), row["say"].replace("~", str(screen.home)))
        said = done.stdout + done.stderr
        assert done.returncode in (0, 1), said
        assert "not run" not in said.casefold(), said
        assert "permission" not in said, said
        _check(row, screen, said)
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _check(row: Row, screen: Screen, said: str) -> None:
    assert row.get("says", "") in said, said
    if "file" in row:
        file = screen.home / row["file"]
        assert eventually(lambda: file.exists() and row.get("holds", "") in file.read_text(encoding="utf-8")), said
    for name in row.get("there", ()):
        assert (screen.home / name).exists(), said
    for name in row.get("away", ()):
        assert not (screen.home / name).exists(), said
    _check_windows(row, screen, said)
    if "clipboard" in row:
        assert eventually(lambda: _printed(screen, "xclip", "-o", "-selection", "clipboard") == row["clipboard"]), said
    if "shows" in row:
        assert eventually(lambda: _holds(row["in"], row["shows"], screen)), said


def _check_windows(row: Row, screen: Screen, said: str) -> None:
    if row.get("window"):
        assert eventually(lambda: row["window"].casefold() in _titles(screen).casefold()), said + _titles(screen)
    if "gone" in row:
        gone = row["gone"].replace("~", str(screen.home))
        assert eventually(lambda: gone not in _titles(screen).splitlines()), said
    if "front" in row:
        assert eventually(lambda: row["front"] in _printed(screen, "xdotool", "getactivewindow", "getwindowname")), said
    if "once" in row:
        assert _titles(screen).splitlines().count(row["once"]) == 1, said
    if "fills" in row:
        assert eventually(lambda: _fills(row["fills"], screen)), said + _printed(screen, "wmctrl", "-lG")


def _fills(wanted: list[str], screen: Screen) -> bool:
    """Tell whether the window of that title fills that part of the screen; a frame takes a few pixels."""
    title, side = wanted
    edges = {"left": (0, _WIDTH // 2), "right": (_WIDTH // 2, _WIDTH), "screen": (0, _WIDTH)}[side]
    for line in _printed(screen, "wmctrl", "-lG").splitlines():
        _, _, x, y, width, height, _, name = line.split(maxsplit=7)
        if title in name:
            left, right = int(x), int(x) + int(width)
            tall = int(height) > _HEIGHT - 60 and int(y) < 60
            return tall and abs(left - edges[0]) < 15 and abs(right - edges[1]) < 15
    return False


def _holds(app: str, text: str, screen: Screen) -> bool:
    """Tell whether the program shows it; what is written on its buttons stood there before."""
    nodes = [node for node in observe(app, screen.environment) if "button" not in node.role]
    return any(text in (node.text or "") or text in node.name for node in nodes)
