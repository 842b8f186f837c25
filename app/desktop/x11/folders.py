"""Which folder a file manager shows in a window: it watches that folder (inotify), and names it in the title."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from app.desktop.api import Window

_WATCHED = re.compile(r"^inotify wd:[0-9a-f]+ ino:([0-9a-f]+)", re.MULTILINE)
_MOST_FOLDERS = 400


def shown_folders(window: Window) -> tuple[str, ...]:
    """The folders by the title's name that the window's process watches; none where that cannot be known."""
    watched = _watched(window.pid)
    if not watched:
        return ()
    found = {str(folder) for folder in _candidates(window) if _inode(folder) in watched}
    return tuple(sorted(found))


def _watched(pid: int) -> frozenset[int]:
    """The inodes that the process watches."""
    folder = Path("/proc") / str(pid) / "fdinfo"
    found: set[int] = set()
    try:
        for entry in folder.iterdir():
            try:
                found.update(int(number, 16) for number in _WATCHED.findall(entry.read_text(encoding="ascii")))
            except (OSError, UnicodeDecodeError):
                continue
    except OSError:
        return frozenset()
    return frozenset(found)


def _candidates(window: Window) -> Iterator[Path]:
    """Folders that the title may mean: near those that the program was started with, its own, and the home."""
    process = Path("/proc") / str(window.pid)
    names = [part.strip() for part in re.split(r" [-–—] ", window.title)]
    try:
        given = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[1:]
        starts = [Path(word.removeprefix("file://")) for word in given if word.startswith(("/", "file:///"))]
        starts.append((process / "cwd").readlink())
    except OSError:
        starts = []
    starts.append(Path.home())
    yield from (Path(name) for name in names if name.startswith("/"))
    for start in starts:
        near = itertools.chain((start, *start.parents), _below(start), *map(_below, _below(start)))
        yield from (folder for folder in itertools.islice(near, _MOST_FOLDERS) if folder.name in names)


def _below(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry) for entry in itertools.islice(entries, _MOST_FOLDERS) if entry.is_dir()]
    except OSError:
        return []


def _inode(folder: Path) -> int:
    try:
        return folder.stat().st_ino
    except OSError:
        return 0
