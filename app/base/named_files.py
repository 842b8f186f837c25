"""Index the names below a folder, such as the person's home."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.base.values import dataclass

_MOST_NAMES = 40_000
_DEEPEST = 7
_LOOK_LIMIT_S = 2.0
_FRESH_S = 120.0
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "snap"})
"""Folders that programs fill, with names that nobody looks for."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file or folder of the index. `changed_at` is in seconds since 1970."""

    path: str
    name: str
    is_folder: bool
    changed_at: float
    size_bytes: int = 0


class FileIndex:
    """An index of all names below a folder, without hidden ones. It is read on demand, and again after two minutes."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._files: tuple[tuple[str, NamedFile], ...] = ()
        self._read_at = -_FRESH_S

    def all(self) -> tuple[tuple[str, NamedFile], ...]:
        """Return everything, each with its name in lower case. Blocks while it reads names."""
        if time.monotonic() - self._read_at >= _FRESH_S:
            self._files = tuple((one.name.casefold(), one) for one in _named_below(self._home))
            self._read_at = time.monotonic()
        return self._files

    def find(self, words: Sequence[str], most: int) -> list[NamedFile]:
        """Return what has all words (in lower case) in its name, the likeliest first. Blocks while it reads names."""
        found = [(likeness(name, words), one) for name, one in self.all() if all(word in name for word in words)]
        return [one for _, one in sorted(found, key=lambda pair: (-pair[0], -pair[1].changed_at))[:most]]


def likeness(name: str, words: Sequence[str]) -> int:
    """Score a name that contains all words: 3 is the name, 2 its beginning, 1 if each begins a word of it, 0 else."""
    whole = " ".join(words)
    if whole in (name, name.rpartition(".")[0]):
        return 3
    if name.startswith(whole):
        return 2
    starts = [part for part in "".join(sign if sign.isalnum() else " " for sign in name).split()]
    return int(all(any(part.startswith(word) for part in starts) for word in words))


def _named_below(home: Path) -> Iterator[NamedFile]:
    """Yield the names below a folder, upper folders first, until there are too many or it takes too long."""
    folders, left, limit = deque([(str(home), 0)]), _MOST_NAMES, time.monotonic() + _LOOK_LIMIT_S
    while folders and left > 0 and time.monotonic() < limit:
        folder, depth = folders.popleft()
        for entry in _children(folder):
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name.startswith(".") or (is_folder and entry.name in _SKIPPED):
                continue
            left -= 1
            try:
                told = entry.stat(follow_symlinks=False)
            except OSError:  # because it is gone meanwhile
                continue
            yield NamedFile(entry.path, entry.name, is_folder, told.st_mtime, told.st_size)
            if is_folder and depth < _DEEPEST:
                folders.append((entry.path, depth + 1))


def _children(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # because it is private or gone
        return []
