"""Write files. Every change happens completely or not at all, keeps the file's mode, and can be undone.

The new content is written next to the old file, synced, noted in the checkpoints, and then renamed over it. All of this
happens in one folder that is held open, so a link that appears meanwhile cannot redirect the write. A file with several
names (hard links) is written in place, if all of them may be written: the others would otherwise keep the old content.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import psutil

from app.base.errors import ToolFailed, ToolMisuse, WispError
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services.files import moving
from app.services.files.checkpoints import Change, Checkpoints, UndoCheck, digest_of
from app.services.files.places import Place, Workspace
from app.services.files.reading import open_file
from app.services.files.safe_open import Folder, hold, told

_OWNER_ONLY = 0o700
_TRIES = 1_000


def to_trash(folder: Folder, name: str) -> bool:
    """Move a file to the trash. Returns False if its file system has no trash."""
    try:
        return _moved(folder, name) if sys.platform == "linux" else _handed_over(folder.path / name)
    except OSError:  # because not every file system has a trash folder
        return False


def _handed_over(path: Path) -> bool:
    import send2trash

    send2trash.send2trash(str(path))
    return True


def _moved(folder: Folder, name: str) -> bool:
    trash = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "Trash"
    for part in ("files", "info"):
        (trash / part).mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    # Write the note first, because the specification wants it:
    # https://specifications.freedesktop.org/trash-spec/trashspec-latest.html
    kept = _noted(trash, folder.path / name)
    try:
        folder.move(name, trash / "files" / kept)
    except OSError:
        (trash / "info" / f"{kept}.trashinfo").unlink(missing_ok=True)
        raise
    return True


def _noted(trash: Path, path: Path) -> str:
    """Write the trash's note on where a file comes from. Returns the file's name in the trash."""
    now = datetime.datetime.now().replace(microsecond=0).isoformat()
    note = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={now}\n"
    for number in itertools.islice(itertools.count(1), _TRIES):
        kept = path.name if number == 1 else f"{path.stem}.{number}{path.suffix}"
        if (trash / "files" / kept).exists():
            continue
        try:
            with (trash / "info" / f"{kept}.trashinfo").open("x", encoding="utf-8") as info:
                info.write(note)
        except FileExistsError:  # because another file in the trash has this name
            continue
        return kept
    raise FileExistsError(f"the trash holds {_TRIES} files called {path.name}")


_FRESH_MODE = 0o666  # https://man7.org/linux/man-pages/man2/umask.2.html
_PRIVATE = 0o600
_CHUNK = 1 << 20
_BESIDE = ".wisp-"
_SWEPT = 100
_MOST_ENTRIES = 100_000
MOST_EDITED_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Who makes a change: the turn and the tool, as the checkpoints list them, and what its undo checks."""

    turn: str = ""
    tool: str = ""
    undo_check: UndoCheck = UndoCheck.WRITABLE


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """The result of a change to a file.

    `created`: the file is new. `undoable`: the old content was kept. `trashed`: the file was moved to the trash.
    `parted`: other names of the file (hard links) lie elsewhere and keep the old content.
    """

    size_bytes: int
    created: bool = False
    undoable: bool = True
    trashed: bool = False
    parted: bool = False


class Changes:
    """The only way in which file tools change files. Blocks: call it in a thread. Safe in several threads."""

    def __init__(
        self, workspace: Workspace, checkpoints: Checkpoints, trash: Callable[[Folder, str], bool] = to_trash
    ) -> None:
        self._workspace = workspace
        self._checkpoints = checkpoints
        self._trash = trash
        self._lock = threading.RLock()

    def write(self, place: Place, chunks: Iterable[bytes], origin: ChangeOrigin) -> WrittenFile:
        """Replace the file's content. Missing folders are created."""
        self._workspace.check_writable(place)
        self._workspace.check_new_names(place)
        *folders, name = _parts(place)
        with self._lock, told(place.argument, place.shown), _made(place, folders) as folder:
            old = self._old(folder, name, place)
            beside, after, size = _write_beside(folder, name, chunks, old)
            take_place = _fill if self._has_only_own_names(place, old) else Folder.replace
            try:
                change = self._noted(folder, name, old, origin, place, after)
                self._carry_out(change, lambda: take_place(folder, beside, name))
            except BaseException:  # so that a failed change leaves no half-written file beside the old one
                _drop(folder, beside)
                raise
            folder.sync()
            parted = take_place is not _fill and old is not None and old.st_nlink > 1
            return WrittenFile(size, old is None, change.kept, parted=parted)

    def edit(self, place: Place, change: Callable[[bytes], bytes], origin: ChangeOrigin) -> WrittenFile:
        """Replace the file's content with what `change` returns. If `change` raises, the file stays as it is.

        Raises ToolFailed for files that are too big for memory.
        """
        with self._lock:
            with open_file(self._workspace, place) as file:
                size = os.fstat(file.fileno()).st_size
                if size > MOST_EDITED_BYTES:
                    what = Phrase(
                        "{path!r} has {size} bytes. Wisp edits parts of a file only up to {most} bytes.",
                        {"path": place.shown, "size": str(size), "most": str(MOST_EDITED_BYTES)},
                    )
                    raise ToolFailed(what, "Use a command such as sed.", argument=place.argument)
                before = file.read()
            self._workspace.check_writable(place)
            after = change(before)
            if after == before:
                return WrittenFile(size)
            return self.write(place, (after,), origin)

    def delete(self, place: Place, origin: ChangeOrigin) -> WrittenFile:
        """Move the file to the trash, or remove it if there is no trash."""
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

    def undo_last(self, turns: Collection[str] | None = None) -> Change:
        """Undo the newest change; with `turns`, the newest change of these turns.

        Raises ToolFailed if there is none, or if the file was changed since.
        """
        with self._lock:
            for change in reversed(self._of_turns(turns)):
                if self._undo(change):
                    return change
        raise ToolFailed("There is no change of a file to undo.")

    def undo_newest(self, turns: Collection[str] | None = None) -> tuple[list[Change], list[str]]:
        """Undo the newest change, and all changes that its call is undone with.

        `turns` and the errors are those of `undo_last`. Returns as `restore` does.
        """
        with self._lock:
            newest = self._of_turns(turns)[-1:]
            if newest and "/" in newest[0].turn:
                return self.restore(newest[0].turn)
            return [self.undo_last(turns)], []

    def newest_at(self, turns: Collection[str] | None) -> float:
        """Return when one of these turns (None: any turn) last changed a file, in seconds since 1970; 0 for never."""
        known = self._checkpoints.changes()
        return max((one.at for one in known if turns is None or one.turn.partition("/")[0] in turns), default=0.0)

    def _of_turns(self, turns: Collection[str] | None) -> Sequence[Change]:
        """Oldest first, of all turns for None. Raises ToolFailed if only others made any."""
        known = self._checkpoints.changes()
        own = [change for change in known if turns is None or change.turn.partition("/")[0] in turns]
        if known and not own:
            what = Phrase(
                "This conversation has changed no file that can be taken back. The newest change is of {path!r} and "
                "was made elsewhere; it is left as it is.",
                {"path": self._workspace.locate(known[-1].path).shown},
            )
            advice = Phrase("`wisp undo` takes it back.")
            raise ToolFailed(what, "The person takes it back with `wisp undo`.", advice=advice)
        return own

    def restore(self, turn: str) -> tuple[list[Change], list[str]]:
        """Undo all changes of a turn, newest first. Returns the undone ones, and a sentence for each failure."""
        undone: list[Change] = []
        problems: list[str] = []
        with self._lock:
            for change in reversed(self._checkpoints.changes(turn)):
                try:
                    undone += [change] if self._undo(change) else []
                except ToolFailed as error:  # Go on, because the other files can still be restored.
                    problems.append(str(error))
        return undone, problems

    def sweep(self) -> None:
        """Remove the temporary files that killed writes left behind. Call it at Wisp's start."""
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
            what = Phrase("{path!r} is not a regular file; it is left alone.", {"path": place.shown})
            raise ToolFailed(what, argument=place.argument)
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
        who, now = (origin.turn, origin.tool), time.time()
        change = Change(unique("c"), *who, path, before, after, mode, now, kept, origin.undo_check)
        self._checkpoints.add(change)
        return change

    def _carry_out(self, change: Change, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException:  # so that nothing that did not happen can be undone
            self._checkpoints.forget(change.id)
            raise

    def _undo(self, change: Change) -> bool:
        """Undo one change. Returns False if the file already is as before, because a crash prevented the change."""
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
        if change.undo_check == UndoCheck.CARRIED:
            self._workspace.check_carried(place)
        elif change.undo_check != UndoCheck.NONE:
            self._workspace.check_writable(place)
        if now != change.after:
            what = "{path!r} was changed by somebody else since; it is left as it is."
            raise ToolFailed(Phrase(what, {"path": place.shown}))
        if not change.kept:
            what = "{path!r} was too big to be kept; its change cannot be undone."
            raise ToolFailed(Phrase(what, {"path": place.shown}))

    def _put_back(self, place: Place, change: Change) -> None:
        *folders, name = _parts(place)
        with told(place.argument, place.shown), hold(place.root, folders, make=True) as folder:
            if change.before is None:
                folder.unlink(name)
            else:
                old = folder.stat(name)
                with self._checkpoints.open(change.before) as kept:
                    beside, _, _ = _write_beside(folder, name, _pieces(kept), old, change.mode)
                (_fill if self._has_only_own_names(place, old) else Folder.replace)(folder, beside, name)
            folder.sync()

    def _has_only_own_names(self, place: Place, file: os.stat_result | None) -> bool:
        """True if a file has several names (hard links), and all lie where this one lies and may be written."""
        if file is None or file.st_nlink == 1:
            return False
        names = _names_of(file, place.root)
        try:
            for name in names:
                self._workspace.check_writable(self._workspace.locate(str(name)))
        except WispError:
            return False
        return len(names) == file.st_nlink

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
    """Creates the missing folders. An error inside removes them again."""
    path = place.root.joinpath(*folders)
    # Note which folders are new, so that only these are removed after an error.
    fresh = list(takewhile(lambda folder: not folder.exists(), (path, *path.parents)))
    try:
        with hold(place.root, folders, make=True) as folder:
            yield folder
    except BaseException:  # so that a failed change leaves no empty folders
        for made in fresh:
            with suppress(OSError):  # because another program may have put a file into it
                made.rmdir()
        raise


def _write_beside(
    folder: Folder, name: str, chunks: Iterable[bytes], old: os.stat_result | None, mode: int | None = None
) -> tuple[str, str, int]:
    """Write a new file in the folder, with the mode and owner of the `old` one, and sync it to the disk.

    Returns its name, the digest of its content, and its size in bytes.
    """
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
            # Sync before the rename, otherwise a power cut may leave an empty file under the name.
            os.fsync(file.fileno())
    except BaseException:  # so that a full disk is not filled further by what nobody reads
        _drop(folder, beside)
        raise
    return beside, digest.hexdigest(), size


def _names_of(file: os.stat_result, root: Path) -> list[Path]:
    """As many names as are found among the first entries below `root`."""
    found: list[Path] = []
    folders, left = [root], _MOST_ENTRIES
    while folders and left > 0 and len(found) < file.st_nlink:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.inode() == file.st_ino and os.path.samestat(os.lstat(entry.path), file):
                    found.append(Path(entry.path))
    return found


def _fill(folder: Folder, beside: str, name: str) -> None:
    """Write the content of `beside` into the file `name`, and remove `beside`. An error leaves the old content."""
    with open(folder.open(name, os.O_RDONLY), "rb") as source:
        spare, _, _ = _write_beside(folder, name, _pieces(source), None)
    try:
        try:
            _copy(folder, beside, name)
        except BaseException:  # such as a full disk
            _copy(folder, spare, name)
            raise
    finally:
        _drop(folder, spare)
    _drop(folder, beside)


def _copy(folder: Folder, source: str, name: str) -> None:
    with (
        open(folder.open(source, os.O_RDONLY), "rb") as new,
        open(folder.open(name, os.O_WRONLY), "wb") as file,
    ):
        file.writelines(_pieces(new))
        file.truncate()
        os.fsync(file.fileno())


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK), b"")


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
        what = "{path!r} is too big to be kept for undo and there is no trash for it; it was not deleted."
        raise ToolFailed(Phrase(what, {"path": place.shown}), argument=place.argument)
    folder.unlink(name)


def _drop(folder: Folder, name: str) -> None:
    with suppress(OSError):  # because the file may never have been created
        folder.unlink(name)
