"""Open only what is below a folder. A symbolic link on the way is refused, even one that appears meanwhile.

On Linux the kernel checks the whole path in one call (`openat2` with RESOLVE_BENEATH). Elsewhere, and on kernels before
5.6, each folder on the way is opened from its parent without following links. Windows has no such calls: there the path
is resolved and compared just before its use, which leaves a short race.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError
from app.base.facts import Missing
from app.base.phrases import Phrase

_HELD = os.open in os.supports_dir_fd
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_PATH_ONLY = getattr(os, "O_PATH", 0)
_EXTRA = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEVER_WAIT = getattr(os, "O_NONBLOCK", 0)  # so that opening a pipe does not block

_SYS_OPENAT2 = 437  # Python has no function for it: https://man7.org/linux/man-pages/man2/openat2.2.html
_RESOLVE = 0x02 | 0x04 | 0x08
"""RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH of linux/openat2.h."""


class Folder:
    """An open folder. Its files are opened, renamed and removed by name, even if it is moved meanwhile. Close it."""

    def __init__(self, path: Path, fd: int | None) -> None:
        self.path = path
        self._fd = fd

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open the entry `name`. A symbolic link raises OSError; a pipe never blocks."""
        return os.open(self._name(name), flags | _EXTRA | _NEVER_WAIT, mode, dir_fd=self._fd)

    def stat(self, name: str) -> os.stat_result | None:
        """Return the status of an entry (of a link: the link's own); None if there is no such entry."""
        try:
            return os.stat(self._name(name), dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def replace(self, old: str, new: str) -> None:
        os.replace(self._name(old), self._name(new), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def move(self, name: str, target: Path) -> None:
        """Move the entry `name` to `target` on the same disk."""
        os.rename(self._name(name), target, src_dir_fd=self._fd)

    def take_in(self, source: Path, name: str) -> None:
        """Move a folder from the same disk into this one, under the name `name`."""
        os.rename(source, self._name(name), dst_dir_fd=self._fd)

    def hand_over(self, name: str, to: Folder, new: str) -> None:
        """Move the entry `name` into the open folder `to`, under the name `new`."""
        os.rename(self._name(name), to._name(new), src_dir_fd=self._fd, dst_dir_fd=to._fd)

    def remove_empty(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(self._name(name), dir_fd=self._fd)

    def unlink(self, name: str) -> None:
        os.unlink(self._name(name), dir_fd=self._fd)

    def link(self, name: str, target: Path) -> None:
        """Make the entry `name` a symbolic link to `target`."""
        os.symlink(target, self._name(name), dir_fd=self._fd)

    def sync(self) -> None:
        """Write renames and removals to the disk, so that they survive a power cut."""
        if self._fd is None:
            return
        again = os.open(".", os.O_RDONLY | _DIRECTORY | _EXTRA, dir_fd=self._fd)
        try:
            # Open it again, because a descriptor of O_PATH cannot be synced:
            # https://man7.org/linux/man-pages/man2/open.2.html
            os.fsync(again)
        finally:
            os.close(again)

    def below(self, name: str, *, make: bool) -> Folder:
        """Open the folder `name` in this one; `make` creates it if it is missing."""
        if make and self.stat(name) is None:
            with suppress(FileExistsError):  # because another process may have created it meanwhile
                os.mkdir(self._name(name), 0o777, dir_fd=self._fd)
        path = self.path / name
        if self._fd is None:
            if os.path.realpath(path) != str(path):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            return Folder(path, None)
        return Folder(path, os.open(name, os.O_RDONLY | _DIRECTORY | _EXTRA, dir_fd=self._fd))

    def _name(self, name: str) -> str:
        return name if self._fd is not None else str(self.path / name)


def hold(root: Path, parts: Sequence[str], *, make: bool = False) -> Folder:
    """Open the folder root/parts…; `make` creates missing ones. `root` must be resolved already."""
    if not _HELD:
        return _walked(Folder(root, None), parts, make=make)
    base = Folder(root, os.open(root, os.O_RDONLY | _PATH_ONLY | _DIRECTORY | _EXTRA))
    if parts and _has_openat2():
        fd = _openat2(base, "/".join(parts))
        if fd is not None:
            base.__exit__()
            return Folder(root.joinpath(*parts), fd)
    return _walked(base, parts, make=make)


def _walked(folder: Folder, parts: Sequence[str], *, make: bool) -> Folder:
    for part in parts:
        with folder:
            below = folder.below(part, make=make)
        folder = below
    return folder


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@functools.cache
def _has_openat2() -> bool:
    if not _PATH_ONLY:
        return False
    how = _How(os.O_RDONLY | _DIRECTORY | _EXTRA, 0, _RESOLVE)
    fd: int = _libc().syscall(_SYS_OPENAT2, -100, b".", ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def _openat2(base: Folder, relative: str) -> int | None:
    """Open the folder in one call. If that fails, return None: opening it step by step then finds the reason."""
    how = _How(os.O_RDONLY | _DIRECTORY | _EXTRA, 0, _RESOLVE)
    fd: int = _libc().syscall(_SYS_OPENAT2, base._fd, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how))
    return fd if fd >= 0 else None


_FULL = (NeedsPerson, "there is no room left to write {shown!r}; nothing was changed. Make room first.", "")
_DENIED = (NeedsPerson, "there is no permission for {shown!r}.", "The person can change its permissions.")
_SENTENCES: dict[int, tuple[type[WispError], str, str]] = {
    errno.ENOENT: (ToolFailed, "there is no {shown!r}.", "list_files shows what there is."),
    errno.EISDIR: (ToolMisuse, "{shown!r} is a folder; give a file.", ""),
    errno.ENOTDIR: (ToolMisuse, "a part of {shown!r} is a file and not a folder.", ""),
    errno.ENAMETOOLONG: (ToolMisuse, "a name in '{short}…' is longer than the file system allows (255 bytes).", ""),
    errno.ELOOP: (ToolFailed, "{shown!r} is reached through a symbolic link that may not be followed.", ""),
    errno.EROFS: (ToolFailed, "{shown!r} is on a disk that is read-only.", ""),
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
}


@contextmanager
def told(argument: str, shown: str) -> Iterator[None]:
    """Turns an OSError inside it into a WispError about the file `shown`, given by `argument`."""
    try:
        yield
    except OSError as error:
        raise complaint(error, argument, shown) from error


def complaint(error: OSError, argument: str, shown: str) -> WispError:
    """The error, naming the argument and the file. Only used before anything is written."""
    kind, what, hint = _SENTENCES.get(error.errno or 0, (ToolFailed, "{shown!r} cannot be used ({reason}).", ""))
    values = {"shown": shown, "short": shown[:40], "reason": error.strerror or str(error)}
    facts = [Missing(shown)] if error.errno == errno.ENOENT else ()
    return kind(Phrase(what, values), hint, argument=argument, facts=facts)
