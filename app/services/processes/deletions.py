"""Keep what a command deletes: before it runs, every file of its workspace gets a second name in the run's folder.

A hard link costs no space and a few microseconds. Afterwards it shows whether the file was deleted or only moved: a
moved file still has its other name. Where links are impossible (another disk), small files are copied. Folders that a
build creates again, links, and files over the limits are left out; the result says so.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.base.ids import unique
from app.base.values import dataclass
from app.services.files import places
from app.services.files.checkpoints import MOST_BYTES, Change, Checkpoints, UndoCheck
from app.services.sandbox import read_only_commands

MOST_FILES = 10_000
MOST_SECONDS = 0.5
COPIED_BYTES = 64_000_000
COPIED_FILE_BYTES = 4_000_000
MOST_UNASKED = 20
"""The person is asked about more deleted files than this, even if the turn created them itself."""

_KEPT = "before"
_LIST = "before.json"
# https://man7.org/linux/man-pages/man2/link.2.html
_CANNOT_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a run deleted. `paths` are absolute and can be restored; `lost` is the number of files that cannot.

    `is_complete`: all files of the workspace were kept. `asks`: many or old files are gone, so the person is asked.
    """

    paths: tuple[str, ...] = ()
    lost: int = 0
    is_complete: bool = True
    asks: bool = False


class Deletions:
    """Keeps the files that commands in one workspace delete. Blocks: call it in a thread."""

    def __init__(self, workspace: Path, checkpoints: Checkpoints) -> None:
        self._workspace = workspace
        self._checkpoints = checkpoints
        # Hold this from the count of links to the end, because another run adds a link to each kept file.
        self._lock = threading.Lock()

    def may_come_of(self, command: str, cwd: Path) -> bool:
        """Return whether a command may do more than read, so that it may delete files."""
        return bool(read_only_commands.objection(command, cwd, self._workspace))

    def keep(self, folder: Path) -> None:
        """Link all files into the folder of a run that is about to start. Files that cannot be kept are left out."""
        with self._lock:
            self._keep(folder)

    def _keep(self, folder: Path) -> None:
        kept = folder / _KEPT
        kept.mkdir(mode=0o700)
        elsewhere = _kept_elsewhere(folder)
        entries: list[tuple[str, int, int, str]] = []
        until, copied = time.monotonic() + MOST_SECONDS, 0
        is_complete = True
        for file in self._files():
            if len(entries) >= MOST_FILES or time.monotonic() > until:
                is_complete = False
                break
            with suppress(OSError):  # because the file may be gone before it is kept
                found = file.stat(follow_symlinks=False)
                name = str(len(entries))
                how = _link(file.path, kept / name)
                if not how and found.st_size <= COPIED_FILE_BYTES and copied + found.st_size <= COPIED_BYTES:
                    how = _copy(file.path, kept / name)
                    copied += found.st_size
                names = max(found.st_nlink - elsewhere[found.st_ino], 1)
                entries.append((file.path, stat.S_IMODE(found.st_mode), names, how))
        text = json.dumps({"files": entries, "complete": is_complete})
        # because a file name may be no UTF-8: https://peps.python.org/pep-0383/
        (folder / _LIST).write_text(text, encoding="utf-8", errors="surrogateescape")

    def settle(self, folder: Path, turn: str, began_at: float = 0.0) -> Deleted:
        """Save what the run deleted as changes of its turn, and drop the other links.

        `began_at` is when the turn began: older files are not the turn's own.
        """
        with self._lock:
            return self._settle(folder, turn, began_at)

    def _settle(self, folder: Path, turn: str, began_at: float) -> Deleted:
        try:
            listed = json.loads((folder / _LIST).read_text(encoding="utf-8", errors="surrogateescape"))
        except (OSError, ValueError):  # because the run may have ended before the list was written
            return Deleted()
        elsewhere = _kept_elsewhere(folder)
        changes: list[Change] = []
        lost, is_older = 0, False
        for number, (path, mode, names, how) in enumerate(listed["files"]):
            if os.path.lexists(path):
                continue
            copy = folder / _KEPT / str(number)
            found = copy.stat() if how else None
            if found and how == "linked" and found.st_nlink - 1 - elsewhere[found.st_ino] >= names:
                continue
            if found is None or not _is_text(path) or found.st_size > MOST_BYTES:
                lost += 1
                continue
            is_older = is_older or found.st_mtime < began_at
            before = self._checkpoints.adopt(copy)
            who, check = (f"{turn}/{folder.name}", "command"), UndoCheck.NONE
            changes.append(Change(unique("c"), *who, path, before, None, mode, time.time(), undo_check=check))
        self._checkpoints.add(*changes)
        shutil.rmtree(folder / _KEPT, ignore_errors=True)
        (folder / _LIST).unlink(missing_ok=True)
        paths = tuple(change.path for change in changes)
        return Deleted(paths, lost, listed["complete"], asks=bool(paths) and (is_older or len(paths) > MOST_UNASKED))

    def _files(self) -> Iterator[os.DirEntry[str]]:
        """Yield regular files, the nearest first, git's own last."""
        made_again = places.patterns("build", "folders")
        near, last = deque([str(self._workspace)]), deque[str]()
        while near or last:
            # Ignore an error, because the folder may be gone, or not readable.
            with suppress(OSError), os.scandir(near.popleft() if near else last.popleft()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not made_again.fit((entry.name,)):
                            (last if entry.name == ".git" else near).append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry


def _kept_elsewhere(folder: Path) -> Counter[int]:
    """How many links other runs' folders have to each file, by the file's inode."""
    found: Counter[int] = Counter()
    for kept in folder.parent.glob(f"*/{_KEPT}"):
        # Ignore an error, because another Wisp may have dropped the folder.
        with suppress(OSError), os.scandir(kept) as entries:
            found.update(entry.inode() for entry in entries if kept.parent != folder)
    return found


def _is_text(path: str) -> bool:
    """Paths that cannot be written as text cannot be saved as changes."""
    return path.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in path)


def _link(path: str, copy: Path) -> str:
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError as error:
        if error.errno in _CANNOT_LINK:
            return ""
        raise
    return "linked"


def _copy(path: str, copy: Path) -> str:
    with suppress(OSError):  # because the file may be gone or unreadable: then there is no copy
        shutil.copyfile(path, copy, follow_symlinks=False)
        return "copied"
    return ""
