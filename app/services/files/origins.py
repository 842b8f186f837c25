"""Decide who wrote a file: a cloned or downloaded folder counts as a stranger's until the person trusts it.

A folder counts as cloned if its repository has a remote. Browsers and mail programs mark a download by an attribute
(`user.xdg.origin.url`, https://www.freedesktop.org/wiki/CommonExtendedAttributes/).
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from app.base import paths
from app.base.errors import NeedsPerson

_ATTRIBUTES = ("user.xdg.origin.url", "user.xdg.referrer.url")
_KEPT_S = 2.0
_MOST_URL_BYTES = 2_000
_MOST_BYTES = 65_536


def foreign_folder(path: Path) -> Path | None:
    """Return the cloned or downloaded folder (or file) that contains this path; None if none does or it is trusted."""
    origin = next((one for one in (path, *path.parents) if _came_from_elsewhere(str(one), _moment())), None)
    return None if origin is None or _is_trusted(path) else origin


def mark(path: Path, url: str) -> None:
    """Note on a downloaded file where it comes from, so that it counts as a stranger's."""
    write = getattr(os, "setxattr", None)
    with suppress(OSError):  # because not every file system has attributes
        if write is not None:
            write(path, _ATTRIBUTES[0], url.encode()[:_MOST_URL_BYTES])


def is_changed_since(path: Path, moment: float, own: Collection[str]) -> bool:
    """`moment` is in s since 1970. Paths in `own`, which Wisp wrote, do not count."""
    with suppress(OSError, ValueError):  # because a missing file was not changed
        return path.is_file() and path.stat().st_ctime > moment and str(path) not in own
    return False


def trust(folder: Path) -> None:
    """Save that the person trusts this folder's content. Raises NeedsPerson if that is not possible."""
    known = trusted()
    if folder in known:
        return
    try:
        with _file().open("a", encoding="utf-8") as file:
            file.write(f"{folder}\n")
    except (OSError, UnicodeEncodeError) as error:
        raise NeedsPerson(f"{_file()} cannot be written ({error}), so {folder} is not trusted yet.") from error


def trusted() -> list[Path]:
    """Return the folders that the person trusts; empty if the list cannot be read."""
    try:
        lines = _file().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # because no list means that no folder is trusted
        return []
    return [Path(line) for line in lines if line.startswith("/") or Path(line).is_absolute()]


def foreign_among(found: Iterable[str]) -> bool:
    """Return whether any of these absolute paths counts as a stranger's. Relative paths do not count."""
    return any(foreign_folder(Path(path)) for path in found if Path(path).is_absolute())


def _is_trusted(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in trusted())


def _file() -> Path:
    return paths.config_dir() / "trusted-folders"


def _moment() -> int:
    return int(time.monotonic() / _KEPT_S)


@functools.lru_cache(maxsize=2048)
def _came_from_elsewhere(path: str, _now: int) -> bool:
    return _has_attribute(path) or _has_remote(_configuration(Path(path, ".git")))


def _configuration(repository: Path) -> Path:
    """In a linked worktree, the file `.git` names the folder."""
    with suppress(OSError, ValueError):  # because a file can contain any text instead of a path
        if repository.is_file():
            own = repository.parent / repository.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            return own / (own / "commondir").read_text(encoding="utf-8").strip() / "config"
    return repository / "config"


def _has_attribute(path: str) -> bool:
    names = getattr(os, "listxattr", None)
    if names is None:
        return False
    try:
        return any(name in _ATTRIBUTES for name in names(path))
    except (OSError, ValueError):  # because not every file system has attributes
        return False


def _has_remote(config: Path) -> bool:
    """An unreadable configuration counts as naming one."""
    try:
        with config.open("rb") as file:
            text = file.read(_MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:  # because a file that is closed to Wisp may hold a remote
        return True
    return b"[remote" in text.lower()
