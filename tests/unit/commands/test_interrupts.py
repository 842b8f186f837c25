"""Ctrl+C, sent to real processes at many moments of their start."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WISP = ["/usr/bin/env", "-S", "--block-signal=INT", sys.executable, "-S", str(ROOT / "scripts" / "launcher.py")]
"""As `scripts/setup` writes it into `.venv/bin/wisp`."""

CHILD = """
import signal, subprocess, sys
from app.base.interrupts import reset_for_children
reset_for_children()
look = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
subprocess.run([sys.executable, "-c", look], check=True)
"""


@pytest.mark.parametrize("words", [["do", "hello", "--provider", "offline", "--dry-run"], ["parse"], ["tool"]])
@pytest.mark.parametrize("after_s", [0.03, 0.06, 0.1, 0.2, 0.4, 0.8])
def test_ctrl_c_ends_with_130_and_without_a_traceback(words: list[str], after_s: float) -> None:
    process = subprocess.Popen(
        [*WISP, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    # 0 where it was done by then.
    assert (process.returncode in {130, 0}, "Traceback" in said) == (True, False), said


def test_children_can_be_interrupted_where_the_shell_made_wisp_ignore_ctrl_c() -> None:
    ignoring = ["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", CHILD]
    done = subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
