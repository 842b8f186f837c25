"""Whether a program starts other programs from what is typed or opened in its windows, by what it is and has.

Terminals hold the controlling side of a pseudo-terminal. Terminals, file managers and development environments say so
in their desktop entries. Run dialogs, menus and finders call the functions that start programs, or use the libraries
that read the list of installed programs; a program whose entry names another purpose is what the entry says. A script
is what the entry of its file says; one in Python without an entry is judged like a compiled program, by what its text
calls. Any other interpreter can start programs.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from app.base.values import dataclass, replace
from app.desktop.backends import App, Window
from app.desktop.programs import is_terminal

_PROC = Path("/proc")
_PTY_ENDS = frozenset({"/dev/ptmx", "/dev/pts/ptmx"})
_SYSTEM = ("/usr/", "/bin/", "/opt/")
_MOST_PROCESSES = 64
_REMEMBERED = 256
_ELF = b"\x7fELF"
_TICKS_PER_S = 100
"""In which Linux tells the time of a start, whatever its kernel counts in (USER_HZ)."""
_MOST_SCRIPT_BYTES = 256 << 10
_READ_BYTES = 8 << 20
"""The tables of symbols stand at the start of a program."""

_STARTS_PROGRAMS = frozenset({"TerminalEmulator", "FileManager"})
_EDITS_PROGRAMS = "IDE"
_BUILDS_PROGRAMS = frozenset({"IDE", "Development", "Debugger"})
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
_INTERPRETER = re.compile(r"/lib(?:tcl|python|perl|ruby|gjs|mozjs|node|guile|jvm|php)[-.\w]*\.so")
_PYTHON = re.compile(r"python[\d.]*")
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+(?P<names>[^\n#;]+)|from[ \t]+(?P<one>\.*[\w.]*)[ \t]+import\b)", re.MULTILINE
)
_CALM_MODULES = frozenset(
    {"__future__", "argparse", "array", "bisect", "cairo", "calendar", "collections", "colorsys", "contextlib", "copy",
     "csv", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "gettext", "gi", "hashlib", "heapq",
     "html", "itertools", "json", "locale", "math", "numbers", "operator", "PyQt5", "PyQt6", "PySide2", "PySide6",
     "random", "re", "secrets", "signal", "statistics", "string", "struct", "sys", "textwrap", "time", "tkinter",
     "typing",
     "unicodedata", "uuid", "warnings", "wx", "zoneinfo"}
)  # fmt: skip
"""What a script that draws windows and counts imports: nothing that starts programs by itself."""
_EXEC_OF_QT = re.compile(r"\.exec_?\(\s*\)")
_SCRIPT_CALLS = re.compile(
    r"\b(?:system|popen|Popen|p?spawn\w*|posix_spawn\w*|fork\w*|exec[vl]\w*|startfile|[Ss]ubprocess\w*|startDetached|QProcess|"
    r"\w*[Ll]aunch\w*|AppInfo\w*|openUrl|show_uri\w*|importlib|ctypes|getattr|globals|vars|modules|"
    r"__(?:import|builtins|class|subclasses|dict|globals|getattribute|loader|spec)__)\b|"
    r"(?<!\.)\b(?:exec|eval|compile)\b|\btk\s*\.\s*(?:eval|call)\b|;[ \t]*(?:import|from)\b"
)
"""Whatever may start a program, or hide that something does. In doubt a script is one that starts programs."""
_TERMINAL_LIBRARY = re.compile(r"/lib(?:vte|qtermwidget)[-.\w]*\.so")
_DOCUMENT_ROLE = "text"


@dataclass(frozen=True, slots=True)
class _Program:
    """What a process's file, libraries and desktop entry say. `edits` is a development environment; `builds`: it is
    one, or another tool of those who write programs; `has_purpose`: the entry names a use in which nothing is started,
    and it holds no terminal (a browser has hundreds of open files, so that is asked once).
    """

    starts: bool
    edits: bool = False
    builds: bool = False
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
        if role == _DOCUMENT_ROLE and (not has_terminal or _TERMINAL_LIBRARY.search(_maps(window.pid))):
            return False
        return has_terminal or program.edits

    def builds(self, window: Window | None) -> bool:
        """Whether keys of the window can build or run what is written in it."""
        process = _process(window.pid) if window is not None else None
        return process is not None and self._program(process).builds

    def named(self, name: str, role: str = "") -> tuple[bool, bool]:
        """Whether an installed program starts others, and whether it builds them, as far as its file and entry say."""
        file = shutil.which(name) or shutil.which(name.lower())
        if is_terminal(name) or file is None:
            return is_terminal(name), False
        program = self._told(Path(file).resolve(), {name.lower()})
        return program.starts or (program.edits and role != _DOCUMENT_ROLE), program.builds

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
        told = self._told(_PROC / str(pid) / "exe", {file.name.lower(), *_script(pid)}, _maps(pid))
        if told.starts and _PYTHON.fullmatch(file.name) and _is_calm_script(pid):
            told = replace(told, starts=False)
        return replace(told, has_purpose=told.has_purpose and not _holds_terminal(pid))

    def _told(self, file: Path, names: set[str], mapped: str = "") -> _Program:
        """What the file of a program, its entries under these names, and the libraries that it uses say."""
        entries = [app for app in self._installed() if names.intersection(app.words)]
        categories = {category for app in entries for category in app.categories}
        content = _content(file)
        libraries = mapped or content.replace(b"\0", b"/").decode("latin-1")
        edits, builds = _EDITS_PROGRAMS in categories, bool(categories & _BUILDS_PROGRAMS)
        if categories & _STARTS_PROGRAMS or _PROGRAM_LIBRARIES.search(libraries):
            return _Program(starts=True, edits=edits, builds=builds)
        has_purpose = any(one not in _SAY_LITTLE and not one.startswith("X-") for one in categories)
        calls = not content or bool(_CALLS.search(content) or _INTERPRETER.search(libraries))
        is_calm = has_purpose and not categories & _MAY_HOLD_TERMINALS
        return _Program(starts=not has_purpose and calls, edits=edits, builds=builds, has_purpose=is_calm)


def _process(pid: int) -> tuple[int, str] | None:
    """A process by its number and the time of its start, because numbers come again."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace") if pid else ""
    except OSError:  # because the process has ended, or the system hides it
        return None
    fields = stat.rpartition(")")[2].split()
    return (pid, fields[19]) if len(fields) > 19 else None


def _content(file: Path) -> bytes:
    """The start of a program's file; nothing of what is no program."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_READ_BYTES)
    except OSError:  # because the file was removed or belongs to another user
        return b""
    return content if content.startswith(_ELF) else b""


def _script(pid: int) -> frozenset[str]:
    """The name of the installed script that the process interprets; a file elsewhere may have any name."""
    try:
        given = (_PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[1:]
    except OSError:  # because the process has ended or belongs to another user
        return frozenset()
    script = next((word for word in given if word and not word.startswith("-")), "")
    is_installed = script.startswith(_SYSTEM) and ".." not in script
    return frozenset({Path(script).name.lower()} if is_installed else ())


def _is_calm_script(pid: int) -> bool:
    """Whether a process interprets one readable Python file that starts no programs and loads nothing that may."""
    try:
        given = (_PROC / str(pid) / "cmdline").read_bytes().decode().split("\0")[1:]
        if not given or given[0].startswith("-"):
            return False
        script = Path(_link(f"{_PROC}/{pid}/cwd")) / given[0]
        if script.stat().st_mtime > _began(pid) or script.stat().st_size > _MOST_SCRIPT_BYTES:
            return False
        text = script.read_text(encoding="utf-8")
    except (OSError, ValueError):  # because what cannot be read may start anything
        return False
    named = {name for found in _IMPORT.finditer(text) for name in _modules(found)}
    return named <= _CALM_MODULES and not _SCRIPT_CALLS.search(_EXEC_OF_QT.sub("", text))


def _began(pid: int) -> float:
    """When a process began, in seconds since 1970."""
    ticks = int((_process(pid) or (0, "0"))[1])
    booted = time.time() - float((_PROC / "uptime").read_text(encoding="ascii").split()[0])
    return booted + ticks / _TICKS_PER_S


def _modules(found: re.Match[str]) -> Iterator[str]:
    """The outermost names of the modules that an import loads; empty for one from beside the script."""
    for name in (found["names"] or found["one"]).split(","):
        yield name.strip().split(" ")[0].split(".")[0]


def _maps(pid: int) -> str:
    """The files that the process has mapped."""
    try:
        return (_PROC / str(pid) / "maps").read_text(encoding="utf-8", errors="replace")
    except OSError:  # because the process has ended or belongs to another user
        return ""


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
