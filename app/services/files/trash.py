"""The trash of the desktop: see how much is in it, and empty it.

https://specifications.freedesktop.org/trash-spec/trashspec-latest.html
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.base.errors import Cancelled, ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass

_MOST_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Trashed:
    """What is in the trash: the names, and the size of all of it as far as it was counted."""

    names: tuple[str, ...]
    size_bytes: int


def folder() -> Path:
    """Raises ToolFailed on a system whose trash is no folder of this kind."""
    if sys.platform == "linux":
        return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "Trash"
    else:
        raise ToolFailed(Phrase("Wisp reaches the trash of Linux desktops only."), "Tell the person to empty it.")


def names() -> list[str]:
    """Raises ToolFailed."""
    files = _own(folder() / "files")
    return sorted(os.listdir(files)) if files.is_dir() else []


def look() -> Trashed:
    """Raises ToolFailed. Blocks."""
    files, held = folder() / "files", names()
    size, left = 0, _MOST_COUNTED
    for name in held:
        for place in _all_below(files / name):
            left -= 1
            with suppress(OSError):  # because it may be gone by now
                size += os.lstat(place).st_size
            if left <= 0:
                return Trashed(tuple(held), size)
    return Trashed(tuple(held), size)


def empty(stopped: Callable[[], bool]) -> tuple[Trashed, Trashed]:
    """Delete everything in the trash for good. Returns what was in it before and what is in it now. Blocks."""
    before = look()
    trash = folder()
    for name in before.names:
        if stopped():
            raise Cancelled("Emptying the trash was stopped; a part of it is left.")
        place = trash / "files" / name
        with suppress(OSError):  # because it may belong to somebody else; it is counted below
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink()
        if not os.path.lexists(place):
            (trash / "info" / f"{name}.trashinfo").unlink(missing_ok=True)
    return before, look()


def _own(place: Path) -> Path:
    """Raises ToolFailed if the folder or the one above it is a link, which may lead to anything."""
    if place.is_symlink() or place.parent.is_symlink():
        raise ToolFailed(Phrase("The trash is a link to another place; it is left alone."))
    return place


def _all_below(place: Path) -> list[str]:
    if place.is_symlink() or not place.is_dir():
        return [str(place)]
    return [os.path.join(root, name) for root, folders, files in os.walk(place) for name in (*folders, *files)]
