"""Programs without a menu entry that open windows all the same, by their bare names.

A name alone must not run anything: what links no toolkit for windows (reboot, rm, xkill), is a script, or runs with
another user's rights is not among them.
"""

from __future__ import annotations

import re
import shutil
import stat
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}")
_TOOLKITS = (
    b"libgtk-", b"libgtkmm", b"libQt", b"libKF", b"libXt.so", b"libXaw", b"libXm.so", b"libSDL", b"libfltk", b"libwx_",
    b"libtk8", b"libelementary",
)  # fmt: skip
_ELF = b"\x7fELF"
_LARGEST_BYTES = 64 << 20


def windowed_program(name: str, search_path: str | None) -> Path | None:
    """Where the program of that name is, if it opens windows; None for anything else, or anything unclear."""
    if not _NAME.fullmatch(name):
        return None
    found = shutil.which(name, path=search_path)
    if found is None or not Path(found).is_absolute():
        return None
    path = Path(found).resolve()
    try:
        told = path.stat()
        is_plain = not told.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH) and told.st_size <= _LARGEST_BYTES
        return path if is_plain and _has_toolkit(path.read_bytes()) else None
    except OSError:
        return None


def _has_toolkit(program: bytes) -> bool:
    return program.startswith(_ELF) and any(toolkit in program for toolkit in _TOOLKITS)
