"""A desktop apart from the person's: what the kinds of it share (`x11/virtual.py`, `wayland/virtual.py`).

Each has a folder for its sockets and a session bus of its own. All its processes end with it, even if this process is
killed: the kernel then kills each child, and a process that waits for that ends all others and deletes the folder.
"""

# mypy: no-warn-unreachable

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Self

from app.base.errors import NeedsPerson
from app.base.startup import worker_command

LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
START_LIMIT_S = 20.0
_LOOK_AGAIN_S = 0.02
_PR_SET_PDEATHSIG = 1  # https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
_END_LIMIT_S = 2.0
_SIGKILL = 9
_FOREIGN = frozenset(
    {
        "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "SWAYSOCK", "I3SOCK",
        "HYPRLAND_INSTANCE_SIGNATURE", "SESSION_MANAGER", "AT_SPI_BUS_ADDRESS", "NO_AT_BRIDGE", "GNOME_SETUP_DISPLAY",
        "PIPEWIRE_REMOTE", "PIPEWIRE_RUNTIME_DIR", "XDG_SESSION_ID", "XDG_SEAT", "XDG_VTNR", "DESKTOP_SESSION",
        "GNOME_SHELL_SESSION_MODE", "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "GDK_BACKEND", "QT_QPA_PLATFORM",
    }
)  # fmt: skip
"""Variables that point to another session."""
_libc = ctypes.CDLL(None)


class DesktopApart(ABC):
    """A context manager that runs a desktop of its own. `environment` is what programs need to appear on it.

    `width_px`, `height_px`: the screen's size. `home` is a folder that is deleted with it. Raises NeedsPerson if
    something is missing or does not start.
    """

    programs: ClassVar[Mapping[str, str]]
    """The programs that it needs, each with its Debian package."""
    variables: ClassVar[Mapping[str, str]]
    """What tells programs which kind of desktop it is."""

    def __init__(self, width_px: int = 1280, height_px: int = 800, home: Path | None = None) -> None:
        self._width, self._height = width_px, height_px
        self._home = home
        self._children: list[subprocess.Popen[bytes]] = []
        self._ender: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {}

    @classmethod
    def missing_packages(cls) -> list[str]:
        """Return the Debian packages that it needs and this machine lacks."""
        needed = {**cls.programs, "dbus-daemon": "dbus"}
        missing = [package for program, package in needed.items() if not shutil.which(program)]
        if not any(os.path.exists(path) for path in LAUNCHERS):
            missing.append("at-spi2-core")
        return missing

    def __enter__(self) -> Self:
        if missing := self.missing_packages():
            raise NeedsPerson(
                f"A private desktop needs {', '.join(missing)}. Install them: sudo apt-get install {' '.join(missing)}"
            )
        try:
            self._begin()
            self._start()
        except BaseException:  # so that a failed start leaves no processes behind
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all its processes, in the reverse order of their start."""
        for child in reversed(self._children):
            if child.poll() is None:
                child.terminate()
        for child in reversed(self._children):
            try:
                child.wait(timeout=3)
            except subprocess.TimeoutExpired:  # because a hung program ignores SIGTERM
                child.kill()
                child.wait()
        self._children.clear()
        if self._ender:
            self._ender.communicate()
            self._ender = None

    def _begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wisp-desktop-"))
        self.sockets = self.folder / "run"
        self.sockets.mkdir(mode=0o700)
        command = worker_command("apart", *map(str, filter(None, (self.folder, self._home))))
        self._ender = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=os.sep, start_new_session=True)
        kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        self.environment = {
            **kept,
            "XDG_RUNTIME_DIR": str(self.sockets),
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "GTK_MODULES": "gail:atk-bridge",
            "ACCESSIBILITY_ENABLED": "1",
            # A memory backend, so that programs here do not change the person's own settings.
            "GSETTINGS_BACKEND": "memory",
            **self.variables,
        }

    @abstractmethod
    def _start(self) -> None:
        """Start its processes, each with `environment` as far as it is known by then."""

    # --- processes

    def start_bus(self) -> str:
        """Start a bus. Returns its address."""
        command = ("dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog", "--print-address={fd}")
        return self.told(command)

    def start_accessibility(self) -> None:
        launcher = next(path for path in LAUNCHERS if os.path.exists(path))
        self.spawn([launcher, "--launch-immediately"])

    def spawn(
        self,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        fd: int | None = None,
        errors: IO[bytes] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a process with `variables` beside the environment. `errors` gets what it says on standard error."""
        child = subprocess.Popen(
            command,
            env={**self.environment, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors or subprocess.DEVNULL,
            pass_fds=() if fd is None else (fd,),
            start_new_session=True,  # so that ctrl+c in the terminal reaches Wisp alone
            preexec_fn=end_with_parent,  # noqa: PLW1509 - one prctl call, no Python locks taken
        )
        self._children.append(child)
        return child

    def told(self, command: Sequence[str]) -> str:
        """Start a server that writes one line to the descriptor `{fd}` when it is ready. Returns the line."""
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as answers:
            try:
                self.spawn([part.format(fd=writing) for part in command], fd=writing)
            finally:
                os.close(writing)
            line = answers.readline().decode().strip()
        if not line:
            raise not_started(command[0])
        return line

    def wait_for(self, child: subprocess.Popen[bytes], is_there: Callable[[], bool]) -> None:
        """Wait until something is there. Raises NeedsPerson if the process ends before, or takes too long."""
        limit = time.monotonic() + START_LIMIT_S
        while not is_there():
            if not is_running(child, _LOOK_AGAIN_S) or time.monotonic() > limit:
                assert isinstance(child.args, (list, tuple))
                raise not_started(str(child.args[0]))


def is_running(child: subprocess.Popen[bytes], after_s: float) -> bool:
    """Wait so long, or until the process ends. Returns whether it runs."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(after_s)
    return child.returncode is None


def not_started(program: str) -> NeedsPerson:
    return NeedsPerson(f"{program} did not start. Try it by hand to see why: {program}")


def end_with_parent() -> None:
    """Let the kernel kill this child when its parent ends. For `preexec_fn`."""
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL)  # https://man7.org/linux/man-pages/man2/pr_set_pdeathsig.2const.html


def end_group(leader: int) -> None:
    """End a process and all of its group at once."""
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            os.killpg(leader, _SIGKILL)


def run(arguments: Sequence[str]) -> int:
    """Wait until this worker's input ends, then end what is left of the desktop in a folder, and delete its folders."""
    sys.stdin.buffer.read()
    end_all_in(Path(arguments[0]) / "run")
    for folder in arguments:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def end_all_in(sockets: Path) -> None:
    """End every process of a session, known by its folder of sockets: buses start programs that are no children."""
    for how in (signal.SIGTERM, _SIGKILL):
        limit = time.monotonic() + _END_LIMIT_S
        while (left := those_in(sockets)) and (left_s := limit - time.monotonic()) > 0:
            for process in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, how)
            _await_end(left[0], left_s)


def _await_end(process: int, limit_s: float) -> None:
    if sys.platform != "linux":
        return
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        try:
            select.select([handle], [], [], limit_s)
        finally:
            os.close(handle)


def those_in(sockets: Path) -> list[int]:
    """The processes of a session, known by its folder of sockets."""
    mark = f"XDG_RUNTIME_DIR={sockets}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # because it is another person's, or has ended
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found
