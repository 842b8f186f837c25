"""Wayland compositors without a screen, each with XWayland, D-Bus and an accessibility bus of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from Xlib.protocol.display import Display as XConnection
from Xlib.protocol.event import event_class

from app.desktop.x11.virtual import _LAUNCHERS, _end_with_parent

WIDTH, HEIGHT = 1280, 800
_LIMIT_S = 20.0
_SWAY = """
output HEADLESS-1 mode --custom {width}x{height}@240Hz
output HEADLESS-1 bg #3A4250 solid_color
exec sh -c 'echo "$DISPLAY" >"$XDG_RUNTIME_DIR/display"'
"""
_LABWC_AUTOSTART = 'echo "$DISPLAY" >"$XDG_RUNTIME_DIR/display"\n'
COMMANDS: dict[str, tuple[str, ...]] = {
    "sway": ("sway", "-c", "{home}/sway"),
    "labwc": ("labwc", "-C", "{home}/labwc"),
}
"""How each compositor is started."""


def _keep_events_apart() -> None:
    """Let each connection to an X server know that server's events.

    python-xlib keeps one table for all, which fails where XWayland numbers them otherwise than the tests' X server:
    https://github.com/python-xlib/python-xlib/blob/master/Xlib/protocol/display.py
    """
    begin = XConnection.__init__

    def begin_apart(self: XConnection, *arguments: Any, **options: Any) -> None:
        self.event_classes = event_class.copy()
        begin(self, *arguments, **options)

    XConnection.__init__ = begin_apart


_keep_events_apart()


def is_installed(name: str) -> bool:
    return shutil.which(name) is not None


@contextmanager
def composited(name: str, home: Path, *, sway: str = "") -> Iterator[dict[str, str]]:
    """Run a compositor. Yields the environment of its programs. `sway` is added to the configuration of sway."""
    home.mkdir(exist_ok=True)
    (home / "sway").write_text(_SWAY.format(width=WIDTH, height=HEIGHT) + sway, encoding="utf-8")
    (home / "labwc").mkdir(exist_ok=True)
    (home / "labwc" / "autostart").write_text(_LABWC_AUTOSTART, encoding="utf-8")
    with ExitStack() as leaving, tempfile.TemporaryDirectory(prefix="wisp-wayland-", ignore_cleanup_errors=True) as run:
        environment = _clean(run, home)
        address = _told(leaving, environment, "dbus-daemon", "--session", "--nofork", "--nopidfile")
        environment["DBUS_SESSION_BUS_ADDRESS"] = address
        launcher = next(path for path in _LAUNCHERS if os.path.exists(path))
        _spawn(leaving, [launcher, "--launch-immediately"], environment)
        headless = {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
        command = [*_not_as_root(), *(part.format(home=home) for part in COMMANDS[name])]
        compositor = _spawn(leaving, command, environment | headless)
        environment["DISPLAY"] = _written(Path(run) / "display", compositor)
        environment["WAYLAND_DISPLAY"] = next(
            path.name for path in Path(run).glob("wayland-*") if path.suffix != ".lock"
        )
        if found := list(Path(run).glob("sway-ipc.*.sock")):
            environment["SWAYSOCK"] = str(found[0])
        yield environment


def _not_as_root() -> list[str]:
    """Return what makes a compositor believe that it is no root, which sway refuses to be.

    Outside of its namespace it still is, so that the test's programs may use its sockets and buses.
    """
    return ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []


def _clean(run: str, home: Path) -> dict[str, str]:
    foreign = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "AT_SPI_BUS_ADDRESS", "NO_AT_BRIDGE", "GDK_BACKEND")
    kept = {name: value for name, value in os.environ.items() if name not in (*foreign, "QT_QPA_PLATFORM")}
    return {
        **kept,
        "XDG_RUNTIME_DIR": run,
        "XDG_SESSION_TYPE": "wayland",
        "XDG_CURRENT_DESKTOP": "sway",
        "HOME": str(home),
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "GTK_MODULES": "gail:atk-bridge",
        "ACCESSIBILITY_ENABLED": "1",
        "GSETTINGS_BACKEND": "memory",
        "GSK_RENDERER": "cairo",
    }


def _spawn(
    leaving: ExitStack, command: Sequence[str], environment: dict[str, str], *, fd: int = -1
) -> subprocess.Popen[bytes]:
    """Start a process that ends with the stack, and with this process even if that is killed."""
    silent = subprocess.DEVNULL
    log = open(Path(environment["HOME"]) / f"{Path(command[0]).name}.log", "wb")  # noqa: SIM115 - the stack closes it
    leaving.callback(log.close)
    child = subprocess.Popen(
        command,
        env=environment,
        stdin=silent,
        stdout=log,
        stderr=log,
        pass_fds=() if fd < 0 else (fd,),
        start_new_session=True,
        preexec_fn=_end_with_parent,  # noqa: PLW1509 - one prctl call, no Python locks taken
    )
    leaving.callback(_end, child)
    return child


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(3)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _told(leaving: ExitStack, environment: dict[str, str], *command: str) -> str:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as answers:
        _spawn(leaving, [*command, f"--print-address={writing}"], environment, fd=writing)
        os.close(writing)
        return answers.readline().decode().strip()


def _written(path: Path, writer: subprocess.Popen[bytes]) -> str:
    """Return the line that a program writes to a file once it is up."""
    limit = time.monotonic() + _LIMIT_S
    while not (path.exists() and (line := path.read_text(encoding="utf-8").strip())):
        assert writer.poll() is None and time.monotonic() < limit, f"{writer.args} did not start"
        time.sleep(0.05)
    return line
