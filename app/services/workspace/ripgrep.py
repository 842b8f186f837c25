"""Where the `rg` program is, and how it is called: without the person's configuration, without our environment."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from app.base.errors import NeedsPerson


def program() -> str:
    """The path of ripgrep: beside our Python (its wheel puts it there), otherwise on PATH. Raises NeedsPerson."""
    name = "rg.exe" if os.name == "nt" else "rg"
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if not found:
        raise NeedsPerson("Searching needs the program ripgrep. Install it: pip install ripgrep==14.1.0")
    return found


def environment() -> dict[str, str]:
    """Only what a program needs to start."""
    return {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMPDIR", "LANG") if name in os.environ}
