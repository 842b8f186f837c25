"""Pack files into an archive and unpack one: zip, tar, and tar with gz, bz2 or xz. Nothing is overwritten.

An archive is untrusted. Its entries are written below a new folder only, with limits on their count and on the bytes
that really come out. Links, devices and files that would start by themselves are left out. One undo takes all back.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import shutil
import stat
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Protocol, cast

from app.base.errors import Cancelled, ToolFailed, ToolMisuse, WispError
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.checkpoints import Change, Checkpoints, UndoCheck
from app.services.files.moving import MADE_FOLDER, below
from app.services.files.places import Place, Workspace
from app.services.files.reading import open_file
from app.services.files.safe_open import Folder, hold, told

MOST_BYTES = 2_000_000_000
MOST_ENTRIES = 20_000
_MOST_HEADER = 1 << 24
"""More is never read at once: a header of a tar may claim to be as long as the whole archive."""
_CHUNK = 1 << 20
_MOST_ALIKE = 100
_SPARE = 100_000_000
"""So many bytes stay free on the disk."""
_NEW_MODE, _PROGRAM_MODE = 0o666, 0o777
_TAR_ENDINGS = {".tar": "", ".tar.gz": "gz", ".tgz": "gz", ".tar.bz2": "bz2", ".tar.xz": "xz"}
_OTHERS = (b"7z\xbc\xaf\x27\x1c", b"Rar!")
_MAGIC: dict[bytes, Callable[[BinaryIO], IO[bytes]]] = {
    b"\x1f\x8b": lambda file: cast(IO[bytes], gzip.GzipFile(fileobj=file)),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_DAMAGED = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    UnicodeDecodeError,
)

Stopped = Callable[[], bool]
"""Returns whether the person has stopped it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The archive, what is in it, and what was left out: links, and what would start by itself."""

    place: Place
    files: int
    left_out: int
    size_bytes: int


class Packing:
    """Packs and unpacks. Blocks: call it in a thread."""

    def __init__(self, workspace: Workspace, changes: Changes, checkpoints: Checkpoints) -> None:
        self._workspace = workspace
        self._changes = changes
        self._checkpoints = checkpoints

    def pack(
        self,
        sources: Sequence[str],
        target: str,
        origin: ChangeOrigin,
        stopped: Stopped,
        judged: Collection[str] | None = None,
    ) -> Packed:
        """Pack files and folders into an archive, a zip unless its name says otherwise; "" is one beside the first.

        Raises WispError; then no archive is made.
        """
        things = [self._workspace.locate(text, "source", judged) for text in sources]
        for thing in things:
            if not thing.exists():
                raise ToolFailed(Phrase("there is no {shown!r}.", {"shown": thing.shown}), argument="source")
            if not thing.inner:
                raise ToolMisuse(f"source: {thing.shown!r} is a folder that Wisp works in; pack what is in it.")
        place = self._workspace.locate(target, "destination", judged) if target else self._beside(things[0])
        _check_free(place)
        entries, left_out = self._entries(things, place)
        ending = next((one for one in _TAR_ENDINGS if place.path.name.casefold().endswith(one)), "")
        pieces = _tarred(entries, _TAR_ENDINGS[ending], stopped) if ending else _zipped(entries, stopped)
        with told("source", things[0].shown):
            done = self._changes.write(place, pieces, origin)
        return Packed(place, self._count(place), left_out, done.size_bytes)

    def unpack(
        self,
        archive: str,
        into: str,
        origin: ChangeOrigin,
        stopped: Stopped,
        judged: Collection[str] | None = None,
    ) -> Packed:
        """Unpack an archive into a new folder: beside it, in the folder `into`, or with the path `into`.

        Returns that folder. Raises WispError; then nothing is left of it.
        """
        place = self._workspace.locate(archive, judged=judged)
        target = self._workspace.locate(into, "destination", judged) if into else None
        is_named = target is not None and not target.is_folder()
        with open_file(self._workspace, place) as file:
            if target is None or not is_named:
                above = target or self._workspace.locate(str(place.path.parent))
                folder = self._free(above, _stem(place.path.name))
            else:
                above, folder = self._workspace.locate(str(target.path.parent), "destination"), target
            _check_free(folder)
            self._workspace.check_writable(folder)
            self._workspace.check_new_names(folder)
            with told(folder.argument, above.shown), hold(above.root, above.inner) as parent:
                name = f".wisp-unpacking-{unique()}"
                parent.below(name, make=True).__exit__()
                writer = _Writer(self._workspace, folder, above.path / name, file.fileno(), stopped)
                try:
                    with told("path", place.shown), _damage_told(place):
                        for entry in _entries_of(file, place):
                            writer.add(*entry)
                    self._appear(writer, folder if is_named else self._flattened(writer, above, folder), parent, origin)
                finally:
                    shutil.rmtree(above.path / name, ignore_errors=True)
        return Packed(writer.folder, writer.count, writer.left_out, writer.size_bytes)

    def _flattened(self, writer: _Writer, above: Place, folder: Place) -> Place:
        """The folder that all entries are in, if there is one; so that none holds nothing but another one."""
        tops = {name.partition("/")[0] for name, _ in writer.written}
        top = next(iter(tops), "")
        if len(tops) != 1 or (top, None) not in writer.written:
            return folder
        bare = self._free(above, top)
        inner = [(name[len(top) + 1 :], digest) for name, digest in writer.written if name != top]
        try:
            for one in (bare, *(self._workspace.within(bare, name) for name, _ in inner)):
                self._workspace.check_writable(one)
        except WispError:  # because a name may start by itself only where it would lie then
            return folder
        writer.staged, writer.written = writer.staged / top, inner
        return bare

    def _appear(self, writer: _Writer, folder: Place, parent: Folder, origin: ChangeOrigin) -> None:
        """Note everything in one go, so that an undo finds it, and give the folder its name."""
        check, now, writer.folder = UndoCheck.CARRIED, time.time(), folder
        changes = []
        for name, digest in (("", None), *writer.written):
            path = str(folder.path / name if name else folder.path)
            before = MADE_FOLDER if digest is None else None
            who = (origin.turn, origin.tool)
            changes.append(Change(unique("c"), *who, path, before, digest, 0, now, undo_check=check))
        self._checkpoints.add(*changes)
        try:
            parent.take_in(writer.staged, folder.path.name)
        except BaseException:  # so that nothing that did not happen can be undone
            self._checkpoints.forget(*(change.id for change in changes))
            raise
        parent.sync()

    def _beside(self, thing: Place) -> Place:
        above = self._workspace.locate(str(thing.path.parent), "destination")
        name = thing.path.name if thing.is_folder() else thing.path.stem
        return self._workspace.within(above, f"{name}.zip")

    def _free(self, above: Place, name: str) -> Place:
        """A new entry of a folder, called so or with a number behind it."""
        names = (name, *(f"{name} {number}" for number in range(2, _MOST_ALIKE)))
        free = next((one for one in names if not os.path.lexists(above.path / one)), name)
        return self._workspace.within(above, free)

    def _entries(self, things: Sequence[Place], target: Place) -> tuple[list[_Entry], int]:
        """The name of each entry in the archive, and how it is opened (None for a folder)."""
        found: list[_Entry] = []
        names: set[str] = set()
        left_out, size = 0, 0
        for thing in things:
            self._workspace.check_readable(thing)
            top = thing.path.name
            if top in names:
                raise ToolMisuse(f"source: two of them are called {top!r}.")
            names.add(top)
            inner = [(f"{top}/{name}", name) for name in below(thing.path)] if thing.is_folder() else [(top, "")]
            for named, name in inner:
                one = self._workspace.within(thing, name) if name and not (thing.path / name).is_symlink() else thing
                if (name and (thing.path / name).is_symlink()) or one.path == target.path:
                    left_out += 1
                    continue
                self._workspace.check_readable(one)
                if not (one.is_file() or named.endswith("/")):
                    left_out += 1
                    continue
                size += 0 if named.endswith("/") else one.path.stat().st_size
                found.append((named, None if named.endswith("/") else self._opener(one)))
                if len(found) > MOST_ENTRIES or size > MOST_BYTES:
                    values = {"path": thing.shown, "most": str(MOST_ENTRIES), "size": str(MOST_BYTES)}
                    raise ToolFailed(Phrase("{path!r} is more than {most} entries or {size} bytes.", values))
        return found, left_out

    def _opener(self, place: Place) -> Callable[[], BinaryIO]:
        return lambda: open_file(self._workspace, place)

    def _count(self, place: Place) -> int:
        """How many files an archive holds now. Damage raises ToolFailed."""
        with open_file(self._workspace, place) as file, _damage_told(place):
            if zipfile.is_zipfile(file):
                return sum(not name.endswith("/") for name in zipfile.ZipFile(file).namelist())
            file.seek(0)
            return sum(member.isfile() for member in tarfile.open(fileobj=file, mode="r:*"))


_Entry = tuple[str, Callable[[], BinaryIO] | None]


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


Opened = Callable[[], _Readable]
"""Opens the content of an entry."""


class _Writer:
    """Writes entries of an archive below `staged`, as they will lie in `folder`."""

    def __init__(self, workspace: Workspace, folder: Place, staged: Path, archive: int, stopped: Stopped) -> None:
        self._workspace = workspace
        self.folder = folder
        self.staged = staged
        self._stopped = stopped
        self._marks = _marks_of(archive)
        self._limit = min(MOST_BYTES, max(shutil.disk_usage(staged).free - _SPARE, 0))
        self._seen = 0
        self.written: list[tuple[str, str | None]] = []
        """Each folder and file, a folder before what is in it, with the digest of a file's content."""
        self.count = self.left_out = self.size_bytes = 0

    def add(self, name: str, opened: Opened | None, is_program: bool) -> None:  # noqa: FBT001 - one caller
        """Write one entry. Links and devices come as a name that is ""; they are left out."""
        self._seen += 1
        if self._seen > MOST_ENTRIES:
            raise ToolFailed(
                Phrase("It holds more than {most} entries; it is left packed.", {"most": str(MOST_ENTRIES)})
            )
        parts = _parts_of(name) if name else ()
        if not parts:
            self.left_out += bool(not name)
            return
        inner = "/".join(parts)
        place = self._workspace.within(self.folder, inner)
        self._workspace.check_new_names(place)
        try:
            self._workspace.check_writable(place)
        except WispError:  # because it would start by itself, or be taken for a key
            self.left_out += 1
            return
        for depth in range(1, len(parts) + (opened is None)):
            self._make("/".join(parts[:depth]))
        if opened is not None:
            self._write(inner, opened, is_program=is_program)

    def _make(self, inner: str) -> None:
        path = self.staged / inner
        if not path.is_dir():
            path.mkdir()
            self.written.append((inner, None))

    def _write(self, inner: str, opened: Opened, *, is_program: bool) -> None:
        digest = hashlib.sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            handle = os.open(self.staged / inner, flags, _PROGRAM_MODE if is_program else _NEW_MODE)
        except FileExistsError:
            raise ToolFailed(Phrase("It holds {name!r} twice; it is left packed.", {"name": inner})) from None
        with open(handle, "wb") as file:
            source = opened()
            while chunk := source.read(_CHUNK):
                if self._stopped():
                    raise Cancelled("Unpacking was stopped; nothing of it is left.")
                self.size_bytes += len(chunk)
                if self.size_bytes > self._limit:
                    size = {"size": str(self._limit)}
                    raise ToolFailed(Phrase("More than {size} bytes come out of it; it is left packed.", size))
                digest.update(chunk)
                file.write(chunk)
            if sys.platform == "linux":
                for mark, value in self._marks:
                    with contextlib.suppress(OSError):  # because a file system may not take all of them
                        os.setxattr(file.fileno(), mark, value)
            file.flush()
            os.fsync(file.fileno())
        self.count += 1
        self.written.append((inner, digest.hexdigest()))


def _marks_of(archive: int) -> list[tuple[str, bytes]]:
    """An archive's extended attributes, so that what comes out of a download still counts as one."""
    if sys.platform == "linux":
        return [(name, os.getxattr(archive, name)) for name in os.listxattr(archive) if name.startswith("user.")]
    else:
        return []


def _parts_of(name: str) -> tuple[str, ...]:
    """Raises ToolFailed if the name leads out of the folder."""
    plain = name.removesuffix("/")
    path = PurePosixPath(plain)
    is_odd = "\\" in name or "\0" in name or (os.name == "nt" and ":" in name)
    if path.is_absolute() or ".." in path.parts or is_odd:
        raise ToolFailed(Phrase("It holds {name!r}, which leads out of its folder; it is left packed.", {"name": name}))
    return path.parts


def _entries_of(file: BinaryIO, place: Place) -> Iterator[tuple[str, Opened | None, bool]]:
    """Yield the entries of an archive: the name ("" for what is no file), how it is read, and whether it may run."""
    head = file.read(8)
    file.seek(0)
    if head.startswith(_OTHERS):
        what = Phrase("{path!r} is a 7z or RAR archive; Wisp unpacks zip and tar.", {"path": place.shown})
        raise ToolFailed(what, "A command may unpack it.", argument="path")
    if zipfile.is_zipfile(file):
        yield from _zip_entries(zipfile.ZipFile(file), place)
        return
    file.seek(0)
    opener = next((opener for magic, opener in _MAGIC.items() if head.startswith(magic)), None)
    plain = cast(BinaryIO, _Careful(opener(file) if opener else file))
    try:
        archive = tarfile.open(fileobj=plain, mode="r:")  # noqa: SIM115 - the file is its caller's
    except tarfile.ReadError:
        what = Phrase("{path!r} is no archive that Wisp can unpack (zip or tar).", {"path": place.shown})
        raise ToolFailed(what, argument="path") from None
    yield from _tar_entries(archive)


def _zip_entries(archive: zipfile.ZipFile, place: Place) -> Iterator[tuple[str, Opened | None, bool]]:
    for one in archive.infolist():
        mode = one.external_attr >> 16
        if one.flag_bits & 1:
            what = Phrase("{path!r} is locked with a password.", {"path": place.shown})
            raise ToolFailed(what, argument="path")
        kind = stat.S_IFMT(mode)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            yield "", None, False
        elif one.is_dir():
            yield one.filename, None, False
        else:
            yield one.filename, partial(archive.open, one), bool(mode & stat.S_IXUSR)


def _tar_entries(archive: tarfile.TarFile) -> Iterator[tuple[str, Opened | None, bool]]:
    for member in archive:
        if member.size > MOST_BYTES:
            size = {"size": str(MOST_BYTES)}
            raise ToolFailed(Phrase("More than {size} bytes come out of it; it is left packed.", size))
        if member.isdir():
            yield member.name, None, False
        elif member.isreg():
            yield member.name, partial(_content, archive, member), bool(member.mode & stat.S_IXUSR)
        else:
            yield "", None, False


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> _Readable:
    return cast(_Readable, archive.extractfile(member))


class _Careful:
    """A file that is never read by more than a header can need at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MOST_HEADER:
            raise tarfile.ReadError("a header is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


class _Sink(io.RawIOBase):
    """Takes what an archive writes, and gives it out in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._held += data
        return len(data)

    def drain(self) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        return held


def _zipped(entries: Sequence[_Entry], stopped: Stopped) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, opened in entries:
            if opened is None:
                archive.mkdir(name)
                continue
            with opened() as source:
                info = zipfile.ZipInfo(name, time.localtime(os.fstat(source.fileno()).st_mtime)[:6])
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (os.fstat(source.fileno()).st_mode & 0xFFFF) << 16
                with archive.open(info, "w", force_zip64=True) as packed:
                    for chunk in _chunks(source, stopped):
                        packed.write(chunk)
                        yield sink.drain()
    yield sink.drain()


def _tarred(entries: Sequence[_Entry], packer: str, stopped: Stopped) -> Iterator[bytes]:
    sink = _Sink()
    with tarfile.open(fileobj=cast(BinaryIO, sink), mode=f"w|{packer}") as archive:  # type: ignore[call-overload]
        for name, opened in entries:
            info = tarfile.TarInfo(name.removesuffix("/"))
            if opened is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
                continue
            with opened() as source:
                known = os.fstat(source.fileno())
                info.size, info.mtime, info.mode = known.st_size, known.st_mtime, stat.S_IMODE(known.st_mode)
                archive.addfile(info)
                for chunk in _chunks(source, stopped, known.st_size):
                    archive.fileobj.write(chunk)
                    yield sink.drain()
                padding = -known.st_size % tarfile.BLOCKSIZE
                archive.fileobj.write(b"\0" * padding)
                archive.offset += known.st_size + padding
    yield sink.drain()


def _chunks(source: BinaryIO, stopped: Stopped, size: int = MOST_BYTES) -> Iterator[bytes]:
    left = size
    while left > 0 and (chunk := source.read(min(_CHUNK, left))):
        if stopped():
            raise Cancelled("Packing was stopped; no archive was made.")
        left -= len(chunk)
        yield chunk


def _stem(name: str) -> str:
    ending = next((one for one in (*_TAR_ENDINGS, ".zip") if name.casefold().endswith(one)), Path(name).suffix)
    return name[: len(name) - len(ending)] or f"{name} unpacked"


def _check_free(place: Place) -> None:
    if os.path.lexists(place.path):
        taken = "{path!r} is there already. Nothing is overwritten: choose another name."
        raise ToolFailed(Phrase(taken, {"path": place.shown}), argument="destination")


@contextlib.contextmanager
def _damage_told(place: Place) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise ToolFailed(Phrase("{path!r} is damaged, or no archive.", {"path": place.shown})) from error
    except RuntimeError as error:  # zipfile's error for a kind of encryption
        raise ToolFailed(Phrase("{path!r} is locked with a password.", {"path": place.shown})) from error
    except NotImplementedError as error:
        raise ToolFailed(Phrase("{path!r} is packed in a way that Wisp cannot read.", {"path": place.shown})) from error
