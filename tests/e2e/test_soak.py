"""A short run of what `scripts/bench/soak.py` does with ten thousand turns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]


def test_turns_with_screenshots_leave_nothing_behind() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "bench" / "soak.py"), "120"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=115, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "descriptors +0, threads +0, X resources +0" in done.stdout
