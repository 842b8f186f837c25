"""`wisp run-all` from outside: real private desktops, the built-in provider, an empty home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.feature("fleet"),
    pytest.mark.skipif(bool(VirtualDesktop.missing_packages()), reason="a private desktop needs Xvfb, openbox, dbus"),
]
_LIMIT_S = 200.0
_KEY = "sk-ant-of-the-person"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts the command in a folder and a home of its own."""
    (tmp_path / "home").mkdir()
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT), "ANTHROPIC_API_KEY": _KEY}

    def begin(tasks: Sequence[Mapping[str, Any]], *options: str) -> subprocess.Popen[str]:
        (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks), encoding="utf-8")
        command = [sys.executable, "-m", "app", "run-all", "tasks.jsonl", "--provider", "offline", *options]
        return subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    return begin


def _results(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / "tasks-results" / "results.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    told = [json.loads(line) for line in lines]
    assert len({one["id"] for one in told}) == len(told)
    return {one["id"]: one for one in told}


def _acted(folder: Path) -> list[str]:
    path = folder / "acted.txt"
    return path.read_text().split() if path.exists() else []


def _rows(folder: Path, count: int, more: str = "") -> list[dict[str, Any]]:
    """Tasks that leave a line outside of their desktop, each time that they act."""
    acted = folder / "acted.txt"
    return [
        {"id": f"row-{n}", "setup": f"echo row-{n} >> {acted}{more}", "words": "create a file a.txt with the text b"}
        for n in range(count)
    ]


def test_each_task_has_a_home_of_its_own_and_is_judged_by_its_check(start: Start, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("a,b\n")
    tasks = [
        {
            "id": "writes",
            "words": "create a file notes.txt with the text hello",
            "files": ["list.csv"],
            "check": f'grep -q hello notes.txt && test -f list.csv && ! env | grep -q {_KEY} && echo "$HOME"',
        },
        {"id": "finds-none", "words": "delete notes.txt", "check": 'test "$WISP_OUTCOME" = done'},
        {"id": "waits", "words": "wait 60 seconds", "time_limit_s": 1},
        {"id": "broken", "setup": "exit 3", "words": "open the calculator"},
        {"id": "no-command", "setup": "echo \0", "words": "open the calculator"},
    ]
    running = start(tasks, "--jobs", "2", "--record")
    said = running.communicate(timeout=_LIMIT_S)[0]
    told = _results(tmp_path)
    assert running.returncode == 1, said
    assert {name: (one["outcome"], one["passed"]) for name, one in told.items()} == {
        "writes": ("done", True),
        "finds-none": ("not done", False),
        "waits": ("timed out", False),
        "broken": ("not done", False),
        "no-command": ("interrupted", False),
    }
    writes = told["writes"]
    assert [one["tool"] for one in writes["receipts"]] == ["write_file"]
    assert (tmp_path / "tasks-results" / writes["pictures"][-1]["path"]).stat().st_size > 1000
    assert eventually(lambda: not Path(writes["check"]["output"]).exists())
    assert not (tmp_path / "home" / "Wisp").exists()
    assert (tmp_path / "tasks-results" / "report.html").is_file()


def test_after_a_kill_the_same_command_goes_on_and_no_task_acts_twice(start: Start, tmp_path: Path) -> None:
    tasks = _rows(tmp_path, 4)
    first = start(tasks)
    assert eventually(lambda: len(_acted(tmp_path)) == 2, limit_s=_LIMIT_S), first.communicate()[0]
    first.send_signal(signal.SIGKILL)
    first.communicate()
    second = start(tasks)
    said = second.communicate(timeout=_LIMIT_S)[0]
    told = _results(tmp_path)
    assert sorted(_acted(tmp_path)) == [f"row-{n}" for n in range(4)], said
    assert sorted(one["outcome"] for one in told.values()) == ["done", "done", "done", "interrupted"]


@pytest.mark.long
def test_ctrl_c_lets_what_runs_end_and_the_same_command_goes_on(start: Start, tmp_path: Path) -> None:
    tasks = _rows(tmp_path, 3)
    first = start(tasks)
    assert eventually(lambda: _acted(tmp_path), limit_s=_LIMIT_S), first.communicate()[0]
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=_LIMIT_S)[0]
    assert first.returncode == 130, said
    assert {name: one["outcome"] for name, one in _results(tmp_path).items()} == {"row-0": "done"}
    second = start(tasks)
    said = second.communicate(timeout=_LIMIT_S)[0]
    assert second.returncode == 0, said
    assert _acted(tmp_path) == ["row-0", "row-1", "row-2"]


@pytest.mark.long
def test_a_batch_whose_model_cannot_be_reached_ends_and_all_its_tasks_wait(start: Start, tmp_path: Path) -> None:
    tasks = [{"id": f"row-{n}", "words": "open the calculator", "provider": "openai"} for n in range(9)]
    nobody = "http://127.0.0.1:9"
    running = start(tasks, "--base-url", nobody, "--model", "none", "--jobs", "2")
    said = running.communicate(timeout=_LIMIT_S)[0]
    assert running.returncode == 130, said
    assert {one["outcome"] for one in _results(tmp_path).values()} == {"not begun"}
    assert len(_results(tmp_path)) < len(tasks)


def test_a_task_that_takes_too_much_memory_is_ended(start: Start, tmp_path: Path) -> None:
    # Longer than the moment between two looks at the memory.
    hungry = f"{sys.executable} -c 'x = bytearray(300_000_000); import time; time.sleep(60)' & sleep 3"
    tasks = [{"id": "eats", "setup": hungry, "words": "wait 30 seconds", "memory_limit_mb": 350}]
    running = start(tasks)
    said = running.communicate(timeout=_LIMIT_S)[0]
    assert _results(tmp_path)["eats"]["outcome"] == "over memory", said
