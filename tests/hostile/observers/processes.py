"""Which processes descend from this one, read from /proc."""

from __future__ import annotations

import os
from pathlib import Path


def descendants(of: int | None = None) -> dict[int, str]:
    """The command lines of all children's children, by process number; the dead that nobody has waited for excepted."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    family = {of or os.getpid()}
    found: dict[int, str] = {}
    while new := {number for number, parent in parents.items() if parent in family} - family:
        family |= new
        for number in new:
            found[number] = _command(number)
    return found


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
