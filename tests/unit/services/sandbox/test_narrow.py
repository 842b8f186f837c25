"""Commands run where the system allows less than usual: lower hard limits, a /tmp that is full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.services.sandbox import bubblewrap
from tests.support.walls import needs_wall

_PLAY = """
import asyncio, sys
from pathlib import Path
from app.base.clock import SystemClock
from app.services.processes.commands import Processes
from app.services.sandbox import bubblewrap

async def main():
    space = Path(sys.argv[1])
    wall = bubblewrap.wall(space, wanted=True)
    print(wall.missing())
    run = await Processes(space.parent / "runs", SystemClock(), wall=wall).start("echo hello", space)
    await asyncio.wait_for(run.ended.wait(), 20)
    print(run.record.exit_code, run.stdout.text(0, 100), run.stderr.text(0, 300))

asyncio.run(main())
"""
_NO_RAISING = ("setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource")
"""Root could raise the limits again."""


def _played(folder: Path, *around: str) -> str:
    space = folder / "space"
    space.mkdir()
    done = subprocess.run(
        [*around, sys.executable, "-c", _PLAY, str(space)], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() or done.stderr


@needs_wall
@pytest.mark.skipif(not shutil.which("prlimit"), reason="util-linux is not installed")
@pytest.mark.parametrize("limit", ["--nofile=1024", "--fsize=1000000000", "--cpu=600", "--data=2000000000"])
def test_a_command_runs_below_a_lower_hard_limit(tmp_path: Path, limit: str) -> None:
    around = _NO_RAISING if os.geteuid() == 0 else ()
    assert _played(tmp_path, *around, "prlimit", limit).split() == ["0", "hello"]


@needs_wall
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small folder")
def test_a_command_runs_beside_a_full_temporary_folder(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    fill = (
        'mount -t tmpfs -o size=16k tmpfs "$TMPDIR" && { head -c 100000 /dev/zero >"$TMPDIR/full" 2>/dev/null; "$@"; }'
    )
    around = ("env", f"TMPDIR={full}", "unshare", "--mount", "sh", "-c", fill, "sh")
    assert _played(tmp_path, *around).split() == ["0", "hello"]


@pytest.mark.parametrize(("hard", "expected"), [(-1, 16384), (1024, 1024), (65536, 16384)])
def test_the_lower_of_table_and_system_counts(monkeypatch: pytest.MonkeyPatch, hard: int, expected: int) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (hard, hard))
    assert f"--nofile={expected}" in bubblewrap._limits()
