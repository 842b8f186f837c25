"""Move, copy and make folders: many at once, without overwriting, completely or not at all, and undone together.

A move renames within one disk, so its cost does not depend on the size. It is noted before it happens, with the old
path in place of a content digest (`from:PATH`); a new folder is noted as `folder:`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError
from app.base.facts import Missing
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services.files import places
from app.services.files.checkpoints import Change, Checkpoints, UndoCheck
from app.services.files.places import Place, Workspace
from app.services.files.safe_open import Folder, hold, told

FROM, MADE_FOLDER = "from:", "folder:"
MOST_ENTRIES = 5_000
"""A folder with more entries is neither moved nor copied, because checking all of them would take too long."""
MOST_COPIED_BYTES = 2_000_000_000
_CHUNK = 1 << 20
_FRESH_MODE = 0o666


@dataclass(frozen=True, slots=True)
class Step:
    """One file or folder and its destination. `inner` are a folder's entries, relative to it; folders end with `/`."""

    source: Place
    target: Place
    is_folder: bool
    size_bytes: int
    inner: tuple[str, ...] = ()


def is_move(change: Change) -> bool:
    """True for a move or a new folder, which have no content to restore."""
    return (change.before or "").startswith((FROM, MADE_FOLDER))


class Moves:
    """Moves, copies and makes folders. Blocks: call it in a thread."""

    def __init__(self, workspace: Workspace, checkpoints: Checkpoints) -> None:
        self._workspace = workspace
        self._checkpoints = checkpoints

    def plan(
        self,
        sources: Sequence[str],
        destinations: Sequence[str],
        *,
        copies: bool,
        judged: Collection[str] | None = None,
    ) -> list[Step]:
        """Return where each source would go, without changing anything.

        A single destination is the folder for all sources, or the new name of the only source. Otherwise each source
        has its own destination. Raises WispError if one of them is not allowed or not possible, or is none of the
        paths that were `judged` (as `Workspace.locate`).
        """
        things = [self._named(text, judged) for text in sources]
        places = [self._workspace.locate(text, "destination", judged) for text in destinations]
        is_name = not (destinations and destinations[0].endswith("/")) and len(things) == len(places) == 1
        pairs = self._pairs(things, places, is_name=is_name and not places[0].is_folder())
        steps = [self._step(*pair, copies=copies) for pair in pairs]
        targets = [step.target.path for step in steps]
        for step in steps:
            if targets.count(step.target.path) > 1:
                raise ToolMisuse(f"destination: several sources would become {step.target.shown!r}.")
            if any(one is not step and step.source.path.is_relative_to(one.source.path) for one in steps):
                raise ToolMisuse(f"source: {step.source.shown!r} lies in another source, or stands there twice.")
        if copies and (size := sum(step.size_bytes for step in steps)) > MOST_COPIED_BYTES:
            raise ToolFailed(f"source: that is {size} bytes; at most {MOST_COPIED_BYTES} are copied at once.")
        return steps

    def carry_out(self, steps: Sequence[Step], turn: str, tool: str, *, copies: bool) -> list[Place]:
        """Carry out all steps. If one fails, undo those already done, and raise its error.

        Returns the folders that were missing and were made for them.
        """
        done: list[Change] = []
        try:
            for step in steps:
                with told("destination", step.target.shown):
                    self._one(step, (turn, tool), done, copies=copies)
        except (WispError, OSError):  # Undo the finished steps, so that a failed call moves nothing.
            for change in reversed(done):
                with suppress(WispError):  # because a link may be in the way; what it hides stays noted, to be undone
                    take_back(self._workspace, change)
                    self._checkpoints.forget(change.id)
            raise
        made = [Path(change.path) for change in done if change.before == MADE_FOLDER]
        own = [step.target.path for step in steps]
        return [self._workspace.locate(str(one)) for one in made if not any(map(one.is_relative_to, own))]

    def make_folders(
        self, paths: Sequence[str], turn: str, tool: str, judged: Collection[str] | None = None
    ) -> list[Place]:
        """Make folders and their missing parents. Returns the folders that did not exist. `judged` as for `plan`."""
        located = [self._workspace.locate(path, judged=judged) for path in paths]
        for place in located:
            self._workspace.check_writable(place)
            self._workspace.check_new_names(place)
            if place.exists() and not place.is_folder():
                raise ToolFailed(Phrase("{path!r} is a file.", {"path": place.shown}), argument="path")
        fresh = [place for place in located if not place.exists()]
        for place in fresh:
            with told("path", place.shown):
                self._make(place, (turn, tool), [])
        return fresh

    def _pairs(self, things: Sequence[Place], places: Sequence[Place], *, is_name: bool) -> list[tuple[Place, Place]]:
        """Return each thing with its target. `is_name`: the only place is the only thing's new path, and no folder.

        A file counts as a path; `_step` refuses it.
        """
        if not things or not places:
            raise ToolMisuse("Give source and destination.")
        if len(places) == 1 and not is_name:
            return [(thing, self._workspace.within(places[0], thing.path.name)) for thing in things]
        if len(places) != len(things):
            raise ToolMisuse(
                f"There are {len(things)} sources and {len(places)} destinations: give one folder, or one new "
                "path for each source."
            )
        return list(zip(things, places, strict=True))

    def _named(self, text: str, judged: Collection[str] | None) -> Place:
        """Locate a source. Raises ToolFailed if its path ends in a link, which would stay where it is."""
        place = self._workspace.locate(text, "source", judged)
        last = Path(text.rstrip("/")).name
        if last not in ("", ".", "..", "~") and last != place.path.name:
            what = Phrase(
                "{path!r} is a link to {place!r}; links are left alone.", {"path": text, "place": place.shown}
            )
            raise ToolFailed(what, "Name the thing itself.", argument="source")
        return place

    def _step(self, source: Place, target: Place, *, copies: bool) -> Step:
        if not source.exists():
            what = Phrase("there is no {shown!r}.", {"shown": source.shown})
            raise ToolFailed(what, "list_files shows what there is.", argument="source", facts=[Missing(source.shown)])
        if not source.inner:
            raise ToolMisuse(f"source: {source.shown!r} is a folder that Wisp works in; it stays where it is.")
        (self._workspace.check_readable if copies else self._workspace.check_writable)(source)
        self._workspace.check_writable(target)
        # A thing may keep the name that it has.
        named = target if target.path.name != source.path.name else _parent(self._workspace, target)
        self._workspace.check_new_names(named)
        if os.path.lexists(target.path):
            taken = "{path!r} is there already. Nothing is overwritten: choose another name."
            raise ToolFailed(Phrase(taken, {"path": target.shown}), argument="destination")
        if target.path.is_relative_to(source.path):
            raise ToolMisuse(f"destination: {target.shown!r} lies in {source.shown!r} itself.")
        if not source.is_folder():
            if not source.is_file():
                what = Phrase("{path!r} is neither a file nor a folder; it is left alone.", {"path": source.shown})
                raise ToolFailed(what, argument="source")
            return Step(source, target, False, source.path.stat().st_size)
        inner = tuple(self._checked(source, target, copies=copies))
        size = sum((source.path / name).lstat().st_size for name in inner if not name.endswith("/"))
        return Step(source, target, True, size, inner)

    def _checked(self, source: Place, target: Place, *, copies: bool) -> Iterator[str]:
        """Yield the entries below a folder. Raises for one that may not be read or changed; then nothing is moved."""
        for number, name in enumerate(below(source.path)):
            if number >= MOST_ENTRIES:
                values = {"path": source.shown, "most": str(MOST_ENTRIES)}
                what = Phrase("{path!r} holds more than {most} entries.", values)
                raise ToolFailed(what, "Take parts of it.", argument="source")
            if (source.path / name).is_symlink():
                if copies:
                    values = {"path": source.shown, "name": name}
                    what = Phrase("{path!r} holds a link, {name!r}; links are not copied.", values)
                    raise ToolFailed(what, argument="source")
                self._check_link(source, name)
                self._check_link(target, name)
                continue
            # Allow files that start by themselves in any folder, because the policy asks about such folders first.
            goes_along = places.starts_within(source.path, name)
            check = self._workspace.check_carried if goes_along else self._workspace.check_writable
            (self._workspace.check_readable if copies else check)(self._workspace.within(source, name))
            check(self._workspace.within(target, name))
            yield name

    def _check_link(self, folder: Place, name: str) -> None:
        """Raise NeedsPerson if a link with this name would be a start-up file, whatever it points to."""
        if places.starts_by_itself((folder.path / name).parts):
            values = {"path": folder.shown, "name": name}
            what = Phrase("{path!r} would hold {name!r}, a link that starts by itself.", values)
            raise NeedsPerson(what, argument=folder.argument)

    def _one(self, step: Step, origin: tuple[str, str], done: list[Change], *, copies: bool) -> None:
        self._make(_parent(self._workspace, step.target), origin, done)
        if not copies:
            self._note(step.target, f"{FROM}{step.source.path}", None, origin, done)
            _renamed(step.source, step.target)
            return
        if not step.is_folder:
            self._copy(step.source, step.target, origin, done)
            return
        self._make(step.target, origin, done)
        for name in step.inner:
            # What was checked in `_checked` and no link meanwhile, because nothing is checked again.
            source, target = self._workspace.within(step.source, name), self._workspace.within(step.target, name)
            if name.endswith("/"):
                self._make(target, origin, done)
            else:
                self._copy(source, target, origin, done)

    def _make(self, place: Place, origin: tuple[str, str], done: list[Change]) -> None:
        """Make the folder and its missing parents. Each is added to `done` before it is made."""
        above = (place.path, *place.path.parents)
        for path in reversed(list(takewhile(lambda path: not path.exists(), above))):
            one = self._workspace.locate(str(path), place.argument)
            self._note(one, MADE_FOLDER, None, origin, done)
            *folders, name = one.inner
            with hold(one.root, folders) as folder, folder.below(name, make=True):
                folder.sync()

    def _copy(self, source: Place, target: Place, origin: tuple[str, str], done: list[Change]) -> None:
        with _opened(source) as (folder, name), open(folder.open(name, os.O_RDONLY), "rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            file.seek(0)
            self._note(target, None, digest.hexdigest(), origin, done)
            with _opened(target) as (beside, new):
                made = beside.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FRESH_MODE)
                with open(made, "wb") as copy:
                    shutil.copyfileobj(file, copy, _CHUNK)
                    copy.flush()
                    # Copy the attributes too, so that a copied download still counts as a stranger's words.
                    _copy_attributes(file.fileno(), copy.fileno())
                    os.fsync(copy.fileno())

    def _note(
        self, place: Place, before: str | None, after: str | None, origin: tuple[str, str], done: list[Change]
    ) -> None:
        check = UndoCheck.CARRIED
        change = Change(unique("c"), *origin, str(place.path), before, after, 0, time.time(), undo_check=check)
        self._checkpoints.add(change)
        done.append(change)


def take_back(workspace: Workspace, change: Change) -> bool:
    """Undo one move, copy or new folder. Returns False if it never happened. Raises ToolFailed if it cannot."""
    place = workspace.locate(change.path, judged=(change.path,))
    if not os.path.lexists(place.path):
        return False
    is_made = change.before in (None, MADE_FOLDER)
    (workspace.check_carried if is_made else workspace.check_writable)(place)
    if change.before == MADE_FOLDER:
        with suppress(OSError), _opened(place) as (folder, name):  # because what was put into it since stays
            folder.remove_empty(name)
        return not place.exists()
    if change.before is None:
        with told("path", place.shown), _opened(place) as (folder, name):
            folder.unlink(name)
        return True
    before = change.before.removeprefix(FROM)
    old = workspace.locate(before, judged=(before,))
    workspace.check_writable(old)
    if os.path.lexists(old.path):
        values = {"old": old.shown, "path": place.shown}
        raise ToolFailed(Phrase("{old!r} is there again, so {path!r} was not moved back.", values))
    _renamed(place, old)
    return True


def _renamed(source: Place, target: Place) -> None:
    with told("source", source.shown), _opened(source) as (folder, name), _opened(target, make=True) as (to, new):
        if (found := folder.stat(name)) and stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        try:
            folder.hand_over(name, to, new)
        except OSError as error:
            # because a rename across disks would have to copy: https://man7.org/linux/man-pages/man2/rename.2.html
            if error.errno != errno.EXDEV:
                raise
            what = Phrase("{path!r} is on another disk.", {"path": target.shown})
            hint, advice = "Copy it there, then delete it here.", Phrase("Copy it there, then delete it here.")
            raise ToolFailed(what, hint, advice=advice, argument="destination") from error
        folder.sync()
        to.sync()


def _copy_attributes(source: int, copy: int) -> None:
    """Copy mode, times and extended attributes from one open file to another, as far as the system lets it."""
    known = os.fstat(source)
    with suppress(OSError, TypeError, NotImplementedError):  # because Windows takes no descriptors for these
        os.chmod(copy, stat.S_IMODE(known.st_mode))
        os.utime(copy, ns=(known.st_atime_ns, known.st_mtime_ns))
    if sys.platform == "linux":
        for name in os.listxattr(source):
            with suppress(OSError):  # because a file system may not take all of them
                os.setxattr(copy, name, os.getxattr(source, name))


@contextmanager
def _opened(place: Place, *, make: bool = False) -> Iterator[tuple[Folder, str]]:
    """The open folder that contains a place, and the place's name in it."""
    *folders, name = place.inner
    with hold(place.root, folders, make=make) as folder:
        yield folder, name


def _parent(workspace: Workspace, place: Place) -> Place:
    return workspace.locate(str(place.path.parent), place.argument)


def below(folder: Path) -> Iterator[str]:
    """Yield all entries below a folder, each folder before its entries. Links are not followed."""
    for root, folders, files in os.walk(folder):
        inside = Path(root).relative_to(folder)
        for name in sorted(folders):
            is_link = stat.S_ISLNK(os.lstat(os.path.join(root, name)).st_mode)
            yield (inside / name).as_posix() + ("" if is_link else "/")
        yield from ((inside / name).as_posix() for name in sorted(files))
