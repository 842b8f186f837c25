"""Writing: every change is whole or not there, keeps the file's mode, and can be undone.

A new content is written beside the old, synced, noted in the checkpoints and then renamed over it, all within one
folder held open, so that no link that appears meanwhile leads the write elsewhere.
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import itertools
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from urllib.parse import quote

import psutil

from app.base.errors import ToolFailed, ToolMisuse
from app.base.ids import unique
from app.base.values import dataclass
from app.services.files import moving
from app.services.files.checkpoints import ARRANGING, COMMAND, Change, Checkpoints, digest_of
from app.services.files.places import Place, Workspace
from app.services.files.reading import open_file
from app.services.files.safe_open import Folder, hold, told

_OWNER_ONLY = 0o700
_TRIES = 1_000


def to_trash(folder: Folder, name: str) -> bool:
    """Move a file to the trash; False where there is none for it."""
    try:
        return _moved(folder, name) if sys.platform == "linux" else _handed_over(folder.path / name)
    except OSError:
        return False


def _handed_over(path: Path) -> bool:
    import send2trash

    send2trash.send2trash(str(path))
    return True


def _moved(folder: Folder, name: str) -> bool:
    trash = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "Trash"
    for part in ("files", "info"):
        (trash / part).mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    kept = _noted(trash, folder.path / name)
    try:
        folder.move(name, trash / "files" / kept)
    except OSError:
        (trash / "info" / f"{kept}.trashinfo").unlink(missing_ok=True)
        raise
    return True


def _noted(trash: Path, path: Path) -> str:
    """Write down where the file comes from; the name under which the trash will hold it."""
    now = datetime.datetime.now().replace(microsecond=0).isoformat()
    note = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={now}\n"
    for number in itertools.islice(itertools.count(1), _TRIES):
        kept = path.name if number == 1 else f"{path.stem}.{number}{path.suffix}"
        if (trash / "files" / kept).exists():
            continue
        try:
            with (trash / "info" / f"{kept}.trashinfo").open("x", encoding="utf-8") as info:
                info.write(note)
        except FileExistsError:
            continue
        return kept
    raise FileExistsError(f"the trash holds {_TRIES} files called {path.name}")


_FRESH_MODE = 0o666
_PRIVATE = 0o600
_CHUNK = 1 << 20
_BESIDE = ".wisp-"
_SWEPT = 100
MOST_EDITED_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Who changes something: the turn and the tool, as the checkpoints list them."""

    turn: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """`created`: there was no such file. `undoable`: the old content was kept. `trashed`: it lies in the trash."""

    size_bytes: int
    created: bool = False
    undoable: bool = True
    trashed: bool = False


class Changes:
    """The only way by which file tools change files. Blocking: call it in a thread; safe to call in several."""

    def __init__(
        self, workspace: Workspace, checkpoints: Checkpoints, trash: Callable[[Folder, str], bool] = to_trash
    ) -> None:
        self._workspace = workspace
        self._checkpoints = checkpoints
        self._trash = trash
        self._lock = threading.RLock()

    def write(self, place: Place, chunks: Iterable[bytes], origin: ChangeOrigin) -> WrittenFile:
        """Give the file exactly this content; missing folders are made."""
        self._workspace.check_writable(place)
        *folders, name = _parts(place)
        with self._lock, told(place.argument, place.shown), _made(place, folders) as folder:
            old = self._old(folder, name, place)
            beside, after, size = _write_beside(folder, name, chunks, old)
            try:
                change = self._noted(folder, name, old, origin, place, after)
                self._carry_out(change, lambda: folder.replace(beside, name))
            except BaseException:
                _drop(folder, beside)
                raise
            folder.sync()
            return WrittenFile(size, old is None, change.kept)

    def edit(self, place: Place, change: Callable[[bytes], bytes], origin: ChangeOrigin) -> WrittenFile:
        """Give the file what `change` makes of its content; what `change` raises leaves it as it is.

        Raises ToolFailed for files that are too big to be held in memory.
        """
        with self._lock:
            with open_file(self._workspace, place) as file:
                size = os.fstat(file.fileno()).st_size
                if size > MOST_EDITED_BYTES:
                    raise ToolFailed(
                        f"{place.argument}: {place.shown!r} has {size} bytes; files over {MOST_EDITED_BYTES} are not "
                        "edited by blocks. Use a command such as sed."
                    )
                before = file.read()
            self._workspace.check_writable(place)
            after = change(before)
            if after == before:
                return WrittenFile(size)
            return self.write(place, (after,), origin)

    def delete(self, place: Place, origin: ChangeOrigin) -> WrittenFile:
        """Move the file to the trash, or remove it where there is none."""
        self._workspace.check_writable(place)
        *folders, name = _parts(place)
        with self._lock, told(place.argument, place.shown), hold(place.root, folders) as folder:
            old = self._old(folder, name, place)
            if old is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            change = self._noted(folder, name, old, origin, place, None)
            trashed = self._trash(folder, name)
            if not trashed:
                self._carry_out(change, lambda: _remove(folder, name, place, kept=change.kept))
            folder.sync()
            return WrittenFile(old.st_size, undoable=change.kept, trashed=trashed)

    def undo_last(self) -> Change:
        """Take back the newest change. Raises ToolFailed where there is none, or the file was changed since."""
        with self._lock:
            for change in reversed(self._checkpoints.changes()):
                if self._undo(change):
                    return change
        raise ToolFailed("There is no change of a file to undo.")

    def undo_newest(self) -> tuple[list[Change], list[str]]:
        """Take back the newest change; where a command or a move made it, all that it did. As `restore` answers.

        Raises ToolFailed where there is none, or the file was changed since.
        """
        with self._lock:
            newest = self._checkpoints.changes()[-1:]
            if newest and newest[0].tool in (COMMAND, *ARRANGING):
                return self.restore(newest[0].turn)
            return [self.undo_last()], []

    def restore(self, turn: str) -> tuple[list[Change], list[str]]:
        """Take back all changes of a turn, newest first: those undone, and a sentence for each that was not."""
        undone: list[Change] = []
        problems: list[str] = []
        with self._lock:
            for change in reversed(self._checkpoints.changes(turn)):
                try:
                    undone += [change] if self._undo(change) else []
                except ToolFailed as error:
                    problems.append(str(error))
        return undone, problems

    def sweep(self) -> None:
        """Remove what writes that were killed have left beside the files they were for. Call it at the start."""
        folders = {Path(change.path).parent for change in self._checkpoints.changes()[-_SWEPT:]}
        for file in (file for folder in folders for file in folder.glob(f".*{_BESIDE}*~")):
            pid = file.name.rpartition(_BESIDE)[2].partition("-")[0]
            if pid.isdigit() and not psutil.pid_exists(int(pid)):
                file.unlink(missing_ok=True)

    def _old(self, folder: Folder, name: str, place: Place) -> os.stat_result | None:
        old = folder.stat(name)
        if old is None:
            return None
        if stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(old.st_mode):
            raise ToolFailed(f"{place.argument}: {place.shown!r} is not a regular file; it is left alone.")
        if not os.access(place.path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return old

    def _noted(
        self,
        folder: Folder,
        name: str,
        old: os.stat_result | None,
        origin: ChangeOrigin,
        place: Place,
        after: str | None,
    ) -> Change:
        before, kept = None, True
        if old is not None:
            with open(folder.open(name, os.O_RDONLY), "rb") as source:
                before, kept = self._checkpoints.keep(source, old.st_size)
        mode = stat.S_IMODE(old.st_mode) if old else 0
        path = str(place.path)
        change = Change(unique("c"), origin.turn, origin.tool, path, before, after, mode, time.time(), kept)
        self._checkpoints.add(change)
        return change

    def _carry_out(self, change: Change, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException:
            self._checkpoints.forget(change.id)
            raise

    def _undo(self, change: Change) -> bool:
        """Undo one change. Returns False if there was nothing to undo, because a crash prevented the change."""
        if moving.is_move(change):
            was_done = moving.take_back(self._workspace, change)
            self._checkpoints.forget(change.id)
            return was_done
        place = self._workspace.locate(change.path)
        now = self._digest(place)
        if now != change.before:
            self._check_undoable(change, place, now)
            self._put_back(place, change)
        self._checkpoints.forget(change.id)
        return now != change.before

    def _check_undoable(self, change: Change, place: Place, now: str | None) -> None:
        if change.tool != COMMAND:  # because a file that a command deleted goes back to its old place, wherever it was
            self._workspace.check_writable(place)
        if now != change.after:
            raise ToolFailed(f"{place.shown!r} was changed by somebody else since; it is left as it is.")
        if not change.kept:
            raise ToolFailed(f"{place.shown!r} was too big to be kept; its change cannot be undone.")

    def _put_back(self, place: Place, change: Change) -> None:
        *folders, name = _parts(place)
        with told(place.argument, place.shown), hold(place.root, folders, make=True) as folder:
            if change.before is None:
                folder.unlink(name)
            else:
                with self._checkpoints.open(change.before) as kept:
                    chunks = iter(lambda: kept.read(_CHUNK), b"")
                    beside, _, _ = _write_beside(folder, name, chunks, folder.stat(name), change.mode)
                folder.replace(beside, name)
            folder.sync()

    def _digest(self, place: Place) -> str | None:
        *folders, name = _parts(place)
        try:
            with hold(place.root, folders) as folder, open(folder.open(name, os.O_RDONLY), "rb") as file:
                return digest_of(file)
        except FileNotFoundError:
            return None


def _parts(place: Place) -> tuple[str, ...]:
    if not place.inner:
        raise ToolMisuse(f"{place.argument}: {place.shown!r} is a folder; give a file.")
    return place.inner


@contextmanager
def _made(place: Place, folders: Sequence[str]) -> Iterator[Folder]:
    """The folder of the place, made where missing, and removed again where nothing comes of it."""
    path = place.root.joinpath(*folders)
    fresh = list(takewhile(lambda folder: not folder.exists(), (path, *path.parents)))
    try:
        with hold(place.root, folders, make=True) as folder:
            yield folder
    except BaseException:
        for made in fresh:
            with suppress(OSError):  # because another program may have put a file into it
                made.rmdir()
        raise


def _write_beside(
    folder: Folder, name: str, chunks: Iterable[bytes], old: os.stat_result | None, mode: int | None = None
) -> tuple[str, str, int]:
    """A new synced file in the folder, with mode and owner of the old: its name, its content's name, its size."""
    beside = f".{name[:40]}{_BESIDE}{os.getpid()}-{unique()}~"
    digest, size = hashlib.sha256(), 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(folder.open(beside, flags, _FRESH_MODE if old is None else _PRIVATE), "wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                size += file.write(chunk)
            _take_over(file.fileno(), old, mode)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        _drop(folder, beside)
        raise
    return beside, digest.hexdigest(), size


def _take_over(handle: int, old: os.stat_result | None, mode: int | None) -> None:
    chown = getattr(os, "chown", None)
    own = os.fstat(handle)
    if old is not None and chown is not None and (old.st_uid, old.st_gid) != (own.st_uid, own.st_gid):
        with suppress(PermissionError):  # because only root may give a file to another owner
            chown(handle, old.st_uid, old.st_gid)
    if mode is None and old is not None:
        mode = stat.S_IMODE(old.st_mode)
    if mode is not None and os.chmod in os.supports_fd:
        os.chmod(handle, mode)


def _remove(folder: Folder, name: str, place: Place, *, kept: bool) -> None:
    if not kept:
        raise ToolFailed(
            f"{place.argument}: {place.shown!r} is too big to be kept for undo and there is no trash for it; "
            "it was not deleted."
        )
    folder.unlink(name)


def _drop(folder: Folder, name: str) -> None:
    with suppress(OSError):  # because the file may never have been created
        folder.unlink(name)
