"""Walk a workspace once: find secrets, files that start by themselves, links and repositories.

A folder is read again only if its change time (the kernel's) differs. The walk is limited in entries, not in depth.
"""

from __future__ import annotations

import functools
import os
import re
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from app.base.values import dataclass
from app.services.files import places

MOST_ENTRIES = 200_000
_MOST_MOVED = 5_000
_SETTLED_NS = 1_000_000_000
"""A folder that changed more recently than this may change again without a new time stamp."""
_GIT = ".git"


@dataclass(frozen=True, slots=True)
class WorkspaceSurvey:
    """The result of a walk through a workspace, as absolute paths.

    `secrets` includes folders that cannot be read, `starting` the topmost files that start by themselves, `links` the
    symbolic links, `repositories` each .git and each folder with a HEAD. `linked` are hard links to files of the home
    folder, each with `secret` or `starts`.
    """

    secrets: tuple[Path, ...]
    starting: tuple[Path, ...]
    repositories: tuple[Path, ...]
    links: tuple[Path, ...]
    linked: Mapping[Path, str]
    is_whole: bool


class _Folder(NamedTuple):
    """A folder's entries. `likely` are names that may be secrets or start-up files; `inodes` are those of its files."""

    folders: tuple[str, ...]
    likely: tuple[str, ...]
    links: tuple[str, ...]
    inodes: frozenset[int]


class _Open(NamedTuple):
    """A folder still to be read: its names below the workspace, and whether it is inside a protected folder."""

    path: str
    parts: tuple[str, ...]
    is_protected: bool


_last: dict[str, bool] = {}


def unsearched(workspace: Path) -> str:
    """Return a sentence if the last walk did not reach everything, else "". If none was made, make it now."""
    known = _last.get(str(workspace))
    is_whole = survey(workspace).is_whole if known is None else known
    return "" if is_whole else f"The workspace holds more than the {MOST_ENTRIES} entries that are searched."


def holds_starting(folder: Path) -> bool:
    """Return whether a folder contains files that start by themselves, or too many entries to check."""
    found = survey(folder, _MOST_MOVED)
    return bool(found.starting or found.repositories) or not found.is_whole


def survey(workspace: Path, most: int = 0) -> WorkspaceSurvey:
    """Walk the workspace without following links. Folders that builds create come last."""
    walk = _Walk()
    left = most or MOST_ENTRIES
    now, later = deque([_Open(str(workspace), (), False)]), deque[_Open]()
    while (now or later) and left > 0:
        folder = (now or later).popleft()
        try:
            held = _read(folder.path)
        except FileNotFoundError:  # because a command may delete folders meanwhile
            continue
        except OSError:  # because it may become readable before a command runs, and may hold secrets
            walk.secrets.append(Path(folder.path))
            continue
        left -= len(held.inodes) + len(held.folders) + 1
        for below in walk.take(folder, held):
            (later if places.patterns("build", "folders").fit(below.parts[-1:]) else now).append(below)
    whole = _last[str(workspace)] = not (now or later)
    listed = (tuple(walk.secrets), tuple(walk.starting), tuple(walk.repositories), tuple(walk.links))
    return WorkspaceSurvey(*listed, walk.linked, whole)


class _Walk:
    def __init__(self) -> None:
        self.secrets: list[Path] = []
        self.starting: list[Path] = []
        self.repositories: list[Path] = []
        self.links: list[Path] = []
        self.linked: dict[Path, str] = {}
        self._known = places.known_inodes()

    def take(self, folder: _Open, held: _Folder) -> list[_Open]:
        """Note what a folder contains. Returns its subfolders, which are still to be read."""
        kinds = {name: self._kind(folder, name) for name in held.likely}
        here = Path(folder.path)
        self.secrets += [here / name for name, kind in kinds.items() if kind == "secret"]
        self.starting += [here / name for name, kind in kinds.items() if kind == "starts"]
        if not folder.is_protected:
            self.repositories += [
                here / name if name == _GIT else here for name, kind in kinds.items() if kind == "git"
            ]
        self.links += [here / name for name in held.links]
        if not held.inodes.isdisjoint(self._known):
            self._find_linked(folder.path)
        return [
            _Open(os.path.join(folder.path, name), (*folder.parts, name), folder.is_protected or bool(kinds.get(name)))
            for name in held.folders
            if name != _GIT and kinds.get(name) != "secret"
        ]

    def _kind(self, folder: _Open, name: str) -> str:
        parts = (*folder.parts, name)
        if name in (_GIT, places.HEAD):
            return "git"
        if places.is_secret(parts):
            return "secret"
        return "starts" if not folder.is_protected and places.patterns("startup", "always").fit(parts) else ""

    def _find_linked(self, folder: str) -> None:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                kind = self._known.get(entry.inode(), {})
                with suppress(OSError):  # because an entry may be gone by now
                    device = entry.stat(follow_symlinks=False).st_dev
                    if device in kind and entry.is_file(follow_symlinks=False):
                        self.linked[Path(entry.path)] = kind[device]


def _read(folder: str) -> _Folder:
    changed_ns = os.lstat(folder).st_ctime_ns
    is_settled = changed_ns < time.time_ns() - _SETTLED_NS
    return (_read_entries if is_settled else _read_entries.__wrapped__)(folder, changed_ns)


@functools.lru_cache(maxsize=32_768)
def _read_entries(folder: str, _changed_ns: int) -> _Folder:
    folders: list[str] = []
    likely: list[str] = []
    links: list[str] = []
    inodes: list[int] = []
    plain, open_ended = _last_names()
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_symlink():
                links.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            else:
                inodes.append(entry.inode())
            last = places.plain(name)
            if last in plain or name == places.HEAD or open_ended.match(last):
                likely.append(name)
    return _Folder(tuple(folders), tuple(likely), tuple(links), frozenset(inodes))


@functools.cache
def _last_names() -> tuple[frozenset[str], re.Pattern[str]]:
    """The last names of all patterns: those without * and ?, and the others as one regular expression."""
    rules = (*places.patterns("startup", "always").rules, *places.patterns("secrets", "always").rules)
    last = {rule[-1] for rule in rules}
    globs = {name for name in last if re.search(r"[*?]", name)}
    return frozenset(last - globs), re.compile("|".join(map(translate, sorted(globs))))
