"""Tell which program a window belongs to: by its process, then by its window class, never by its title.

Programs choose their titles and classes themselves, so the process decides where it is known. A desktop entry
(freedesktop.org) gives the program its name and its categories.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from app.base.values import dataclass
from app.desktop.backends import App, Owner

_PROC = Path("/proc")
_INTERPRETER = re.compile(r"(?:python[\d.]*|perl[\d.]*|ruby[\d.]*|node|gjs|bash|sh|dash|java|electron[\d.]*)")
_PTY_ENDS = frozenset({"/dev/ptmx", "/dev/pts/ptmx"})
_MOST_PROCESSES = 64
_REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class _Process:
    """A process: its number and start time, because numbers are reused, and the names of its file and script."""

    pid: int
    began: str
    names: tuple[str, ...]


class Owners:
    """Finds the owners of windows. `described` returns the programs with a desktop entry."""

    def __init__(self, described: Callable[[], Sequence[App]]) -> None:
        self._described = described
        self._apps: Sequence[App] = ()
        self._by_label: dict[str, App] = {}
        self._with_terminal: set[tuple[int, str]] = set()

    def of(self, pid: int, window_class: str) -> Owner:
        """The program of a process that shows windows of this class. `pid` is 0 if unknown."""
        process = _process(pid)
        labels = tuple(dict.fromkeys(name for name in (*process.names, window_class.lower()) if name))
        self._read_entries()
        app = next((self._by_label[label] for label in labels if label in self._by_label), None)
        holds = self._holds_terminal(process)
        if app is None:
            name = window_class or next(iter(labels), "")
            return Owner(next(iter(labels), ""), name, tuple(filter(None, {name.lower(), *labels})), (), labels, holds)
        entry = Path(app.ref).name.removesuffix(".desktop")
        names = tuple(dict.fromkeys((*app.names, *labels)))
        return Owner(entry, app.name, names, app.categories, (entry.lower(), *labels), holds, app.icon)

    def _read_entries(self) -> None:
        apps = self._described()
        if apps is not self._apps:
            self._apps = apps
            # The first entry wins, as in menus: those in the person's own folder come first.
            self._by_label = {label: app for app in reversed(apps) for label in app.labels}

    def _holds_terminal(self, process: _Process) -> bool:
        """True if the program controls a pseudo-terminal, or once did."""
        key = (process.pid, process.began)
        if process.pid and key not in self._with_terminal and any(map(_has_terminal, _family(process.pid))):
            if len(self._with_terminal) > _REMEMBERED:
                self._with_terminal.clear()
            self._with_terminal.add(key)
        return key in self._with_terminal


def _process(pid: int) -> _Process:
    if not pid:
        return _Process(0, "", ())
    file = Path(_link(f"{_PROC}/{pid}/exe").removesuffix(" (deleted)")).name.lower()
    if _INTERPRETER.fullmatch(file):
        words = _read(_PROC / str(pid) / "cmdline").decode("utf-8", "replace").split("\0")[1:]
        script = next((word for word in words if word and not word.startswith("-")), "")
        file = Path(script).name.lower() or file
    # A program with another group's rights, such as xterm on Debian, hides its file, but not its name.
    name = file or _read(_PROC / str(pid) / "comm").decode("utf-8", "replace").strip().lower()
    fields = _read(_PROC / str(pid) / "stat").decode("utf-8", "replace").rpartition(")")[2].split()
    # The start time is field 22, which is the twentieth behind the name:
    # https://man.archlinux.org/man/proc_pid_stat.5.en
    return _Process(pid, fields[19] if len(fields) > 19 else "", (name,) if name else ())


def _family(pid: int) -> Iterator[int]:
    """Yield the process and its descendants."""
    waiting, seen = [pid], 0
    while waiting and seen < _MOST_PROCESSES:
        one = waiting.pop()
        seen += 1
        yield one
        # Ask every thread, because the kernel lists a child under the thread that started it.
        for thread in _entries(f"{_PROC}/{one}/task"):
            children = _read(_PROC / str(one) / "task" / thread / "children").decode("ascii", "replace")
            waiting.extend(int(child) for child in children.split())


def _has_terminal(pid: int) -> bool:
    folder = f"{_PROC}/{pid}/fd"
    return any(_link(f"{folder}/{entry}") in _PTY_ENDS for entry in _entries(folder))


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError:  # because the process has ended or belongs to another user
        return b""


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # because the process has ended or belongs to another user
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # because the file was closed or belongs to another user
        return ""
