"""Find the file that a program wrote by an act, among those that its windows and its dialog for files name.

Nobody tells which file a program saves. A window's title, or what stood in the dialog's field, has its name; the folder
is in that text, or it is one that the program works in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import platformdirs

from app.base.facts import FileSaved

_COARSE_S = 0.01
"""A file system's clock may be this much behind the machine's."""
_APART = re.compile(r" [-–—|:•] | \(|\)|\[|\]")
_MARKS = "*●• \t"
"""How titles mark unsaved changes, before or behind the name."""
_MOST_PARTS = 5
_MOST_NAMES = 40
_MOST_FOLDERS = 24
_RECENT = "recently-used.xbel"
_RECENT_BYTES = 100_000
_PLACE = re.compile(r'href="file://([^"]+)"')


def saved_file(texts: Sequence[str], pid: int, since: float) -> FileSaved | None:
    """Return the newest file that is called so and was written after `since` (seconds since the epoch).

    `texts` are titles and names of files; `pid` is the program's process, whose folders are looked into.
    """
    names = [name for text in texts for name in _names_in(text)][:_MOST_NAMES]
    if not names:
        return None
    folders = [*_folders_in(names), *_folders_of(pid), *_recent_folders()]
    places = dict.fromkeys(folder / name for folder in folders[:_MOST_FOLDERS] for name in names)
    written = (one for place in places if (one := _written(place, since)) is not None)
    return max(written, key=lambda one: one.at, default=None)


def _written(place: Path, since: float) -> FileSaved | None:
    try:
        found = place.stat()
    except (OSError, ValueError):  # because most places are guesses, and a title may hold any sign
        return None
    is_kept = place.is_file() and not place.is_relative_to("/proc")  # because the kernel's own files always look new
    is_new = is_kept and found.st_mtime >= since - _COARSE_S
    return FileSaved(str(place), found.st_size, found.st_mtime) if is_new else None


def _names_in(text: str) -> Iterator[Path]:
    """Yield what may be the name or path of a file: all that stands between two separators of a title, or its ends."""
    apart = [match.span() for match in _APART.finditer(text)][:_MOST_PARTS]
    begins, ends = [0, *(end for _, end in apart)], [*(start for start, _ in apart), len(text)]
    for part in dict.fromkeys(text[begin:end] for begin in begins for end in reversed(ends) if begin < end):
        name = part.strip(_MARKS)
        if name and name not in (".", "..", "~", "/"):
            yield _whole(name)


def _whole(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # because the title begins with ~ and the rest is no person's name
        return Path(name)


def _folders_in(names: Sequence[Path]) -> Iterator[Path]:
    yield from (name for name in names if name.is_absolute())


def _folders_of(pid: int) -> Iterator[Path]:
    """Yield the folders that a program may save to: where it runs, those of its arguments, and the usual."""
    process = Path("/proc", str(pid))
    try:
        yield (process / "cwd").resolve(strict=True)
        told = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        yield from (Path(one).parent for one in told[1:] if one.startswith(os.sep))
    except OSError:  # because it has ended, or the system has no such folder
        pass
    yield Path.home()
    yield Path(platformdirs.user_documents_dir())
    yield Path(platformdirs.user_desktop_dir())
    yield Path(platformdirs.user_downloads_dir())


def _recent_folders() -> Iterator[Path]:
    """Yield the folders of the files that programs opened or saved last (the desktop's list of recent files)."""
    listed = Path(platformdirs.user_data_dir()) / _RECENT
    try:
        with listed.open("rb") as file:
            file.seek(max(listed.stat().st_size - _RECENT_BYTES, 0))
            text = file.read().decode(errors="replace")
    except OSError:
        return
    places = (Path(unquote(place)).parent for place in reversed(_PLACE.findall(text)))
    yield from dict.fromkeys(places)
