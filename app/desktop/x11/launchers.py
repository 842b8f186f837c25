"""Whether a program starts other programs from what is typed or opened in its windows, by what it is and has.

Terminals hold the controlling side of a pseudo-terminal. Terminals, file managers and development environments say so
in their desktop entries. Run dialogs, menus and finders call the functions that start programs, or use the libraries
that read the list of installed programs; a program whose entry names another purpose is what the entry says.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.desktop.backends import App, Window
from app.desktop.programs import is_terminal

_PROC = Path("/proc")
_PTY_ENDS = frozenset({"/dev/ptmx", "/dev/pts/ptmx"})
_MOST_PROCESSES = 64
_REMEMBERED = 256
_ELF = b"\x7fELF"
_READ_BYTES = 8 << 20
"""The tables of symbols stand at the start of a program."""

_STARTS_PROGRAMS = frozenset({"TerminalEmulator", "FileManager"})
_EDITS_PROGRAMS = "IDE"
_MAY_HOLD_TERMINALS = frozenset({"Development", "TextEditor", "IDE"})
_SAY_LITTLE = frozenset(
    {"System", "Utility", "Core", "FileTools", "Filesystem", "GTK", "Qt", "KDE", "GNOME", "XFCE", "LXDE", "LXQt",
     "MATE", "Java", "TrayIcon", "Applet", "Shell", "ConsoleOnly"}
)  # fmt: skip
"""Categories that do not say what a program is for."""
_CALLS = re.compile(
    rb"\0(?:exec[vl]p?e?|posix_spawnp?|system|popen|g_spawn_async(?:_with_\w+)?|g_spawn_command_line_async_with_\w+|"
    rb"g_app_info_launch|g_app_info_create_from_commandline|g_desktop_app_info_launch\w*|g_subprocess_newv?|"
    rb"_ZN8QProcess(?:5start|13startDetached)\w*)\0"
)
_PROGRAM_LIBRARIES = re.compile(
    r"/lib(?:garcon|menu-cache|gnome-menu|fm-(?:gtk|qt)|thunarx|caja-extension|nautilus-extension|nemo-extension|"
    r"dolphinprivate|peony)[-.\w]*\.so"
)
_TERMINAL_LIBRARY = re.compile(r"/lib(?:vte|qtermwidget)[-.\w]*\.so")
_DOCUMENT_ROLE = "text"


@dataclass(frozen=True, slots=True)
class _Program:
    """What a process's file, libraries and desktop entry say. `edits` is a development environment; `has_purpose`: the
    entry names a use in which nothing is started, and it holds no terminal (a browser has hundreds of open files, so
    that is asked once).
    """

    starts: bool
    edits: bool = False
    has_purpose: bool = False


class Launchers:
    """Remembers what it has found of each process; whether it holds a terminal is asked each time until it does.

    A window whose process is not known, or closed to us, may be anything: it counts as one that starts programs.
    """

    def __init__(self, installed: Callable[[], Sequence[App]]) -> None:
        self._installed = installed
        self._known: OrderedDict[tuple[int, str], _Program] = OrderedDict()
        self._with_terminal: set[tuple[int, str]] = set()

    def is_launcher(self, window: Window | None, role: str = "") -> bool:
        """Whether typed words can start programs in this window. `role` is that of the control that has the keyboard:
        the document of a development environment is not its terminal.
        """
        if window is None:
            return False
        if window.takes_keys or is_terminal(window.app):
            return True
        process = _process(window.pid)
        if process is None:
            return True
        program = self._program(process)
        has_terminal = process in self._with_terminal
        if not has_terminal and not program.has_purpose:
            has_terminal = any(map(_holds_terminal, _family(window.pid)))
        if has_terminal:
            self._with_terminal.add(process)
        if program.starts:
            return True
        if role == _DOCUMENT_ROLE and (not has_terminal or _uses(window.pid, _TERMINAL_LIBRARY)):
            return False
        return has_terminal or program.edits

    def _program(self, process: tuple[int, str]) -> _Program:
        known = self._known.get(process)
        if known is None:
            known = self._known[process] = self._judged(process[0])
            while len(self._known) > _REMEMBERED:
                self._with_terminal.discard(self._known.popitem(last=False)[0])
        return known

    def _judged(self, pid: int) -> _Program:
        file = Path(_link(f"{_PROC}/{pid}/exe"))
        if not file.name or _entries(f"{_PROC}/{pid}/fd") is None:
            # It cannot be read, because it runs with another user's or group's rights (as xterm on Debian).
            return _Program(starts=True)
        entries = [app for app in self._installed() if file.name.lower() in app.words]
        categories = {category for app in entries for category in app.categories}
        edits = _EDITS_PROGRAMS in categories
        if categories & _STARTS_PROGRAMS or _uses(pid, _PROGRAM_LIBRARIES):
            return _Program(starts=True, edits=edits)
        has_purpose = any(one not in _SAY_LITTLE and not one.startswith("X-") for one in categories)
        is_calm = has_purpose and not categories & _MAY_HOLD_TERMINALS and not _holds_terminal(pid)
        return _Program(starts=not has_purpose and _calls(pid), edits=edits, has_purpose=is_calm)


def _process(pid: int) -> tuple[int, str] | None:
    """A process by its number and the time of its start, because numbers come again."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace") if pid else ""
    except OSError:  # because the process has ended, or the system hides it
        return None
    fields = stat.rpartition(")")[2].split()
    return (pid, fields[19]) if len(fields) > 19 else None


def _calls(pid: int) -> bool:
    """Whether the program itself, not one of its libraries, calls what starts programs."""
    try:
        with (_PROC / str(pid) / "exe").open("rb") as file:
            program = file.read(_READ_BYTES)
    except OSError:  # because the process has ended or belongs to another user
        return False
    return program.startswith(_ELF) and _CALLS.search(program) is not None


def _uses(pid: int, library: re.Pattern[str]) -> bool:
    try:
        return library.search((_PROC / str(pid) / "maps").read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:  # because the process has ended or belongs to another user
        return False


def _family(pid: int) -> Iterator[int]:
    """The process and those that it started."""
    waiting, seen = [pid], 0
    while waiting and seen < _MOST_PROCESSES:
        one = waiting.pop()
        seen += 1
        yield one
        for thread in _entries(f"{_PROC}/{one}/task") or ():
            waiting.extend(_children(one, thread))


def _children(pid: int, thread: str) -> list[int]:
    try:
        with open(f"{_PROC}/{pid}/task/{thread}/children", encoding="ascii") as listed:
            return [int(child) for child in listed.read().split()]
    except OSError:  # because the thread has ended meanwhile
        return []


def _holds_terminal(pid: int) -> bool:
    """Whether the process controls a pseudo-terminal."""
    folder = f"{_PROC}/{pid}/fd"
    return any(_link(f"{folder}/{entry}") in _PTY_ENDS for entry in _entries(folder) or ())


def _entries(folder: str) -> list[str] | None:
    """None where this user may not look."""
    try:
        return os.listdir(folder)
    except OSError:  # because the process has ended or belongs to another user
        return None


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # because the file was closed or belongs to another user
        return ""
