"""Ctrl+C, sent to real processes at many moments of their start."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WISP = ["/usr/bin/env", "-S", "--block-signal=INT", sys.executable, "-S", str(ROOT / "scripts" / "launcher.py")]
"""As `scripts/setup` writes it into `.venv/bin/wisp`."""


@pytest.mark.parametrize("words", [["do", "hello", "--provider", "offline", "--dry-run"]])
@pytest.mark.parametrize("after_s", [0.03, 0.1, 0.4])
def test_ctrl_c_ends_with_130_and_without_a_traceback(words: list[str], after_s: float) -> None:
    process = subprocess.Popen(
        [*WISP, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while Path(f"/proc/{process.pid}/exe").samefile(WISP[0]):  # `env`, which Ctrl+C ends as any program
        time.sleep(0.001)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    # 0 where it was done by then.
    assert (process.returncode in {130, 0}, "Traceback" in said) == (True, False), said


@pytest.mark.long
def test_ctrl_c_of_a_terminal_ends_a_private_desktop_with_130() -> None:
    """A terminal sends it to the whole process group, in which the private screen must not be."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    process = subprocess.Popen(
        [*WISP, "do", "wait 60 seconds", "--provider", "offline"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    said = ""
    while "Wait" not in said and (line := process.stdout.readline()):
        said += line
    os.killpg(process.pid, signal.SIGINT)
    said += process.communicate(timeout=60)[0]
    assert (process.returncode, "went wrong" in said) == (130, False), said


IGNORED = "INT QUIT HUP TERM CHLD ALRM USR1 USR2 TSTP"
SIGNALS = "grep -E 'Sig(Blk|Ign)' /proc/self/status"


@pytest.mark.parametrize("how", ["", 'pty="true"', 'background="true"'])
def test_children_have_the_default_signals_where_wisp_was_started_with_ignored_ones(how: str) -> None:
    call = f'<bash command="{SIGNALS}" {how}/>'
    # `env` blocks two on top of what the shell ignores.
    start = [WISP[0], "--block-signal=INT", "--block-signal=USR2", sys.executable, "-m", "app", "tool", call]
    ignoring = ["/bin/sh", "-c", f"trap '' {IGNORED}; exec \"$@\"", "sh", *start]
    done = subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    masks = re.findall(r"(SigBlk|SigIgn):\s+([0-9a-f]+)", json.loads(done.stdout)["payload"]["stdout"])
    assert {name: int(mask, 16) for name, mask in masks} == {"SigBlk": 0, "SigIgn": 0}
