"""Decide whether a program starts other programs from what is typed or opened in its windows.

A terminal holds the controlling side of a pseudo-terminal. Terminals, file managers and development environments name
that purpose in their desktop entries. Run dialogs, menus and finders call functions that start programs, or use
libraries that read the list of installed programs. If the entry names another purpose, the program counts as harmless.
A script is judged by the entry of its file; a Python script without an entry by the functions that it calls, like a
compiled program. Any other interpreter can start programs.
"""

from __future__ import annotations

import ast
import ctypes
import fcntl
import locale
import os
import re
import shutil
import sys
import termios
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from app.base import resources
from app.base.values import dataclass, replace
from app.desktop.backends import App, FrontProgram, TerminalFront, Window
from app.desktop.programs import is_terminal

_PROC = Path("/proc")
_SHELLS = Path("/etc/shells")
_STATE, _GROUP, _SESSION, _TERMINAL, _FRONT = 0, 2, 3, 4, 5
"""Fields behind the name in /proc/PID/stat: the process group, the session, its terminal, the group in front there."""
_ENDED = "Z"
_LOCALES = (b"LC_ALL", b"LC_CTYPE", b"LANG")
_UTF8 = re.compile(rb"(?i)\.utf-?8\b")
_FIRST_PTS = 136
"""The first device number of pseudo-terminals (https://www.kernel.org/doc/html/latest/admin-guide/devices.html)."""
_LOCAL_MODES = 3
"""The place of the flags among what `termios.tcgetattr` returns."""
_MOST_WORDS = 1000  # because each is looked at; a program with more counts as unknown
_PARTS = re.compile(r"[\s=,;:'\"]+")
_OPTION = re.compile(r"--[a-z-]+|-(?!\w*c)\w+")
"""An option of a shell that leaves it interactive: no command, and no file to run. `+m` takes its job control away."""
_PTY_ENDS = frozenset({"/dev/ptmx", "/dev/pts/ptmx"})
_SYSTEM = ("/usr/", "/bin/", "/opt/")
_MOST_PROCESSES = 64
_REMEMBERED = 256
_ELF = b"\x7fELF"
_TICKS_PER_S = 100
"""The unit in which Linux reports start times (USER_HZ), whatever its kernel counts in."""
_MOST_SCRIPT_BYTES = 32 << 10
"""A longer script takes too long to parse, and counts as one that starts programs."""
_READ_BYTES = 8 << 20
"""Enough to contain the symbol tables, which are at the start of a program."""

_STARTS_PROGRAMS = frozenset({"TerminalEmulator", "FileManager"})
_EDITS_PROGRAMS = "IDE"
_BUILDS_PROGRAMS = frozenset({"IDE", "Development", "Debugger"})
_MAY_HOLD_TERMINALS = frozenset({"Development", "TextEditor", "IDE"})
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
_EXEC_OF_QT = re.compile(r"\.exec_?\(\s*\)")
_SCRIPT_CALLS = re.compile(
    r"\b(?:system|popen|Popen|p?spawn\w*|posix_spawn\w*|fork\w*|exec[vl]\w*|startfile|[Ss]ubprocess\w*|startDetached|QProcess|"
    r"\w*[Ll]aunch\w*|AppInfo\w*|openUrl|show_uri\w*|importlib|ctypes|getattr|attrgetter|methodcaller|globals|vars|"
    r"modules|__(?:import|builtins|class|subclasses|dict|doc|globals|getattribute|loader|spec)__)\b|"
    r"(?<!\.)\b(?:exec|eval|compile)\b|\btk\s*\.\s*(?:eval|call)\b|;[ \t]*(?:import|from)\b"
)
"""Calls that may start a program, or hide that one is started. In doubt, a script starts programs."""
_TERMINAL_LIBRARY = re.compile(r"/lib(?:vte|qtermwidget)[-.\w]*\.so")
_DOCUMENT_ROLE = "text"


@dataclass(frozen=True, slots=True)
class _Program:
    """What was found out about a process from its file, libraries and desktop entry.

    `starts`: it may start other programs. `edits`: it is a development environment. `builds`: it is that, or another
    tool for writing programs. `has_purpose`: its entry names a use in which programs start no others, and it held no
    terminal when it was judged. Such a program is not judged again, because a browser has hundreds of open files.
    """

    starts: bool
    edits: bool = False
    builds: bool = False
    has_purpose: bool = False


class Launchers:
    """Judges processes and remembers the result. A process is checked for a terminal again until it holds one.

    A window whose process is unknown, or cannot be read, counts as one that starts programs.
    """

    def __init__(self, installed: Callable[[], Sequence[App]]) -> None:
        self._installed = installed
        self._known: OrderedDict[tuple[int, str], _Program] = OrderedDict()
        self._with_terminal: set[tuple[int, str]] = set()

    def is_launcher(self, window: Window | None, role: str = "") -> bool:
        """Return whether text typed into this window can start programs.

        `role` is that of the focused control: the document of a development environment is not its terminal.
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
        """Return whether keys typed into the window can build or run the code in it."""
        process = _process(window.pid) if window is not None else None
        return process is not None and self._program(process).builds

    def named(self, name: str, role: str = "") -> tuple[bool, bool]:
        """Return whether an installed program starts others, and whether it builds code.

        It is judged by its file and its desktop entry. `role` is that of the focused control.
        """
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
        """Judge a program by its file, its desktop entries (found by `names`), and the libraries that it uses."""
        entries = [app for app in self._installed() if names.intersection(app.words)]
        categories = {category for app in entries for category in app.categories}
        content = _content(file)
        libraries = mapped or content.replace(b"\0", b"/").decode("latin-1")
        edits, builds = _EDITS_PROGRAMS in categories, bool(categories & _BUILDS_PROGRAMS)
        if categories & _STARTS_PROGRAMS or _PROGRAM_LIBRARIES.search(libraries):
            return _Program(starts=True, edits=edits, builds=builds)
        vague = resources.words("desktop/vague_categories.txt")
        has_purpose = any(one not in vague and not one.startswith("X-") for one in categories)
        calls = not content or bool(_CALLS.search(content) or _INTERPRETER.search(libraries))
        is_calm = has_purpose and not categories & _MAY_HOLD_TERMINALS
        return _Program(starts=not has_purpose and calls, edits=edits, builds=builds, has_purpose=is_calm)


def fronts(pid: int) -> tuple[TerminalFront, ...]:
    """Return what may receive keys on each pseudo-terminal of a terminal program and its children; () if too many.

    An editor, a pager, a password prompt or another machine's shell receives each key directly; a shell at its prompt
    receives whole lines.
    """
    family = tuple(_family(pid))
    leaders = [fields for one in family if _leads_terminal(fields := _stat(one), one)]
    return tuple(map(_front, leaders)) if len(family) < _MOST_PROCESSES else ()


def _leads_terminal(fields: Sequence[str], pid: int) -> bool:
    return len(fields) > _FRONT and fields[_SESSION] == str(pid) and fields[_TERMINAL] != "0"


def _front(leader: Sequence[str]) -> TerminalFront:
    members = tuple(_members(leader[_FRONT]))
    is_prompt = len(members) == 1 and leader[_FRONT] == leader[_GROUP] and _is_shell(leader[_SESSION])
    reads_lines, has_unread = _input_of(int(leader[_TERMINAL]))
    is_utf8 = all(map(_is_utf8, {leader[_SESSION], *members}))
    return TerminalFront(tuple(map(_program, members)), is_prompt, reads_lines, has_unread, is_utf8)


def _members(group: str) -> Iterator[str]:
    """Yield the pids of a process group. Programs of a shell without job control are in the shell's group."""
    for name in _entries(str(_PROC)) or ():
        fields = _stat(int(name)) if name.isdecimal() else []
        if fields and fields[_GROUP] == group and fields[_STATE] != _ENDED:
            yield name


def _is_shell(leader: str) -> bool:
    """Return whether the first program on a pseudo-terminal is an interactive shell that reads lines."""
    file = _link(f"{_PROC}/{leader}/exe")
    words = _command_line(leader)
    is_interactive = bool(words) and all(_OPTION.fullmatch(word) for word in words[1:])
    return is_interactive and Path(file).name in resources.words("desktop/line_shells.txt") and file in _shells()


def _is_utf8(pid: str) -> bool:
    """Return whether a program was started with a UTF-8 locale that exists here; otherwise it uses the C locale.

    The first of these variables that is not empty counts: https://man7.org/linux/man-pages/man3/setlocale.3.html
    """
    given = dict(each.partition(b"=")[::2] for each in _read(_PROC / pid / "environ").split(b"\0"))
    name = next(filter(None, map(given.get, _LOCALES)), b"")
    return _UTF8.search(name) is not None and _has_locale(name)


@cache
def _has_locale(name: bytes) -> bool:
    library = ctypes.CDLL(None)
    library.newlocale.restype = ctypes.c_void_p
    return bool(library.newlocale(1 << locale.LC_CTYPE, name, None))


def _input_of(device: int) -> tuple[bool, bool]:
    """Return whether a terminal passes on whole lines, and whether unread keys wait there; False twice if unknown.

    The number holds the device as stat(2) does: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    if sys.platform == "linux":
        place = f"/dev/pts/{os.minor(device) + 256 * (os.major(device) - _FIRST_PTS)}"
        try:
            opened = os.open(place, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:  # because the terminal was closed, or is no pseudo-terminal of this user
            return False, False
        try:
            if os.fstat(opened).st_rdev == device:
                waiting = array("i", [0])
                fcntl.ioctl(opened, termios.FIONREAD, waiting)
                return bool(termios.tcgetattr(opened)[_LOCAL_MODES] & termios.ICANON), waiting[0] > 0
        except (OSError, termios.error):  # because the terminal was closed meanwhile
            return False, False
        finally:
            os.close(opened)
    return False, False


def _program(pid: str) -> FrontProgram:
    file, folder = _link(f"{_PROC}/{pid}/exe"), _link(f"{_PROC}/{pid}/cwd")
    words = _command_line(pid)[1:]
    named = (part for word in words[:_MOST_WORDS] for part in (word, *_PARTS.split(word)) if part)
    files = dict.fromkeys(os.path.normpath(os.path.join(folder, part)) for part in named)
    is_known = file.startswith(_SYSTEM) and len(words) <= _MOST_WORDS and not _runs_script(Path(file).name, words)
    return FrontProgram(Path(file).name if is_known else "", tuple(files))


def _runs_script(name: str, words: Sequence[str]) -> bool:
    """Return whether a shell runs a script or command given to it, whose programs may read single keys."""
    return name in resources.words("desktop/line_shells.txt") and not all(map(_OPTION.fullmatch, words))


def _command_line(pid: str) -> list[str]:
    return _read(_PROC / pid / "cmdline").rstrip(b"\0").decode("utf-8", "replace").split("\0")


def _shells() -> frozenset[str]:
    """Return the paths of the system's shells, with links resolved. Debian lists `tmux` and `screen` among them."""
    listed = _read(_SHELLS).decode("utf-8", "replace").splitlines()
    return frozenset(os.path.realpath(line) for line in listed if line.startswith("/"))


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the process's name; empty if it ended or is hidden."""
    return _read(_PROC / str(pid) / "stat").decode("utf-8", "replace").rpartition(")")[2].split()


def _process(pid: int) -> tuple[int, str] | None:
    """Identify a process by its number and start time, because numbers are reused."""
    fields = _stat(pid)
    # The start time is field 22, which is the twentieth behind the name: https://man.archlinux.org/man/proc_pid_stat.5.en
    return (pid, fields[19]) if len(fields) > 19 else None


def _content(file: Path) -> bytes:
    """Return the first bytes of a program's file; empty if the file is no compiled program."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_READ_BYTES)
    except OSError:  # because the file was removed or belongs to another user
        return b""
    return content if content.startswith(_ELF) else b""


def _script(pid: int) -> frozenset[str]:
    """Return the name of the installed script that a process runs; empty for one that is not installed."""
    script = next((word for word in _command_line(str(pid))[1:] if word and not word.startswith("-")), "")
    is_installed = script.startswith(_SYSTEM) and ".." not in script
    return frozenset({Path(script).name.lower()} if is_installed else ())


def _is_calm_script(pid: int) -> bool:
    """Return whether the process runs one readable Python file whose code starts no programs."""
    try:
        given = (_PROC / str(pid) / "cmdline").read_bytes().decode().split("\0")[1:]
        if not given or given[0].startswith("-"):
            return False
        script = Path(_link(f"{_PROC}/{pid}/cwd")) / given[0]
        # Refuse a file that changed since, because Python runs what it read before.
        if script.stat().st_mtime > _began(pid) or script.stat().st_size > _MOST_SCRIPT_BYTES:
            return False
        text = _code(script.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):  # because it cannot be judged
        return False
    named = {name for found in _IMPORT.finditer(text) for name in _modules(found)}
    # None of these modules starts programs by itself.
    return named <= resources.words("desktop/calm_modules.txt") and not _SCRIPT_CALLS.search(_EXEC_OF_QT.sub("", text))


def _code(script: bytes) -> str:
    """Return the code of a script in plain lines, without comments and docstrings."""
    tree = ast.parse(script)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.unparse(tree)


def _began(pid: int) -> float:
    """Return when a process began, in seconds since 1970."""
    ticks = int((_process(pid) or (0, "0"))[1])
    booted = time.time() - float((_PROC / "uptime").read_text(encoding="ascii").split()[0])
    return booted + ticks / _TICKS_PER_S


def _modules(found: re.Match[str]) -> Iterator[str]:
    """Yield the top-level names of the modules that an import statement loads; "" for a relative import."""
    for name in (found["names"] or found["one"]).split(","):
        yield name.strip().split(" ")[0].split(".")[0]


def _maps(pid: int) -> str:
    """Return the list of files that the process has mapped into memory, as the kernel writes it."""
    return _read(_PROC / str(pid) / "maps").decode("utf-8", "replace")


def _family(pid: int) -> Iterator[int]:
    """Yield the process and its descendants."""
    waiting, seen = [pid], 0
    while waiting and seen < _MOST_PROCESSES:
        one = waiting.pop()
        seen += 1
        yield one
        # Ask every thread, because the kernel lists a child under the thread that started it.
        for thread in _entries(f"{_PROC}/{one}/task") or ():
            waiting.extend(_children(one, thread))


def _children(pid: int, thread: str) -> list[int]:
    try:
        with open(f"{_PROC}/{pid}/task/{thread}/children", encoding="ascii") as listed:
            return [int(child) for child in listed.read().split()]
    except OSError:  # because the thread has ended meanwhile
        return []


def _holds_terminal(pid: int) -> bool:
    """Return whether the process controls a pseudo-terminal."""
    folder = f"{_PROC}/{pid}/fd"
    return any(_link(f"{folder}/{entry}") in _PTY_ENDS for entry in _entries(folder) or ())


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError:  # because the process has ended or belongs to another user, or the system has no such file
        return b""


def _entries(folder: str) -> list[str] | None:
    """List a folder, or return None if this user may not."""
    try:
        return os.listdir(folder)
    except OSError:  # because the process has ended or belongs to another user
        return None


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # because the file was closed or belongs to another user
        return ""
