"""The README's pictures can be taken anew at any time, on a desktop of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_the_script_takes_every_picture_that_there_is(tmp_path: Path) -> None:
    script = [str(_ROOT / "scripts" / "pictures" / "take"), str(tmp_path)]
    taken = subprocess.run(script, capture_output=True, text=True, check=False)
    assert taken.returncode == 0, taken.stderr
    there = {path.name for path in (_ROOT / "resources" / "pictures").glob("*.png")}
    assert {path.name for path in tmp_path.glob("*.png")} == there
