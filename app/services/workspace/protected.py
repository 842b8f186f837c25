"""What is kept from the model and what it may not change: the one table (`resources/protected.toml`), and who asks it.

Names are compared without regard to case or invisible signs, wherever they stand in a path.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import time
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase, translate
from itertools import islice
from pathlib import Path
from typing import Any

from app.base import paths

_GLOB = re.compile(r"[*?\[]")
_INODES_S = 10.0
_INODES_DEPTH = 4
_MOST_INODES = 4_000
_MOST_FOLDERS = 100
_MOST_NAMES = 1_000


@functools.cache
def table() -> Mapping[str, Any]:
    """The lists, as they are written."""
    return tomllib.loads((paths.resources() / "protected.toml").read_text(encoding="utf-8"))


class Patterns:
    """Names and paths of names, with * and ? within a name; found by their first name."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.rules = tuple(tuple(map(_plain, pattern.split("/"))) for pattern in patterns)
        self._by_name: dict[str, list[tuple[str, ...]]] = {}
        self._open = [rule for rule in self.rules if _GLOB.search(rule[0])]
        self._opening = re.compile("|".join(translate(rule[0]) for rule in self._open) or r"(?!)")
        for rule in self.rules:
            if not _GLOB.search(rule[0]):
                self._by_name.setdefault(rule[0], []).append(rule)

    def fit(self, parts: Iterable[str]) -> bool:
        """Whether a path leads to what a pattern names, or below it."""
        seen = tuple(_plain(part) for part in parts)
        return any(self._fit_at(seen, at) for at in range(len(seen)))

    def named(self) -> list[str]:
        """The patterns without * and ?, as relative paths."""
        return ["/".join(rule) for rule in self.rules if not any(map(_GLOB.search, rule))]

    def _fit_at(self, seen: Sequence[str], at: int) -> bool:
        rules = self._by_name.get(seen[at], ())
        if self._opening.match(seen[at]):
            rules = [*rules, *self._open]
        return any(
            len(seen) - at >= len(rule) and all(map(fnmatchcase, seen[at : at + len(rule)], rule)) for rule in rules
        )


@functools.cache
def patterns(section: str, name: str) -> Patterns:
    """A list of the table."""
    return Patterns(table()[section][name])


def is_secret(parts: Iterable[str]) -> bool:
    """Keys, passwords, sessions, histories: neither read nor written."""
    return patterns("secrets", "always").fit(parts)


def is_local_secret(path: Path) -> bool:
    """A secret of the kind that projects hold, by its name; its content may show that anybody may have it."""
    name = (path.name,)
    if not patterns("secrets", "local").fit(name) or patterns("secrets", "open").fit(name):
        return False
    if not patterns("secrets", "by_content").fit(name):
        return True
    head = _head(path)
    return not any(mark.encode() in head for mark in table()["secrets"]["public"]) or holds_private_key(head)


def holds_private_key(head: bytes) -> bool:
    """Whether the beginning of a file shows a private key."""
    return _private().search(head) is not None


def is_private_key(path: Path) -> bool:
    """The same of a file as it is now; what cannot be read is none."""
    return holds_private_key(_head(path))


def starts_by_itself(parts: Iterable[str]) -> bool:
    """Read but never written: what a shell, an editor, git or the desktop runs without being asked."""
    parts = tuple(parts)
    return patterns("startup", "always").fit(parts) or _in_home(parts)


def is_known_inode(path: Path) -> bool:
    """Whether this is a secret of the home folder under another name: a hard link to it, or mounted there."""
    with suppress(OSError, ValueError):
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            depth = _INODES_DEPTH if found.st_nlink > 1 else 0  # a file without a second link can only be mounted
            known = _inodes(str(Path.home()), depth, int(time.monotonic() / _INODES_S))
            return (found.st_dev, found.st_ino) in known
    return False


def local_secrets_in(workspace: Path) -> list[Path]:
    """The secrets that a project holds, in its folder and those directly in it; so many as can be looked at at once."""
    found: list[Path] = []
    skipped = patterns("build", "folders")
    with suppress(OSError):
        folders = [workspace, *(Path(one.path) for one in os.scandir(workspace) if one.is_dir(follow_symlinks=False))]
        for folder in folders[:_MOST_FOLDERS]:
            if folder == workspace or not skipped.fit((folder.name,)):
                with suppress(OSError):
                    names = sorted(os.listdir(folder))[:_MOST_NAMES]
                    found += [folder / name for name in names if is_local_secret(folder / name)]
    return found


def linked_secrets_in(workspace: Path) -> list[Path]:
    """Further names of the home folder's secrets, directly in the workspace: hard links."""
    found: list[Path] = []
    with suppress(OSError), os.scandir(workspace) as entries:
        for entry in islice(entries, _MOST_NAMES):
            is_linked = entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink > 1
            if is_linked and is_known_inode(Path(entry.path)):
                found.append(Path(entry.path))
    return found


def why_no_workspace(folder: Path, home: Path) -> str:
    """Why commands and files cannot be kept inside this folder, as the end of a sentence; empty where they can."""
    rules = table()["workspace"]
    if folder == home:
        return "is your home folder"
    if home.is_relative_to(folder):
        return "holds your home folder"
    if str(folder) in rules["broad"] or any(folder.is_relative_to(inside) for inside in rules["inside"]):
        return "belongs to the system"
    marks = any((folder / name).exists() for name in rules["home_marks"])
    if marks or sum((folder / name).exists() for name in rules["home_hints"]) > 1:
        return "is somebody's home folder"
    return ""


def _in_home(parts: Sequence[str]) -> bool:
    seen, home = tuple(map(_plain, parts)), tuple(map(_plain, Path(os.path.realpath(Path.home())).parts))
    below = seen[len(home) :]
    return seen[: len(home)] == home and any(below[: len(rule)] == rule for rule in patterns("startup", "home").rules)


@functools.cache
def _private() -> re.Pattern[bytes]:
    return re.compile(table()["secrets"]["private"].encode())


def _head(path: Path) -> bytes:
    """The first bytes of a regular file, links not followed; empty where it cannot be read. Never waits for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(table()["secrets"]["looked_at_bytes"]) if is_file else b""
    except (OSError, ValueError):  # ValueError: no path can be so
        return b""


@functools.lru_cache(maxsize=2)
def _inodes(home: str, depth: int, _moment: int) -> frozenset[tuple[int, int]]:
    """Device and inode of the home folder's secrets, so many and so deep as costs little."""
    found: set[tuple[int, int]] = set()
    for name in patterns("secrets", "always").named():
        path = os.path.join(home, name)
        with suppress(OSError):
            entry = os.lstat(path)
            if stat.S_ISREG(entry.st_mode):
                found.add((entry.st_dev, entry.st_ino))
            elif stat.S_ISDIR(entry.st_mode) and not name.startswith(".cache/"):
                found.update(islice(_below(path, entry.st_dev, depth), _MOST_INODES - len(found)))
    return frozenset(found)


def _below(folder: str, device: int, depth: int) -> Iterator[tuple[int, int]]:
    """The folder's list names the inodes: no file has to be looked at."""
    if depth:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(entry.path, device, depth - 1)
                else:
                    yield device, entry.inode()


@functools.lru_cache(maxsize=4096)
def _plain(part: str) -> str:
    visible = "".join(sign for sign in part if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ") or visible
