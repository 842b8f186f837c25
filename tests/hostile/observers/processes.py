"""Which processes descend from this one, read from /proc."""

from __future__ import annotations

import os
from pathlib import Path


def descendants(of: int | None = None) -> dict[int, str]:
    """The command lines of all children's children, by process number; the dead that nobody has waited for excepted."""
    found: dict[int, str] = {}
    todo = [of or os.getpid()]
    while todo:
        for number in _children(todo.pop()):
            if _state(number) not in ("Z", ""):
                found[number] = _command(number)
                todo.append(number)
    return found


def _children(number: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{number}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # it or one of its threads has ended meanwhile
        return found
    return found


def _state(number: int) -> str:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def environment_of(number: int) -> bytes:
    """The variables that a process was started with; empty once it has ended."""
    try:
        return Path(f"/proc/{number}/environ").read_bytes()
    except OSError:
        return b""


def _command(number: int) -> str:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
