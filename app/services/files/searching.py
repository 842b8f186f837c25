"""List folders and search in files and file names, without what .gitignore excludes."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.values import dataclass, field, replace
from app.services.files import places
from app.services.files.places import Place, visible
from app.services.files.safe_open import told


def program() -> str:
    """Return the path of ripgrep: next to Python (from its wheel), or on PATH. Raises NeedsPerson."""
    name = "rg.exe" if os.name == "nt" else "rg"
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if not found:
        raise NeedsPerson("Searching needs the program ripgrep. Install it: pip install ripgrep==14.1.0")
    return found


def environment() -> dict[str, str]:
    """Return the only environment variables that ripgrep gets: those that a program needs to start."""
    return {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMPDIR", "LANG") if name in os.environ}


MOST_MATCHES = 300
_MOST_CHARS = 60_000
_LINE_CHARS = 400
_LIMIT_S = 30.0
_LINE_BYTES = 1 << 24
_MOST_FILE = "50M"
_NOTES = 5
_KILO = 1000
_SPECIAL = re.compile(r"([\[\]{}*?!\\])")


@dataclass(frozen=True, slots=True)
class Query:
    """A search. `pattern` is in Rust's syntax; `files` is a glob; `context` counts lines around each match."""

    pattern: str
    files: str = ""
    context: int = 1
    hidden: bool = False


@dataclass(slots=True)
class Hits:
    """The matches, grouped by file: `12: a match`, `13- a line next to one`.

    `names` are the files with matches; `notes` say what was left out and why.
    """

    text: str = ""
    matches: int = 0
    files: int = 0
    notes: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


async def search(place: Place, query: Query, cancelled: asyncio.Event, private: Sequence[Path] = ()) -> Hits:
    """Return all matches below the place, up to a limit that the result names. The paths in `private` are skipped.

    Raises ToolMisuse for an invalid pattern or glob.
    """
    base = place.path if place.is_folder() else place.path.parent
    with told(place.argument, place.shown):
        process = await asyncio.create_subprocess_exec(
            program(),
            *_arguments(query, place, [path.relative_to(base) for path in private]),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(),
            cwd=base,
            limit=_LINE_BYTES,
        )
    collector = _Collector(place)
    stopper = asyncio.create_task(_ended_on(cancelled, process))
    try:
        async with asyncio.timeout(_LIMIT_S):
            complaints = await _read(process, collector)
    except TimeoutError:  # The hits found so far are returned, because a slow disk must not hold the turn.
        collector.hits.notes.append(f"stopped after {_LIMIT_S:.0f} seconds; search a smaller folder")
        complaints = ""
    finally:
        stopper.cancel()
        await _end(process)
    _judge(process.returncode, complaints, collector)
    return collector.finished()


def _arguments(query: Query, place: Place, private: Sequence[Path]) -> list[str]:
    """Globs are relative to the searched folder, because ripgrep starts there."""
    options = ["--no-config", "--json", "--no-require-git", "--max-filesize", _MOST_FILE, "--sort", "path"]
    options += ["--context", str(query.context), "--regexp", query.pattern]
    options += ["--glob", query.files] if query.files else []
    options += ["--hidden", "--glob", "!.git"] if query.hidden else []
    for name in ("always", "local"):
        for rule in places.patterns("secrets", name).rules:
            options += ["--iglob", "!" + "/".join(rule if len(rule) == 1 else ("**", *rule))]
    for path in private:
        options += ["--glob", "!/" + _SPECIAL.sub(r"\\\1", path.as_posix())]
    return [*options, "--", str(place.path)]


async def _ended_on(cancelled: asyncio.Event, process: Process) -> None:
    await cancelled.wait()
    with suppress(ProcessLookupError):  # because the search may have ended by itself
        process.kill()


async def _read(process: Process, collector: _Collector) -> str:
    assert process.stdout
    assert process.stderr
    reading = asyncio.create_task(_complaints(process.stderr))
    try:
        async for line in process.stdout:
            if not collector.take(json.loads(line)):
                return ""
        complaints = await reading
        await process.wait()
        return complaints
    except ValueError:  # because the reader limits a line's length
        collector.hits.notes.append("stopped at a line that is too long")
        return ""
    finally:
        reading.cancel()


async def _complaints(stream: asyncio.StreamReader) -> str:
    """The beginning of ripgrep's error output. All of it is read: ripgrep would wait at a full pipe."""
    kept = b""
    while chunk := await stream.read(_MOST_CHARS):
        kept = (kept + chunk)[:_MOST_CHARS]
    return kept.decode(errors="replace")


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):  # because the search may have ended by itself
        process.kill()
    await process.wait()


def _judge(code: int | None, complaints: str, collector: _Collector) -> None:
    """Turn ripgrep's errors about single files into notes. Raises ToolMisuse for a bad regular expression."""
    if code != 2 or not complaints:
        return
    if "regex" in complaints and not collector.hits.matches:
        reason = complaints.strip().removeprefix("rg: ").strip()
        raise ToolMisuse(f"regex: this is no pattern in Rust's syntax. {reason}")
    if "glob" in complaints and not collector.hits.matches:
        raise ToolMisuse(f"file_pattern: this is no glob such as *.py ({complaints.strip()}).")
    lines = [line.removeprefix("rg: ") for line in complaints.splitlines() if line.strip()]
    if not lines:
        raise ToolFailed("The search ended with an error and no explanation.")
    more = [f"and {len(lines) - _NOTES} more of that kind"] if len(lines) > _NOTES else []
    collector.hits.notes += [f"not searched: {line}" for line in lines[:_NOTES]] + more


class _Collector:
    """Builds the answer from ripgrep's JSON lines."""

    def __init__(self, place: Place) -> None:
        self.hits = Hits()
        self._base = str(place.path if place.is_folder() else place.path.parent)
        self._lines: list[str] = []
        self._chars = 0
        self._last = 0
        self._is_left_out = False

    def take(self, message: Mapping[str, Any]) -> bool:
        """Handle one message of ripgrep. Returns False once the limits are reached."""
        kind, data = message["type"], message["data"]
        if kind == "begin":
            self._is_left_out = _is_kept_secret(Path(_text(data["path"])))
        if self._is_left_out:
            return True
        if kind == "begin":
            self.hits.names.append(visible(_text(data["path"]).removeprefix(self._base).lstrip("/\\")))
            self._add(self.hits.names[-1])
            self.hits.files += 1
            self._last = 0
        elif kind in ("match", "context"):
            return self._line(kind == "match", data)
        return True

    def finished(self) -> Hits:
        self.hits.text = "\n".join(self._lines)
        return self.hits

    def _line(self, is_match: bool, data: Mapping[str, Any]) -> bool:  # noqa: FBT001 - private, one caller
        if is_match and (self.hits.matches >= MOST_MATCHES or self._chars > _MOST_CHARS):
            self.hits.notes.append(
                f"stopped after {self.hits.matches} matches; narrow the regex or the path for the rest"
            )
            return False
        self.hits.matches += is_match
        first: int = data["line_number"] or 0
        if self._last and first > self._last + 1:
            self._add("--")
        lines = _text(data["lines"]).rstrip("\n").split("\n")
        for number, line in enumerate(lines, first):
            shown = line.rstrip("\r")
            shown = shown if len(shown) <= _LINE_CHARS else shown[:_LINE_CHARS] + "…"
            self._add(f"{number}{':' if is_match else '-'} {shown}")
        self._last = first + len(lines) - 1
        return True

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._chars += len(line) + 1


def _is_kept_secret(path: Path) -> bool:
    """True for a secret despite its name: a hard link to one, or a private key by content."""
    return places.is_known_inode(path) or places.is_private_key(path)


def _text(field_: Mapping[str, str]) -> str:
    if "text" in field_:
        return field_["text"]
    return base64.b64decode(field_["bytes"]).decode(errors="replace")


if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_ENTRIES = 400
_LISTING_LIMIT_S = 10.0
_NEVER_DEEP = frozenset(
    {"node_modules", "__pycache__", ".git", ".venv", "venv", ".tox", ".mypy_cache", "dist", "target"}
)
"""Folders that a recursive listing names but does not enter."""
_RULES_CHARS = 100_000
_STARS = re.compile(r"\*+")
_MOST_STARS = 3
"""Each further star multiplies the time by the length of a name; real patterns need at most three."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """A folder's entries as relative paths; folders end with a slash. `skipped` are folders that could not be read."""

    entries: tuple[str, ...]
    is_cut: bool
    ignored: int = 0
    skipped: tuple[str, ...] = ()


def entries(place: Place, *, recursive: bool, most: int = MOST_ENTRIES, named: str = "*") -> FolderListing:
    """Return the entries whose name fits one of the globs, which “|” parts.

    If recursive, ignored and hidden files are only counted.
    """
    with told(place.argument, place.shown):
        return _Walk(place.path, most, recursive=recursive, named=named.casefold()).run()


def by_order(place: Place, found: FolderListing, order: str) -> FolderListing:
    """The files alone, the largest, newest or oldest first, each with its size and day."""
    told: list[tuple[float, str]] = []
    for name in found.entries:
        with suppress(OSError):  # because a file may be gone by now
            facts = os.lstat(place.path / name)
            if not name.endswith(("/", "@")):
                day = time.strftime("%Y-%m-%d", time.localtime(facts.st_mtime))
                line = f"{name} ({size_told(facts.st_size)}, {day})"
                told.append((facts.st_size if order == "size" else facts.st_mtime, line))
    return replace(found, entries=tuple(line for _, line in sorted(told, reverse=order != "oldest")))


def size_told(size: int) -> str:
    """Return a number of bytes as people read it, such as `1.2 MB`."""
    amount, units = float(size), iter(("bytes", "KB", "MB", "GB", "TB"))
    unit = next(units)
    while amount >= _KILO:
        amount, unit = amount / _KILO, next(units)
    return f"{amount:.3g} {unit}"


class _Walk:
    def __init__(self, folder: Path, most: int, *, recursive: bool, named: str) -> None:
        self._most = most
        self._named = named.split("|")
        self._recursive = recursive
        self._until = time.monotonic() + _LISTING_LIMIT_S
        self._todo: deque[tuple[Path, str, tuple[_Rules, ...]]] = deque([(folder, "", ())])
        self._found: list[str] = []
        self._skipped: list[str] = []
        self._ignored = 0

    def run(self) -> FolderListing:
        """Walk the folder. Raises OSError if the folder itself cannot be read."""
        is_cut = False
        while self._todo and not is_cut:
            folder, prefix, rules = self._todo.popleft()
            try:
                is_cut = self._one(folder, prefix, rules)
            except OSError:  # because a folder below may be private or gone
                if not prefix:
                    raise
                self._skipped.append(visible(prefix))
            is_cut = is_cut or (bool(self._todo) and time.monotonic() > self._until)
        return FolderListing(tuple(self._found), is_cut, self._ignored, tuple(self._skipped))

    def _one(self, folder: Path, prefix: str, rules: tuple[_Rules, ...]) -> bool:
        """Add the entries of one folder. Returns True once the limit is reached."""
        with os.scandir(folder) as scan:
            found = sorted(scan, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name.casefold()))
        if self._recursive:
            rules = (*rules, *_Rules.of(folder, prefix))
        for entry in found:
            is_folder = entry.is_dir(follow_symlinks=False)
            path = prefix + entry.name + ("/" if is_folder else "")
            if self._recursive and (entry.name.startswith(".") or _is_excluded(path, rules)):
                self._ignored += 1
                continue
            if any(fnmatchcase(entry.name.casefold(), one) for one in self._named):
                if len(self._found) >= self._most:
                    return True
                self._found.append(visible(path) + ("@" if entry.is_symlink() else ""))
            if self._recursive and is_folder and entry.name not in _NEVER_DEEP:
                self._todo.append((Path(entry.path), path, rules))
        return False


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one .gitignore, which apply below its folder."""

    prefix: str
    spec: GitIgnoreSpec

    @staticmethod
    def of(folder: Path, prefix: str) -> tuple[_Rules, ...]:
        from pathspec import GitIgnoreSpec

        lines = _lines_of(folder / ".gitignore")
        return (_Rules(prefix, GitIgnoreSpec.from_lines(lines)),) if lines else ()

    def verdict(self, path: str) -> bool | None:
        """Return whether these rules exclude the path; None if no rule matches it."""
        return self.spec.check_file(path[len(self.prefix) :]).include


def _lines_of(file: Path) -> list[str]:
    """The patterns of a .gitignore, without slow ones: during a match, no other Python thread runs."""
    try:
        if not file.is_file():
            return []
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_RULES_CHARS)
    except OSError:  # because ignore rules are optional
        return []
    return [line for line in text.splitlines() if len(_STARS.findall(line)) <= _MOST_STARS]


def _is_excluded(path: str, rules: tuple[_Rules, ...]) -> bool:
    """The deepest .gitignore decides: https://git-scm.com/docs/gitignore"""
    return next((verdict for rule in reversed(rules) if (verdict := rule.verdict(path)) is not None), False)
