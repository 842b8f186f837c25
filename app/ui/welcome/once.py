"""Whether the person has been welcomed, and what is proposed to them."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from app.base import paths


def is_due() -> bool:
    """Nobody has been welcomed here yet."""
    return not _mark().exists()


def note_done() -> None:
    """Never again by itself. Raises OSError."""
    _mark().touch()


def wishes() -> list[str]:
    """What can be done here, the simplest first."""
    tree = tomllib.loads((paths.resources() / "welcome.toml").read_text(encoding="utf-8"))
    tables: list[dict[str, Any]] = tree["wish"]
    return [table["text"] for table in tables if _is_possible(table.get("needs", []))]


def _is_possible(programs: list[str]) -> bool:
    if sys.platform == "darwin" and programs:
        return True  # a calculator is part of the system
    return not programs or any(shutil.which(program) for program in programs)


def _mark() -> Path:
    return paths.config_dir() / "welcomed"
