"""What the desktop entries that Wisp writes need: the command that starts this Wisp, and its Exec line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.base import startup

SURFACE_CLASS = "wisp-surface"
"""The window class of the apps that Wisp made, and of their desktop entries."""


def own_command() -> list[str]:
    """Return the command that starts this Wisp again: the frozen program, the `wisp` next to Python, or the package."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    beside = Path(sys.executable).with_name("wisp.exe" if os.name == "nt" else "wisp")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "app"]


def command_anywhere() -> list[str]:
    """Return the command that starts this Wisp in whatever folder it is started."""
    first, *rest = own_command()
    # A checkout is found by its folder.
    return ["env", "-C", startup.own_command()[1], first, *rest] if rest else [first]


def exec_line(command: Sequence[str]) -> str:
    """Every argument is in quotes, with special characters escaped, as in a desktop entry."""
    quoted = []
    for part in command:
        inside = "".join(f"\\{sign}" if sign in '"`$\\' else sign for sign in part)
        quoted.append(f'"{inside}"'.replace("\\", "\\\\").replace("%", "%%"))
    return " ".join(quoted)
