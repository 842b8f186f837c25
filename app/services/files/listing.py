"""What a folder holds: breadth first, so that a limit cuts the depths and not the breadth."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.values import dataclass
from app.services.files.places import Place, visible
from app.services.files.safe_open import told

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_ENTRIES = 400
_LIMIT_S = 10.0
_NEVER_DEEP = frozenset(
    {"node_modules", "__pycache__", ".git", ".venv", "venv", ".tox", ".mypy_cache", "dist", "target"}
)
"""Folders that are named but not gone into when listing recursively."""
_RULES_CHARS = 100_000
_STARS = re.compile(r"\*+")
_MOST_STARS = 3
"""With each star more a pattern takes as many times longer as a name has signs; three are enough for real ones."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """`entries` are paths below the folder, folders with a slash at the end; `skipped` folders could not be read."""

    entries: tuple[str, ...]
    is_cut: bool
    ignored: int = 0
    skipped: tuple[str, ...] = ()


def entries(place: Place, *, recursive: bool, most: int = MOST_ENTRIES) -> FolderListing:
    """The folder's entries by name. Recursively: what .gitignore excludes and hidden files are left out and counted."""
    with told(place.argument, place.shown):
        return _Walk(place.path, most, recursive=recursive).run()


class _Walk:
    def __init__(self, folder: Path, most: int, *, recursive: bool) -> None:
        self._most = most
        self._recursive = recursive
        self._until = time.monotonic() + _LIMIT_S
        self._todo: deque[tuple[Path, str, tuple[_Rules, ...]]] = deque([(folder, "", ())])
        self._found: list[str] = []
        self._skipped: list[str] = []
        self._ignored = 0

    def run(self) -> FolderListing:
        """Raises OSError where the folder itself cannot be read."""
        is_cut = False
        while self._todo and not is_cut:
            folder, prefix, rules = self._todo.popleft()
            try:
                is_cut = self._one(folder, prefix, rules)
            except OSError:  # because a folder below may be private or gone
                if not prefix:
                    raise
                self._skipped.append(visible(prefix))
            is_cut = is_cut or time.monotonic() > self._until
        return FolderListing(tuple(self._found), is_cut, self._ignored, tuple(self._skipped))

    def _one(self, folder: Path, prefix: str, rules: tuple[_Rules, ...]) -> bool:
        """Take in one folder's entries; whether the limit is reached."""
        with os.scandir(folder) as scan:
            found = sorted(scan, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name.casefold()))
        if self._recursive:
            rules = (*rules, *_Rules.of(folder, prefix))
        for entry in found:
            is_folder = entry.is_dir(follow_symlinks=False)
            path = prefix + entry.name + ("/" if is_folder else "")
            if self._recursive and (entry.name.startswith(".") or _is_excluded(path, rules)):
                self._ignored += 1
                continue
            if len(self._found) >= self._most:
                return True
            self._found.append(visible(path) + ("@" if entry.is_symlink() else ""))
            if self._recursive and is_folder and entry.name not in _NEVER_DEEP:
                self._todo.append((Path(entry.path), path, rules))
        return False


@dataclass(frozen=True, slots=True)
class _Rules:
    """One .gitignore, which counts for what lies below its own folder."""

    prefix: str
    spec: GitIgnoreSpec

    @staticmethod
    def of(folder: Path, prefix: str) -> tuple[_Rules, ...]:
        from pathspec import GitIgnoreSpec

        lines = _lines_of(folder / ".gitignore")
        return (_Rules(prefix, GitIgnoreSpec.from_lines(lines)),) if lines else ()

    def verdict(self, path: str) -> bool | None:
        """Whether it excludes the path, or None where it says nothing about it."""
        return self.spec.check_file(path[len(self.prefix) :]).include


def _lines_of(file: Path) -> list[str]:
    """The patterns, without those that could take a long time: they become Python's own, which holds up everything."""
    try:
        if not file.is_file():
            return []
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_RULES_CHARS)
    except OSError:  # because ignore rules are optional
        return []
    return [line for line in text.splitlines() if len(_STARS.findall(line)) <= _MOST_STARS]


def _is_excluded(path: str, rules: tuple[_Rules, ...]) -> bool:
    """The deepest file that says something decides, as git has it."""
    return next((verdict for rule in reversed(rules) if (verdict := rule.verdict(path)) is not None), False)
