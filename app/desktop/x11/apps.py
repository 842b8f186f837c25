"""Programs that have desktop entries (freedesktop.org). Each is started in a session of its own."""

from __future__ import annotations

import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import Path
from typing import IO, TYPE_CHECKING

from app.base import resources
from app.base.clipping import clip_line
from app.base.desktop_entries import SURFACE_CLASS
from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.backends import App, Launched, Owner
from app.desktop.x11.owners import Owners
from app.settings.providers import key_variables

if TYPE_CHECKING:
    from xdg.DesktopEntry import DesktopEntry

_WORDS = {"QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "QT_ACCESSIBILITY": "1", "ACCESSIBILITY_ENABLED": "1"}
_SILENCING = frozenset({"NO_AT_BRIDGE"})
_FLAG = "--force-renderer-accessibility"  # because Chromium describes its pages only after it has seen a screen reader
_GTK_2_BRIDGE = "gail:atk-bridge"  # GTK 2 needs a module for it, because its own core has no accessibility bus.


def describing(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which programs describe their content to assistive technology."""
    told = {name: value for name, value in environment.items() if name not in _SILENCING}
    modules = told.get("GTK_MODULES", "")
    if "atk-bridge" not in modules and any(Path("/usr/lib").glob("*/gtk-2.0/modules/libatk-bridge.so")):
        told["GTK_MODULES"] = f"{modules}:{_GTK_2_BRIDGE}" if modules else _GTK_2_BRIDGE
    return told | _WORDS


def with_flags(command: list[str]) -> list[str]:
    """The accessibility flag is added for programs based on Chromium."""
    return [command[0], _FLAG, *command[1:]] if needs_flags(command) and _FLAG not in command else command


def needs_flags(command: list[str]) -> bool:
    """True for a program based on Chromium."""
    return bool(command) and Path(command[0]).name in _of_chromiums_kind()


def _of_chromiums_kind() -> frozenset[str]:
    return resources.words("desktop/chromium.txt")


_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}")
_TOOLKITS = (
    b"libgtk-", b"libgtkmm", b"libQt", b"libKF", b"libXt.so", b"libXaw", b"libXm.so", b"libSDL", b"libfltk", b"libwx_",
    b"libtk8", b"libelementary",
)  # fmt: skip
_ELF = b"\x7fELF"
_LARGEST_BYTES = 64 << 20  # because the whole file is searched for toolkit names


def windowed_program(name: str, search_path: str | None) -> Path | None:
    """Return the real path of the program with that name if its file uses a library for windows; else None.

    None also for a set-id, world-writable or very large file.
    """
    if not _NAME.fullmatch(name):
        return None
    found = shutil.which(name, path=search_path)
    if found is None or not Path(found).is_absolute():
        return None
    path = Path(found).resolve()
    try:
        told = path.stat()
        # Refuse set-id and world-writable files, because another user may decide what they do.
        is_plain = not told.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH) and told.st_size <= _LARGEST_BYTES
        return path if is_plain and _has_toolkit(path.read_bytes()) else None
    except OSError:  # because the launcher may name a program that is gone
        return None


def _has_toolkit(program: bytes) -> bool:
    return program.startswith(_ELF) and any(toolkit in program for toolkit in _TOOLKITS)


_FIELD_CODES = ("%f", "%F", "%u", "%U")
_LAST_WORDS_CHARS = 300
_ASKING_LIMIT_S = 2.0
_COMMAND = "command:"
_VIEWER = "Viewer"
_TERMINALS = ("x-terminal-emulator", "xterm", "gnome-terminal", "konsole", "xfce4-terminal")


class DesktopEntries:
    """Starts programs from desktop entries. They keep running when Wisp ends.

    They get `environment` without Wisp's secrets, and with the variables that enable accessibility.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = describing(
            {name: value for name, value in environment.items() if name not in key_variables()}
        )
        self._running: dict[int, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        self._known: tuple[App, ...] = ()
        self._stamp: tuple[tuple[str, float], ...] = ()
        self._owners = Owners(self.described)

    def installed(self) -> tuple[App, ...]:
        return tuple(app for app in self.described() if app.is_listed)

    def described(self) -> tuple[App, ...]:
        """Return all programs that have a desktop entry, including those that menus hide."""
        stamp = tuple((str(folder), folder.stat().st_mtime) for folder in self._folders())
        if stamp != self._stamp or not self._known:
            found: dict[str, App] = {}
            for folder in self._folders():
                for path in sorted(folder.rglob("*.desktop")):
                    app = _read(path)
                    if app and path.name not in found:
                        found[path.name] = app
            self._known, self._stamp = tuple(found.values()), stamp
        return self._known

    def _folders(self) -> list[Path]:
        home = self._environment.get("XDG_DATA_HOME") or f"{self._environment.get('HOME', '')}/.local/share"
        shared = self._environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        folders = (Path(base) / "applications" for base in (home, *shared.split(":")) if base)
        return [folder for folder in folders if folder.is_dir()]

    def preferred(self, asked: str) -> tuple[str, ...]:
        if "/" in asked:
            return defaults_in(self._environment, asked)
        found = shutil.which(asked, path=self._environment.get("PATH"))
        return (Path(found).resolve().name.removesuffix(".wrapper"),) if found else ()

    def command(self, name: str) -> App | None:
        path = windowed_program(name, self._environment.get("PATH"))
        return App(f"{_COMMAND}{path}", name, is_offered=False) if path else None

    def owner(self, pid: int, window_class: str) -> Owner:
        return self._owners.of(pid, window_class)

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self._start(app.name, with_flags(self._words(app, arguments)))

    def command_line(self, app: App) -> tuple[str, ...]:
        words = self._words(app, ())
        found = shutil.which(words[0], path=self._environment.get("PATH")) if words else None
        return (found or words[0], *words[1:]) if words else ()

    def _words(self, app: App, arguments: Sequence[str]) -> list[str]:
        bare = app.ref.removeprefix(_COMMAND)
        return [bare, *arguments] if bare != app.ref else list(self._command(app, arguments))

    def _command(self, app: App, arguments: Sequence[str]) -> Iterator[str]:
        from xdg.DesktopEntry import DesktopEntry

        entry = DesktopEntry(app.ref)
        if entry.getTerminal():
            terminal = next((name for name in _TERMINALS if shutil.which(name)), None)
            if terminal is None:
                raise NeedsPerson(f"{app.name} runs in a terminal and none is installed. Install one, such as xterm.")
            yield from (terminal, "-e")
        taken = False
        # Replace the field codes, because programs would take them for file names:
        # https://specifications.freedesktop.org/desktop-entry-spec/desktop-entry-spec-latest.html#exec-variables
        for part in shlex.split(entry.getExec()):
            if part in _FIELD_CODES:
                yield from arguments
                taken = True
            elif part == "%c":
                yield app.name
            elif not (len(part) == 2 and part.startswith("%")):
                yield part.replace("%%", "%")
        if not taken:
            yield from arguments

    def open(self, address: str) -> Launched:
        if address.startswith("/") and not Path(address).exists():
            raise ToolFailed(f"There is no file {address}.")
        opener = shutil.which("xdg-open")
        if opener is None:
            raise NeedsPerson("Opening files and links needs xdg-utils. Install it: sudo apt-get install xdg-utils")
        browser = self._browser_to_tell() if address.startswith(("http://", "https://")) else None
        return self.launch(browser, [address]) if browser else self._start(address, [opener, address])

    def _browser_to_tell(self) -> App | None:
        """None unless accessibility must be enabled by a flag at the default browser's start."""
        asked = ["xdg-mime", "query", "default", "x-scheme-handler/https"]
        try:
            told = subprocess.run(
                asked, env=self._environment, capture_output=True, text=True, timeout=_ASKING_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):  # because xdg-open finds the default browser itself
            return None
        found = next((app for app in self.installed() if Path(app.ref).name == told.stdout.strip()), None)
        return found if found and needs_flags(list(self._command(found, ()))) else None

    def _start(self, name: str, command: list[str]) -> Launched:
        said = tempfile.TemporaryFile()  # noqa: SIM115 - read after the program ended
        try:
            process = subprocess.Popen(
                command,
                env=self._environment,
                cwd=self._environment.get("HOME") or None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,  # so that the program outlives Wisp and its terminal
            )
        except OSError as error:
            said.close()
            raise ToolFailed(f"{name} could not be started: {error.strerror or error}.") from None
        self._running[process.pid] = (process, said)
        return Launched(process.pid, name)

    def how_it_ended(self, launched: Launched) -> str | None:
        process, said = self._running[launched.pid]
        if process.poll() is None:
            return None
        said.seek(0)
        words = clip_line(said.read().decode("utf-8", "replace"), _LAST_WORDS_CHARS)
        return f"exit code {process.returncode}. {words}" if process.returncode else ""

    def close(self) -> None:
        """Close the log files. The programs keep running."""
        for process, said in self._running.values():
            said.close()
            process.poll()
            # Claim an exit code, because Popen warns about a child that still runs when it is deleted.
            process.returncode = process.returncode if process.returncode is not None else 0
        self._running.clear()


def _read(path: Path) -> App | None:
    """Read a desktop entry. None if it is broken, hidden, or no program.

    What Wisp made is no program: it must not pass for one of the same name.
    """
    from xdg.DesktopEntry import DesktopEntry
    from xdg.Exceptions import Error

    try:
        entry = DesktopEntry(str(path))
    except (Error, OSError, UnicodeDecodeError):  # so that one broken entry does not hide the others
        return None
    program = entry.getExec()
    is_own = entry.getStartupWMClass() == SURFACE_CLASS
    if entry.getType() != "Application" or entry.getHidden() or not program or is_own:
        return None
    is_listed = not entry.getNoDisplay()
    if not is_listed and _VIEWER not in entry.getCategories():
        return None
    if entry.getTryExec() and not shutil.which(entry.getTryExec()):
        return None
    executable = Path(program.split()[0].strip('"')).name
    words = (entry.getGenericName(), *entry.getKeywords(), executable)
    options = tuple(word for word in program.split()[1:] if word.startswith("-"))
    labels = (path.name.removesuffix(".desktop"), entry.getStartupWMClass(), "" if options else executable)
    return App(
        str(path),
        entry.getName(),
        _lower(words),
        tuple(entry.getCategories()),
        is_offered=not entry.getTerminal() and path.stem not in _unoffered(),
        options=options,
        is_listed=is_listed,
        names=_lower((*_names_in(entry), executable)),
        labels=_lower(labels),
        icon=entry.getIcon(),
    )


def _names_in(entry: DesktopEntry) -> Iterator[str]:
    """Yield the program's names and what kind of program it is, in English and in the person's language."""
    yield from (entry.getName(), entry.getGenericName())
    group = entry.content.get("Desktop Entry", {})
    yield from (group.get(name, "") for name in ("Name", "GenericName"))


def _lower(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.lower() for word in words if word))


def defaults_in(environment: Mapping[str, str], kind: str) -> tuple[str, ...]:
    """Return the default programs for a file type or URL scheme, the person's own choice first."""
    home, desktops = environment.get("HOME", ""), environment.get("XDG_CURRENT_DESKTOP", "").lower().split(":")
    folders = [environment.get("XDG_CONFIG_HOME") or f"{home}/.config"]
    folders += (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    data = [environment.get("XDG_DATA_HOME") or f"{home}/.local/share"]
    data += (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    folders += [f"{folder}/applications" for folder in data]
    # The order of the files decides: https://specifications.freedesktop.org/mime-apps-spec/mime-apps-spec-1.0.html
    names = (*(f"{desktop}-mimeapps.list" for desktop in desktops if desktop), "mimeapps.list")
    found = (entry for folder in folders if folder for name in names for entry in _named(Path(folder, name), kind))
    return tuple(dict.fromkeys(found))


def _named(listed: Path, kind: str) -> tuple[str, ...]:
    """In the order of the file `listed`."""
    table = ConfigParser(strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    try:
        table.read_string(listed.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ConfigParserError):  # because there is none, or it is broken
        return ()
    told = table.get("Default Applications", kind, fallback="")
    return tuple(entry.strip() for entry in told.split(";") if entry.strip())


def _unoffered() -> frozenset[str]:
    """Programs that are never suggested, because they have no window."""
    return resources.words("desktop/unoffered.txt")
