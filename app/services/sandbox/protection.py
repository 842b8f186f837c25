"""What a command may not change in its own workspace: files that a shell, an editor or git runs without being asked.

What is there is mounted read-only. What is not there cannot be mounted without leaving traces, so what a command makes
anew gets another name when it has ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.services.sandbox.gitconfig import is_plain
from app.services.sandbox.layout import table
from app.services.workspace.beneath import hold

_GIT = ".git"
_SAMPLE = ".sample"
_ASIDE = ".set-aside"


@dataclass(frozen=True, slots=True)
class Protection:
    """`fixed` is mounted read-only, `pinned` as it is so that it cannot be renamed, `absent` is watched for."""

    fixed: tuple[Path, ...]
    pinned: tuple[Path, ...]
    absent: tuple[Path, ...]

    def arguments(self) -> Iterator[str]:
        """bubblewrap's, to follow those of the workspace."""
        for path in self.pinned:
            yield from ("--bind", str(path), str(path))
        for path in self.fixed:
            yield from ("--ro-bind", str(path), str(path))

    def watched(self) -> list[str]:
        """What `set_aside` needs to know later."""
        return [*map(str, self.absent), *map(str, self.pinned)]


def of(workspace: Path) -> Protection:
    """What is protected in this workspace, as it is now."""
    repositories = list(_repositories(workspace))
    pinned = [path for path in repositories if path.is_dir() and not path.is_symlink()]
    names = [workspace / name for name in table()["protected"]["names"]]
    names += [folder / name for folder in pinned for name in table()["protected"]["git"]]
    names += [path for path in repositories if path.is_file()]
    fixed = [path for path in names if path.exists() and os.path.realpath(path) == str(path)]
    absent = [path for path in names if not os.path.lexists(path)]
    return Protection(tuple(fixed), tuple(pinned), tuple(absent))


def set_aside(workspace: Path, watched: Sequence[str]) -> list[str]:
    """Rename what has appeared since then: the paths in the workspace that are set aside now."""
    suspects = [path for path in map(Path, watched) if path.name != _GIT]
    for repository in _repositories(workspace):
        if str(repository) not in watched:
            suspects += _suspects(workspace, repository)
    return [str(path.relative_to(workspace)) for path in suspects if _rename(workspace, path)]


def _repositories(workspace: Path) -> Iterator[Path]:
    """Each .git down to some depth; links are not followed, and only so many folders are looked at."""
    rules = table()["protected"]
    level, left = [workspace], rules["folders"]
    for _ in range(rules["depth"]):
        below: list[Path] = []
        for folder in level[:left]:
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == _GIT:
                        yield Path(entry.path)
                    elif entry.is_dir(follow_symlinks=False) and entry.name not in rules["skipped"]:
                        below.append(Path(entry.path))
        left -= len(level)
        level = below if left > 0 else []


def _suspects(workspace: Path, repository: Path) -> list[Path]:
    """Of a repository that a command has made: hooks that would run, a configuration that says more than it must."""
    if repository.is_symlink() or not repository.is_dir():
        return [repository]
    others = [repository / name for name in table()["protected"]["git"] if name not in {"config", "hooks"}]
    hooks = repository / "hooks"
    with suppress(OSError):
        others += [hooks] if hooks.is_symlink() else [hook for hook in hooks.iterdir() if hook.suffix != _SAMPLE]
    return others if is_plain(workspace, repository / "config") else [*others, repository / "config"]


def _rename(workspace: Path, path: Path) -> bool:
    """Without following a link on the way: the command may have put one there."""
    with suppress(OSError), hold(workspace, path.relative_to(workspace).parts[:-1]) as folder:
        if folder.stat(path.name) is None:
            return False
        name, number = path.name + _ASIDE, 1
        while folder.stat(name) is not None:
            name, number = f"{path.name}{_ASIDE}-{number}", number + 1
        folder.replace(path.name, name)
        return True
    return False
