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
"""In an address it names a helper program, which git would run: https://git-scm.com/docs/gitremote-helpers"""


def is_plain(workspace: Path, config: Path) -> bool:
    """Return whether each line of a git configuration is harmless, in git's own form. True if there is none."""
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
"""The kernel's clock for file times may lag behind by a tick. What falls into this margin is in doubt."""


@dataclass(frozen=True, slots=True)
class Protection:
    """What to protect. `fixed` is mounted read-only; `pinned` is mounted as it is, so that it cannot be renamed."""

    fixed: tuple[Path, ...]
    pinned: tuple[Path, ...]
    before: Before

    def arguments(self) -> Iterator[str]:
        """Yield bubblewrap's arguments for the protection. They must follow those for the workspace."""
        for path in self.pinned:
            yield from ("--bind", str(path), str(path))
        for path in self.fixed:
            yield from ("--ro-bind", str(path), str(path))


def of(workspace: Path, found: WorkspaceSurvey) -> Protection:
    """Return what must be protected in this workspace, as it is now."""
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
    """Inode and path as a text. With another inode, it is another file at the same path."""
    with suppress(OSError):  # because it may be gone again
        return f"{os.lstat(path).st_ino}:{path}"
    return f"gone:{path}"


def settle(before: Before, period: Period) -> SettledRun:
    """Rename the files that the run created; report those that another program may have created."""
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
        if changed is None or not _may_be_of(period, changed):
            continue
        name = _rename(workspace, path) if _is_of(period, changed) else ""
        if name:
            aside[shown] = path.with_name(name).relative_to(workspace).as_posix()
        else:
            unclear.append(shown)
    return SettledRun(aside, tuple(unclear))


def _may_be_of(period: Period, changed: float) -> bool:
    """True if the run may have made a change at that time. The person may have made it, too."""
    return period.is_clock_set_back or period.began - _CLOCK_S <= changed <= period.ended + _CLOCK_S


def _is_of(period: Period, changed: float) -> bool:
    """Return whether a change was made while the turn waited for the run.

    There is no margin here, because all these times come from one clock, and what the person made right after the turn
    stopped waiting must never be touched.
    """
    is_watched = period.began <= changed <= period.ended and changed < period.watched_until
    return is_watched and not period.is_clock_set_back


def put_back(workspace: Path, set_aside: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Give renamed files their original names. Returns their paths, and a sentence for each failure."""
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
        except OSError as error:  # Report it and go on, so that the other files come back.
            problems.append(f"{workspace / now} cannot be put back: {error.strerror or error}.")
    return done, problems


def _suspects(workspace: Path, repository: Path) -> list[Path]:
    """What would run in a repository that a command made: hooks, and a configuration that is not harmless."""
    if repository.is_symlink() or not repository.is_dir():
        return [repository]
    others = [repository / name for name in table()["protected"]["git"] if name not in {"config", "hooks"}]
    hooks = repository / "hooks"
    with suppress(OSError):  # because most repositories have no hooks folder
        others += [hooks] if hooks.is_symlink() else [hook for hook in hooks.iterdir() if hook.suffix != _SAMPLE]
    return others if is_plain(workspace, repository / "config") else [*others, repository / "config"]


def _link_on_the_way(workspace: Path, path: Path) -> Path | None:
    """The first folder above the path that is a link, perhaps made by a run; None if none is."""
    above = [folder for folder in path.parents if folder.is_relative_to(workspace) and folder != workspace]
    return next((folder for folder in reversed(above) if folder.is_symlink()), None)


def _changed_at(workspace: Path, path: Path) -> float | None:
    """Return the kernel's change time of the entry, which no program can set; None if it is missing.

    Raises OSError if that cannot be read: a run can place a link in the way, or remove the permission.
    """
    try:
        with hold(workspace, path.relative_to(workspace).parts[:-1]) as folder:
            found = folder.stat(path.name)
    except (FileNotFoundError, NotADirectoryError):  # because a folder above it may be gone
        return None
    return found.st_ctime if found else None


def _rename(workspace: Path, path: Path) -> str:
    """Rename a file and return its new name; "" if that failed. Follows no links: a command could make one."""
    # Ignore an error, because the command may have deleted the file again.
    with suppress(OSError), hold(workspace, path.relative_to(workspace).parts[:-1]) as folder:
        name, number = path.name + _ASIDE, 1
        while folder.stat(name) is not None:
            name, number = f"{path.name}{_ASIDE}-{number}", number + 1
        folder.replace(path.name, name)
        return name
    return ""
