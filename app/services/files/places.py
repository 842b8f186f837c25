"""Resolve the path of a tool call: relative to the workspace (also `wisp:/`), absolute, `device:/` or `~/` (home).

Every path is resolved first (links included); only its end counts. Folders with a `zone` may be written to; anything
else is only read. A secret is neither read nor written, and a file that starts by itself is never written.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import tempfile
import time
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from fnmatch import fnmatchcase, translate
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from app.base import paths, resources
from app.base.drives import drives
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.phrases import Phrase
from app.base.signs import is_joiner, masked, revealed
from app.base.signs import plain as plain_text
from app.base.values import dataclass
from app.services.files.safe_open import told

DOC_PATH = "doc:"
"""How the path of the description of a small app begins."""
_GLOB = re.compile(r"[*?\[]")
_INODES_S = 10.0
_STARTING_DEPTH = 3
"""How deep to look for hard links. Package managers' stores, which projects link to, are deeper."""
_MOST_INODES = 50_000
HEAD = "HEAD"
_BARE = frozenset({"config", "config.worktree", "hooks", "commondir", "info", "modules", "worktrees"})
"""Entries that git runs or follows in a folder with a HEAD, which it treats as a repository."""
_MOST_FOLDERS = 100
_MOST_NAMES = 1_000
_SETTLED_NS = 1_000_000_000
"""A folder that changed more recently than this may change again without a new time stamp."""


def table() -> Mapping[str, Any]:
    """Return the table of protected names."""
    return resources.table("protected.toml", resources.Table)


class Patterns:
    """Patterns of names and paths, with * and ? inside a name. An index by their first name makes them fast."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.rules = tuple(tuple(map(plain, pattern.split("/"))) for pattern in patterns)
        self._by_name: dict[str, list[tuple[str, ...]]] = {}
        self._open = [rule for rule in self.rules if _GLOB.search(rule[0])]
        self._opening = re.compile("|".join(translate(rule[0]) for rule in self._open) or r"(?!)")
        for rule in self.rules:
            if not _GLOB.search(rule[0]):
                self._by_name.setdefault(rule[0], []).append(rule)

    def fit(self, parts: Iterable[str]) -> bool:
        """Return whether a pattern names the path or a folder above it."""
        seen = tuple(plain(part) for part in parts)
        return any(self._fit_at(seen, at) for at in range(len(seen)))

    def named(self) -> list[str]:
        """Return the patterns that contain no * or ?, as relative paths."""
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
    return Patterns(table()[section][name])


def is_secret(parts: Iterable[str]) -> bool:
    """Return whether a path names keys, passwords, sessions or histories. Wisp neither reads nor writes these."""
    return patterns("secrets", "always").fit(parts)


def is_named_secret(path: str) -> bool:
    """Judged without reading the disk."""
    return is_secret(Path(path).parts) or is_local_secret(Path(path))


def is_local_secret(path: Path) -> bool:
    """True for a secret of a project, such as `.env`, unless its content is clearly public."""
    name = (path.name,)
    if not patterns("secrets", "local").fit(name) or patterns("secrets", "open").fit(name):
        return False
    if not patterns("secrets", "by_content").fit(name):
        return True
    head = _head(path)
    return not any(mark.encode() in head for mark in table()["secrets"]["public"]) or holds_private_key(head)


def holds_private_key(head: bytes) -> bool:
    return _private().search(head) is not None


def is_private_key(path: Path) -> bool:
    """Judged by the file's content now. An unreadable file contains none."""
    return holds_private_key(_head(path))


def starts_by_itself(parts: Iterable[str]) -> bool:
    """Return whether a shell, an editor, git or the desktop runs this file unasked. Wisp never writes it."""
    parts = tuple(parts)
    return patterns("startup", "always").fit(parts) or _in_home(parts) or parts[-1:] == (HEAD,)


def is_known_inode(path: Path) -> bool:
    """Return whether the file is a secret of the home folder that has a second name: by a hard link or a mount."""
    return _kind_by_inode(path) == "secret"


def starts_here(path: Path) -> bool:
    """True for an existing file that starts by its name, its inode, or because git works in its folder."""
    if starts_by_itself(path.parts) or _kind_by_inode(path) == "starts":
        return True
    return any(above.name in _BARE and os.path.lexists(above.parent / HEAD) for above in (path, *path.parents))


def starts_within(folder: Path, name: str) -> bool:
    """Return whether the entry `name` below a folder starts by itself, even if the folder is moved."""
    inside = (folder / name, *(folder / name).parents)
    below = [path for path in inside if path != folder and path.is_relative_to(folder)]
    is_bare = any(path.name in _BARE and os.path.lexists(path.parent / HEAD) for path in below)
    return starts_by_itself(Path(name).parts) or is_bare


def _kind_by_inode(path: Path) -> str:
    with suppress(OSError, ValueError):  # because a missing file has no inode
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            # Look deep only where it is needed: a file with one link can have another path only through a mount.
            known = known_inodes(is_deep=found.st_nlink > 1 or _is_mounted(path))
            return known.get(found.st_ino, {}).get(found.st_dev, "")
    return ""


def _is_mounted(path: Path) -> bool:
    """True if the path leads through something that is mounted below the home folder or beside it."""
    home = str(Path.home())
    return any(path.is_relative_to(at) and not Path(home).is_relative_to(at) for at in _bound(int(time.monotonic())))


_OCTAL = re.compile(r"\\([0-7]{3})")


@functools.lru_cache(maxsize=1)
def _bound(_moment: int) -> tuple[str, ...]:
    """Where a part of a file system is mounted (Linux): field 4 of proc_pid_mountinfo(5) is not "/"."""
    try:
        rows = [line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return ()
    # The table writes blanks and other signs that would break its rows as octal numbers.
    return tuple(_OCTAL.sub(lambda found: chr(int(found[1], 8)), row[4]) for row in rows if row[3] != "/")


def local_secrets_in(workspace: Path) -> list[Path]:
    """In the folder and its direct subfolders, as many as can be checked quickly."""
    found: list[Path] = []
    skipped = patterns("build", "folders")
    with suppress(OSError):
        folders = [workspace, *(Path(one.path) for one in os.scandir(workspace) if one.is_dir(follow_symlinks=False))]
        for folder in folders[:_MOST_FOLDERS]:
            if folder == workspace or not skipped.fit((folder.name,)):
                with suppress(OSError):  # because a folder may be private or gone
                    likely = (folder / name for name in _local_names_in(folder))
                    found += [path for path in likely if is_local_secret(path)]
    return found


def _local_names_in(folder: Path) -> tuple[str, ...]:
    """Names that may be secrets. The folder's list is kept until its change time differs."""
    changed_ns = folder.stat().st_ctime_ns
    is_settled = changed_ns < time.time_ns() - _SETTLED_NS
    return (_read_names if is_settled else _read_names.__wrapped__)(str(folder), changed_ns)


@functools.lru_cache(maxsize=1024)
def _read_names(folder: str, _changed_ns: int) -> tuple[str, ...]:
    local = patterns("secrets", "local")
    return tuple(name for name in sorted(os.listdir(folder))[:_MOST_NAMES] if local.fit((name,)))


def _in_home(parts: Sequence[str]) -> bool:
    seen, home = tuple(map(plain, parts)), tuple(map(plain, Path(os.path.realpath(Path.home())).parts))
    below = seen[len(home) :]
    return seen[: len(home)] == home and any(below[: len(rule)] == rule for rule in patterns("startup", "home").rules)


@functools.cache
def _private() -> re.Pattern[bytes]:
    return re.compile(table()["secrets"]["private"].encode())


def _head(path: Path) -> bytes:
    """The first bytes of a regular file, links not followed; b"" if unreadable. Never waits for a pipe."""
    # These flags are set so that a pipe does not block and a link is not followed.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(table()["secrets"]["looked_at_bytes"]) if is_file else b""
    except (OSError, ValueError):  # ValueError: the path holds a NUL byte
        return b""


def known_inodes(*, is_deep: bool = True) -> Mapping[int, Mapping[int, str]]:
    """Return the home folder's secrets and start-up files: device, then inode, to `secret` or `starts`."""
    return _inodes(str(Path.home()), is_deep=is_deep, moment=int(time.monotonic() / _INODES_S))


@functools.lru_cache(maxsize=2)
def _inodes(home: str, *, is_deep: bool, moment: int) -> Mapping[int, Mapping[int, str]]:  # noqa: ARG001
    found: dict[int, dict[int, str]] = {}
    for section, kind in (("startup", "starts"), ("secrets", "secret")):
        depth = (_STARTING_DEPTH if section == "startup" else _MOST_INODES) if is_deep else 0
        for name in patterns(section, "always").named():
            path = os.path.join(home, name)
            with suppress(OSError):  # because most of these files do not exist
                entry = os.lstat(path)
                if stat.S_ISREG(entry.st_mode):
                    found.setdefault(entry.st_ino, {})[entry.st_dev] = kind
                elif stat.S_ISDIR(entry.st_mode) and name != ".git" and not name.startswith(".cache/"):
                    for inode in islice(_below(path, depth), _MOST_INODES):
                        found.setdefault(inode, {})[entry.st_dev] = kind
    return found


def _below(folder: str, depth: int) -> Iterator[int]:
    """Yield the inodes of the files below a folder, the nearest first. Reads only the folders, opens no file."""
    level = [folder]
    while level and depth:
        depth -= 1
        below: list[str] = []
        for one in level:
            with suppress(OSError), os.scandir(one) as entries:  # because a folder may be private or gone
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    else:
                        yield entry.inode()
        level = below


@functools.lru_cache(maxsize=4096)
def plain(part: str) -> str:
    """Return a name for comparison: letter case, letter width and invisible characters do not count."""
    if part.isascii():  # because this is many times as fast and comes to the same
        return part.casefold().rstrip(". ") or part
    visible = "".join(sign for sign in part if unicodedata.category(sign) != "Cf")
    # Drop dots and blanks at the end, because Windows ignores them there.
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ") or visible


_FORMS = "a path relative to the workspace, an absolute one, device:/… (home) or wisp:/… (the workspace)"
_CONTROL = re.compile("[\x00-\x1f\u2028\u2029]")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SYSTEM = tuple(Path(path) for path in ("/proc", "/sys", "/dev"))
_SHOWN_CHARS = 120
_LEADS_ELSEWHERE = "leads to another place than a moment ago, because somebody put a link there. Nothing was done."
_NAME_BYTES = 255  # because Linux file systems allow no longer name
_PATH_CHARS = 4_096


class Zone(StrEnum):
    """The kind of place where a path is. The policy decides by it."""

    WORKSPACE = "workspace"
    MADE = "made"
    TEMP = "temp"
    HOME = "home"
    DRIVE = "drive"
    """A removable drive that is plugged in."""
    OUTSIDE = "outside"


_PROJECT_ZONES = (Zone.WORKSPACE, Zone.MADE, Zone.TEMP)


@dataclass(frozen=True, slots=True)
class Place:
    """A resolved path. `shown` is its form for people and models; `root` is the allowed folder that contains it."""

    path: Path
    shown: str
    zone: Zone
    root: Path
    argument: str = "path"

    @property
    def inner(self) -> tuple[str, ...]:
        """The path's parts below its root."""
        return self.path.relative_to(self.root).parts

    @property
    def is_outside(self) -> bool:
        return self.zone is Zone.OUTSIDE

    def is_file(self) -> bool:
        return stat.S_ISREG(self._mode())

    def is_folder(self) -> bool:
        return stat.S_ISDIR(self._mode())

    def exists(self) -> bool:
        return bool(self._mode())

    def _mode(self) -> int:
        try:
            return self.path.stat().st_mode
        except OSError:  # because the file may not exist yet
            return 0


class Workspace:
    """The folders that file tools may work in. Relative paths begin at `folder`.

    `home` and drives that are plugged in may be written to as well; the policy decides which zones ask the person
    first.
    """

    def __init__(self, folder: Path, *, home: Path | None = None, temp: Path | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        self._home = Path(os.path.realpath(home or Path.home()))
        self._made = Path(os.path.realpath(paths.made_dir()))
        self._zones = {
            Path(os.path.realpath(temp or tempfile.gettempdir())): Zone.TEMP,
            self._home: Zone.HOME,
            self._made: Zone.MADE,
            self.folder: Zone.WORKSPACE,
        }
        self._own = tuple(Path(os.path.realpath(folder)) for folder in paths.own_dirs())

    def locate(self, text: str, argument: str = "path", judged: Collection[str] | None = None) -> Place:
        """Resolve `text`. Raises ToolMisuse if it is no path. Nothing needs to exist there.

        Raises ToolFailed if it is none of the paths that were `judged`, because somebody has put a link on its way
        since. None means that nothing was judged.
        """
        absolute = _as_named(self._absolute(text, argument), argument)
        with told(argument, _cut(text)):
            path = Path(os.path.realpath(absolute))
        if judged is not None and str(path) not in judged:
            what = Phrase(f"{{path!r}} {_LEADS_ELSEWHERE}", {"path": _cut(text)})
            raise ToolFailed(what, "Look again.", argument=argument)
        roots = [root for root in self._zones if path.is_relative_to(root)]
        root = max(roots, key=lambda root: len(root.parts), default=None)
        if root is None and (drive := next((one for one in drives() if path.is_relative_to(one)), None)):
            return Place(path, self._shown(path), Zone.DRIVE, drive, argument)
        if root is None:
            return Place(path, self._shown(path), Zone.OUTSIDE, Path(path.anchor), argument)
        return Place(path, self._shown(path), self._zones[root], root, argument)

    def within(self, folder: Place, name: str) -> Place:
        """Return an entry of a folder, by its path in it. Raises ToolFailed if a link leads from there elsewhere."""
        found = self.locate(str(folder.path / name), folder.argument)
        if found.path != folder.path / name:
            what = Phrase(f"{{path!r}} in {{folder!r}} {_LEADS_ELSEWHERE}", {"path": name, "folder": folder.shown})
            raise ToolFailed(what, "Look again.", argument=folder.argument)
        return found

    def private_below(self, place: Place) -> list[Path]:
        """Return the folders that a search in that folder must skip: Wisp's own, and system pseudo-files."""
        kept = [folder for folder in (*self._own, *_SYSTEM) if folder.is_relative_to(place.path)]
        return [folder for folder in kept if folder != place.path]

    def check_readable(self, place: Place) -> None:
        """Raise ToolFailed for keys and passwords, Wisp's own included, and for pseudo-files of processes."""
        if any(place.path.is_relative_to(folder) for folder in _SYSTEM):
            what = Phrase("{path!r} is no file but a part of the running system.", {"path": place.shown})
            raise ToolFailed(what, argument=place.argument)
        if self._is_secret(place) or self._is_own(place):
            told = "{path!r} holds keys, passwords or settings of Wisp; it is left alone."
            raise ToolFailed(Phrase(told, {"path": place.shown}), argument=place.argument)

    def check_writable(self, place: Place) -> None:
        """Raise NeedsPerson outside the allowed folders, and ToolFailed for protected names."""
        self.check_carried(place)
        if starts_here(place.path):
            what = "{path!r} is protected, because the system or git runs it without asking."
            hint = "Tell the person what to change there."
            raise NeedsPerson(Phrase(what, {"path": place.shown}), hint, argument=place.argument)

    def check_carried(self, place: Place) -> None:
        """Check a file that moves with its folder, as `check_writable`, but it may be one that starts by itself."""
        self.check_readable(place)
        if place.is_outside:
            what = Phrase(
                "{path!r} is outside the folders that may be changed (the workspace, home, wisp:/, the temporary "
                "folder and drives that are plugged in).",
                {"path": place.shown},
            )
            hint = "Choose a place in one of them, or ask the person to do it."
            raise NeedsPerson(what, hint, argument=place.argument)

    def check_new_names(self, place: Place) -> None:
        """Raise ToolMisuse if a file or folder that does not exist yet would get a name that hides something.

        Invisible characters, line breaks and marks that turn the direction of a text make a name look like another
        one. Joiners may stand where a script or an emoji needs them.
        """
        for path in takewhile(lambda path: not os.path.lexists(path), (place.path, *place.path.parents)):
            seen = _CONTROL.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", revealed(path.name))
            if seen != path.name:
                good = _CONTROL.sub("", plain_text(path.name)[0]) or "file"
                raise ToolMisuse(
                    f"{place.argument}: the name {seen!r} holds characters that nobody sees or that turn the direction "
                    f"of the text. Nothing was made. Give it without them, for example {good!r}."
                )

    def _is_secret(self, place: Place) -> bool:
        """Finds hard links, too. In projects, the policy judges local secrets."""
        if is_secret(place.path.parts) or is_known_inode(place.path):
            return True
        if place.zone not in _PROJECT_ZONES and is_local_secret(place.path):
            return True
        return place.zone not in _PROJECT_ZONES and is_private_key(place.path)

    def _is_own(self, place: Place) -> bool:
        if place.zone is Zone.MADE:
            return False
        return any(place.path.is_relative_to(folder) for folder in self._own)

    def _absolute(self, text: str, argument: str) -> Path:
        _check_spelling(text, argument)
        for prefix, folder in (
            ("wisp:", self.folder),
            ("bor:", self.folder),
            ("device:", self._home),
            ("~/", self._home),
        ):
            if text.startswith(prefix):
                rest = text.removeprefix(prefix).lstrip("/\\")
                return self._made / rest if prefix in ("wisp:", "bor:") and self._was_made(rest) else folder / rest
        if text == "~":
            return self._home
        if scheme := _SCHEME.match(text):
            raise ToolMisuse(f"{argument}: {scheme[1]}:/ is not a form of path here. Give {_FORMS}.")
        return self.folder / text

    def _was_made(self, rest: str) -> bool:
        """Return whether a `wisp:/` path means the folder where Wisp formerly put the files that it made.

        It does if the file is in that folder, and the workspace contains none of that name.
        """
        is_below = os.path.realpath(self._made / rest).startswith(f"{self._made}{os.sep}")
        return is_below and os.path.lexists(self._made / rest) and not os.path.lexists(self.folder / rest)

    def _shown(self, path: Path) -> str:
        return visible(self._called(path))

    def _called(self, path: Path) -> str:
        for root, prefix in ((self.folder, ""), (self._made, "wisp:/"), (self._home, "~/")):
            if path == root:
                return prefix or "."
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return str(path)


_UNSEEN = "\ufffd"


def visible(name: str) -> str:
    """Return the name with each unprintable character (line breaks, controls, lone surrogates) replaced by U+FFFD.

    Joiners stay where a script or an emoji needs them, so that a model can write such a name again.
    """
    if name.isprintable():
        return name
    return "".join(sign if sign.isprintable() or is_joiner(sign) else _UNSEEN for sign in masked(name))


def _as_named(path: Path, argument: str) -> Path:
    """Return the path of what `visible` shows as this path, where nothing is called so itself.

    Raises ToolMisuse if several entries of a folder are shown like that, and for a name that is no text at all.
    """
    if _UNSEEN not in str(path) or os.path.lexists(path):
        return path
    real = Path(path.anchor)
    for part in path.parts[1:]:
        named = [part]
        if _UNSEEN in part and not os.path.lexists(real / part):
            with suppress(OSError):  # because a folder that cannot be listed shows no names
                named = [name for name in os.listdir(real) if visible(name) == part] or [part]
        if len(named) > 1:
            raise ToolMisuse(
                f"{argument}: {len(named)} entries are shown as {_cut(part)!r}, because the characters that differ are "
                "invisible. The person can rename them; a command can, too."
            )
        if any("\ud800" <= sign <= "\udfff" for sign in named[0]):
            raise ToolMisuse(
                f"{argument}: the name that is shown as {_cut(part)!r} holds bytes that are no UTF-8 text. Rename it "
                "by a command; in a shell, ? fits each such byte."
            )
        real /= named[0]
    return real


def _check_spelling(text: str, argument: str) -> None:
    if not text.strip():
        raise ToolMisuse(f"{argument} is empty: give {_FORMS}.")
    if "\0" in text:
        raise ToolMisuse(f"{argument} contains a NUL character; no file name can.")
    if os.name == "posix" and _DRIVE.match(text):
        raise ToolMisuse(f"{argument}: {_cut(text)!r} is a Windows path; this machine has none. Give {_FORMS}.")
    if len(text) > _PATH_CHARS:
        raise ToolMisuse(f"{argument}: {_cut(text)!r} is longer than any path can be ({_PATH_CHARS} characters).")
    try:
        longest = max(len(part) for part in os.fsencode(text).split(b"/"))
    except UnicodeEncodeError:
        raise ToolMisuse(f"{argument} contains half of a surrogate pair; no file name can.") from None
    if longest > _NAME_BYTES:
        raise ToolMisuse(f"{argument}: a name in {_cut(text)!r} is longer than the file system allows (255 bytes).")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
