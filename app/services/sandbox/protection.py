"""Protect workspace files that a shell, an editor or git runs by itself from changes by a command.

Existing files are mounted read-only. A missing file cannot be mounted without leaving traces, so a file that the
command creates is renamed when the command ends. Only its time shows whether the command or the person created it:
a file that appeared while the turn waited for the command is renamed, and a later one is only reported.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from app.base.values import dataclass
from app.services.files.safe_open import hold
from app.services.files.survey import WorkspaceSurvey, survey
from app.services.sandbox.layout import Before, Period, SettledRun, is_made, starting_in, table

_MOST_BYTES = 65_536
_SECTION = re.compile(r'\[([A-Za-z]+)(?: "[^"\\]*")?\]')
_ENTRY = re.compile(r'[ \t]*([A-Za-z]+) = ([^"\\;#\x00-\x1f]*)')
_HELPER = "::"
"""In an address it names a program that fetches."""


def is_plain(workspace: Path, config: Path) -> bool:
    """Line by line and only in the form that git itself writes, so that no other reading of it exists."""
    rules = table()["protected"]
    try:
        lines = _read(workspace, config).split("\n")
    except FileNotFoundError:  # because a missing configuration runs nothing
        return True
    except (OSError, ValueError):  # because a file that cannot be read may hold anything
        return False
    return all(_is_harmless(line, rules["git_sections"], rules["git_keys"]) for line in lines if line)


def _is_harmless(line: str, sections: list[str], keys: list[str]) -> bool:
    if section := _SECTION.fullmatch(line):
        return section[1].casefold() in sections
    entry = _ENTRY.fullmatch(line)
    return entry is not None and entry[1].casefold() in keys and _HELPER not in entry[2]


def _read(workspace: Path, config: Path) -> str:
    with hold(workspace, config.relative_to(workspace).parts[:-1]) as folder:
        fd = folder.open(config.name, os.O_RDONLY)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("no regular file")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError("too long")
    return data.decode("utf-8")


_SAMPLE = ".sample"
_ASIDE = ".set-aside"
_CLOCK_S = 0.05
"""The kernel stamps files by a clock that may lag behind by a tick."""


@dataclass(frozen=True, slots=True)
class Protection:
    """`fixed` is mounted read-only, `pinned` as it is so that it cannot be renamed; `before` is for the end."""

    fixed: tuple[Path, ...]
    pinned: tuple[Path, ...]
    before: Before

    def arguments(self) -> Iterator[str]:
        """bubblewrap's, to follow those of the workspace."""
        for path in self.pinned:
            yield from ("--bind", str(path), str(path))
        for path in self.fixed:
            yield from ("--ro-bind", str(path), str(path))


def of(workspace: Path, found: WorkspaceSurvey) -> Protection:
    """What is protected in this workspace, as it is now."""
    pinned = [path for path in found.repositories if path.is_dir() and not path.is_symlink() and path != workspace]
    starting = _starting(found)
    names = [*starting_in(workspace), *starting]
    names += [path for path, kind in found.linked.items() if kind == "starts"]
    names += [folder / name for folder in found.repositories if folder.is_dir() for name in table()["protected"]["git"]]
    names += [path for path in found.repositories if path.is_file()]
    names += [path.resolve() for path in starting if path.is_symlink() and path.resolve().is_relative_to(workspace)]
    names = list(dict.fromkeys(names))
    fixed = [path for path in names if path.exists() and os.path.realpath(path) == str(path)]
    absent = [path for path in names if not os.path.lexists(path)]
    before = Before(
        str(workspace),
        tuple(map(str, absent)),
        tuple(map(str, found.repositories)),
        found.is_whole,
        tuple(_identity(path) for path in starting if os.path.lexists(path)),
    )
    return Protection(tuple(sorted(fixed)), tuple(sorted(pinned)), before)


def _starting(found: WorkspaceSurvey) -> list[Path]:
    return [path for path in found.starting if not is_made(path)]


def _identity(path: Path) -> str:
    """The same entry under the same name; another inode is another file in its place."""
    with suppress(OSError):  # because it may be gone again
        return f"{os.lstat(path).st_ino}:{path}"
    return f"gone:{path}"


def settle(before: Before, period: Period) -> SettledRun:
    """Rename the files that the run made; return the names of those that another program may have made."""
    if not before.workspace:
        return SettledRun()
    workspace = Path(before.workspace)
    suspects = [Path(path) for path in before.absent]
    found = survey(workspace)
    for repository in found.repositories:
        if str(repository) not in before.repositories:
            suspects += _suspects(workspace, repository)
    fresh = [path for path in _starting(found) if _identity(path) not in before.starting]
    suspects += [path for path in fresh if not any(one.is_relative_to(path) for one in suspects)]
    aside: dict[str, str] = {}
    unclear: list[str] = []
    for path in dict.fromkeys(_link_on_the_way(workspace, path) or path for path in suspects):
        shown = path.relative_to(workspace).as_posix()
        try:
            changed = _changed_at(workspace, path)
        except OSError:  # because what cannot be looked at may be the run's
            unclear.append(shown)
            continue
        if changed is None or not period.began - _CLOCK_S <= changed <= period.ended + _CLOCK_S:
            continue
        name = "" if changed > period.watched_until + _CLOCK_S else _rename(workspace, path)
        if name:
            aside[shown] = path.with_name(name).relative_to(workspace).as_posix()
        else:
            unclear.append(shown)
    return SettledRun(aside, tuple(unclear))


def put_back(workspace: Path, set_aside: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Give what was set aside its name again: those paths, and a sentence for each that has no way back."""
    done: list[str] = []
    problems: list[str] = []
    for shown, now in set_aside.items():
        path = workspace / shown
        try:
            with hold(workspace, path.relative_to(workspace).parts[:-1]) as folder:
                if folder.stat(path.name) is not None:
                    problems.append(f"There is a {path} again; {workspace / now} is left as it is.")
                    continue
                folder.replace(Path(now).name, path.name)
                done.append(shown)
        except OSError as error:
            problems.append(f"{workspace / now} cannot be put back: {error.strerror or error}.")
    return done, problems


def _suspects(workspace: Path, repository: Path) -> list[Path]:
    """Of a repository that a command has made: hooks that would run, a configuration that says more than it must."""
    if repository.is_symlink() or not repository.is_dir():
        return [repository]
    others = [repository / name for name in table()["protected"]["git"] if name not in {"config", "hooks"}]
    hooks = repository / "hooks"
    with suppress(OSError):  # because most repositories have no hooks folder
        others += [hooks] if hooks.is_symlink() else [hook for hook in hooks.iterdir() if hook.suffix != _SAMPLE]
    return others if is_plain(workspace, repository / "config") else [*others, repository / "config"]


def _link_on_the_way(workspace: Path, path: Path) -> Path | None:
    """The first folder above the entry that is a link: a run can put one in the place of a folder that was missing."""
    above = [folder for folder in path.parents if folder.is_relative_to(workspace) and folder != workspace]
    return next((folder for folder in reversed(above) if folder.is_symlink()), None)


def _changed_at(workspace: Path, path: Path) -> float | None:
    """When the entry was made or last changed, which no program can set; None where there is none.

    Raises OSError where that cannot be seen: a run can put a link in the way, or take the right to look.
    """
    try:
        with hold(workspace, path.relative_to(workspace).parts[:-1]) as folder:
            found = folder.stat(path.name)
    except (FileNotFoundError, NotADirectoryError):  # because a folder above it may be gone
        return None
    return found.st_ctime if found else None


def _rename(workspace: Path, path: Path) -> str:
    """The new name, empty where it failed. Follows no link on the way: the command may have put one there."""
    # Ignore an error, because the command may have deleted the file again.
    with suppress(OSError), hold(workspace, path.relative_to(workspace).parts[:-1]) as folder:
        name, number = path.name + _ASIDE, 1
        while folder.stat(name) is not None:
            name, number = f"{path.name}{_ASIDE}-{number}", number + 1
        folder.replace(path.name, name)
        return name
    return ""
