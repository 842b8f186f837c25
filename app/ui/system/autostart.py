"""Start Wisp with the session through the system's autostart entry. Also the welcome, which shows at the first
start."""

from __future__ import annotations

import itertools
import os
import plistlib
import shutil
import sys
from pathlib import Path
from typing import Protocol

from app.base import paths, resources
from app.base.desktop_entries import exec_line, own_command
from app.base.values import dataclass

_NAME = "wisp"
_LABEL = "local.wisp"
_RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"


class AutostartEntry(Protocol):
    """The system's autostart entry for Wisp. Its methods raise OSError if the system refuses."""

    def is_there(self) -> bool: ...

    def write(self) -> None: ...

    def remove(self) -> None: ...


class DesktopFile:
    """The autostart entry of Linux desktops: a file in the XDG format (freedesktop.org's Autostart and Desktop Entry
    specifications)."""

    def __init__(self, command: list[str]) -> None:
        config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        self.path = config / "autostart" / f"{_NAME}.desktop"
        self._command = command

    def is_there(self) -> bool:
        return self.path.is_file()

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            "[Desktop Entry]",
            "Type=Application",
            "Name=Wisp",
            f"Exec={exec_line(self._command)}",
            "Terminal=false",
        ]
        self.path.write_text("\n".join([*lines, "X-GNOME-Autostart-enabled=true", ""]), encoding="utf-8")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class LaunchAgent:
    """The autostart entry of macOS: a property list that launchd reads at the next login."""

    def __init__(self, command: list[str], folder: Path | None = None) -> None:
        self.path = (folder or Path.home() / "Library" / "LaunchAgents") / f"{_LABEL}.plist"
        self._command = command

    def is_there(self) -> bool:
        return self.path.is_file()

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        agent = {"Label": _LABEL, "ProgramArguments": self._command, "RunAtLoad": True, "ProcessType": "Interactive"}
        self.path.write_bytes(plistlib.dumps(agent))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def switched(*, on: bool) -> str:
    """Write the autostart entry, or remove it if not `on`. Returns the system's error as a text, "" if it worked."""
    try:
        entry().write() if on else entry().remove()
    except OSError as error:
        return f"{error.strerror}: {error.filename}"
    return ""


if sys.platform == "win32":
    import subprocess
    import winreg

    class RunKey:
        """Windows: a value in the person's Run key of the registry."""

        def __init__(self, command: list[str]) -> None:
            self._line = subprocess.list2cmdline(command)

        def is_there(self) -> bool:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
                try:
                    winreg.QueryValueEx(key, _NAME)
                except FileNotFoundError:
                    return False
            return True

        def write(self) -> None:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
                winreg.SetValueEx(key, _NAME, 0, winreg.REG_SZ, self._line)

        def remove(self) -> None:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
                try:
                    winreg.DeleteValue(key, _NAME)
                except FileNotFoundError:
                    return

    def entry() -> AutostartEntry:
        """Return the system's autostart entry that starts this Wisp."""
        return RunKey(own_command())

elif sys.platform == "darwin":

    def entry() -> AutostartEntry:
        """Return the system's autostart entry that starts this Wisp."""
        return LaunchAgent(own_command())

else:

    def entry() -> AutostartEntry:
        """Return the system's autostart entry that starts this Wisp."""
        return DesktopFile(own_command())


def is_due() -> bool:
    """Return whether the welcome has never been shown on this machine."""
    return not _mark().exists()


def note_done() -> None:
    """Record that the welcome was shown, so that it does not come again by itself. Raises OSError."""
    _mark().touch()


@dataclass(frozen=True, slots=True)
class Wish:
    """A suggested first task (`text`) with its button's `label`, and the task that undoes it. `needs`: one of these
    programs."""

    text: str
    label: str
    undo: str = ""
    undo_label: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to say after the first task. `needs`: one of these programs."""

    text: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Welcome:
    """The content of `resources/welcome.toml`."""

    sentence: str
    again: str
    who: str
    found: str
    answering: str
    who_label: str
    wish: tuple[Wish, ...]
    offer: tuple[Proposal, ...]


def welcome() -> tuple[Welcome, Wish]:
    """Return Wisp's introduction, and the first suggested task that can work on this machine."""
    found = resources.table("welcome.toml", Welcome)
    return found, next(wish for wish in found.wish if _is_possible(wish.needs))


def proposals(done: str) -> tuple[str, ...]:
    """Return what the person may say after the task `done`: the first three that can work on this machine."""
    known = resources.table("welcome.toml", Welcome).offer
    fits = (one.text for one in known if _is_possible(one.needs) and one.text.casefold() != done.casefold())
    return tuple(itertools.islice(fits, _MOST_PROPOSED))


def _is_possible(programs: tuple[str, ...]) -> bool:
    if sys.platform == "darwin" and programs:
        return True  # because macOS always has a calculator
    return not programs or any(shutil.which(program) for program in programs)


_MOST_PROPOSED = 3


def _mark() -> Path:
    return paths.config_dir() / "welcomed"
