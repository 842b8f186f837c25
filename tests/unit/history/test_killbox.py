"""A short run of what `scripts/bench/killbox.py` does a thousand times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
def test_fifty_sessions_killed_at_any_moment_lose_nothing_and_do_nothing_twice() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "bench" / "killbox.py"), "50", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert " 0 faults;" in done.stdout


def test_facts_and_tasks_of_twelve_killed_processes_are_there_once() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "bench" / "killreach.py"), "12", "7", "--no-browser"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert " 0 faults" in done.stdout
