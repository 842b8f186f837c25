"""Which programs show pages by processes of their own: browsers, and what is built from them."""

from __future__ import annotations

from pathlib import Path

_MARKS = (b"--type=", b"-contentproc", b"WebKitWebProcess")
"""In the command lines of such processes: Chromium's and Electron's, Firefox's, WebKit's."""


def has_pages_apart(pid: int) -> bool:
    """Whether a program's window shows what other processes make; so it is taken to be where nobody can tell."""
    return pid == 0 or any(any(mark in _command(child) for mark in _MARKS) for child in _children(pid))


def _children(pid: int) -> list[int]:
    try:
        told = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    return [int(child) for line in told for child in line.split()]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
