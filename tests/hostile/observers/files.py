"""What changes in a tree of files: the kernel's own notes (inotify), and hashes before and after."""

from __future__ import annotations

import ctypes
import hashlib
import os
import select
import struct
from collections.abc import Iterable
from pathlib import Path

_EVENT = struct.Struct("iIII")
_NONBLOCK, _CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_MODIFY, _ATTRIB, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IS_FOLDER, _ONLY_FOLDERS, _NO_LINKS = 0x4000, 0x40000000, 0x01000000, 0x02000000
_DEEPEST = 60
_CHANGES = _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE


class FileWatch:
    """Every change below the folders given, made by whomever, also in folders that appear meanwhile."""

    def __init__(self, *folders: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(_NONBLOCK | _CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._folders: dict[int, Path] = {}
        for folder in folders:
            self._add(folder)

    def __enter__(self) -> FileWatch:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def changed(self) -> set[Path]:
        """The paths that were written, made, renamed, removed or given other rights since the last time."""
        found: set[Path] = set()
        while select.select([self._fd], [], [], 0)[0]:
            data, at = os.read(self._fd, 1 << 16), 0
            while at < len(data):
                watch, mask, _, size = _EVENT.unpack_from(data, at)
                name = data[at + _EVENT.size : at + _EVENT.size + size].rstrip(b"\0")
                at += _EVENT.size + size
                if mask & _OVERFLOW:
                    raise AssertionError("more changed than could be watched")
                if mask & _CHANGES and watch in self._folders:
                    path = self._folders[watch] / os.fsdecode(name)
                    found.add(path)
                    if mask & _IS_FOLDER and mask & (_CREATE | _MOVED_TO):
                        found.update(self._add(path))
        return found

    def _add(self, folder: Path) -> set[Path]:
        """Watch a folder and those in it; what is already there counts as changed for one that has just appeared."""
        found: set[Path] = set()
        todo = [(folder, 0)]
        while todo:
            folder, depth = todo.pop()
            how = _CHANGES | _ONLY_FOLDERS | _NO_LINKS
            watch = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), how)
            if watch < 0:
                continue
            self._folders[watch] = folder
            with os.scandir(folder) as entries:
                for entry in entries:
                    found.add(Path(entry.path))
                    if depth < _DEEPEST and entry.is_dir(follow_symlinks=False):
                        todo.append((Path(entry.path), depth + 1))
        return found


def fingerprint(folders: Iterable[Path]) -> dict[Path, str]:
    """Kind, rights and content of everything below the folders."""
    found: dict[Path, str] = {}
    for folder in folders:
        for root, names, files in os.walk(folder):
            for name in (*names, *files):
                path = Path(root, name)
                found[path] = _described(path)
    return found


def _described(path: Path) -> str:
    state = path.lstat()
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    content = hashlib.blake2b(path.read_bytes()).hexdigest() if path.is_file() else ""
    return f"{state.st_mode:o} {content}"
