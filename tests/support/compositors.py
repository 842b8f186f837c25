"""Wayland compositors without a screen, each with XWayland, D-Bus and an accessibility bus of its own.

sway and labwc are the system's. GNOME and KWin run from a Debian 14 that `scripts/setup portals` makes in a folder.
"""

from __future__ import annotations

import functools
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from PIL import Image
from Xlib.protocol.display import Display as XConnection
from Xlib.protocol.event import event_class

from app.base import resources
from app.desktop.apart import LAUNCHERS, end_all_in, end_with_parent
from app.desktop.wayland.bus import Place, Refused, SessionBus
from app.desktop.wayland.gnome import EXTENSION
from tests.support.render_node import rendering
from tests.support.waiting import eventually

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
"""How each compositor of the system is started."""
DEBIAN = Path(os.environ.get("WISP_TEST_DEBIAN") or f"{pwd.getpwuid(os.getuid()).pw_dir}/.cache/wisp-tests/debian14")
DESKTOPS: dict[str, tuple[str, ...]] = {
    "gnome": ("gnome-shell", "--headless", "--virtual-monitor", f"{WIDTH}x{HEIGHT}", "--wayland-display", "wayland-0"),
    "kwin": (
        "kwin_wayland", "--virtual", "--width", str(WIDTH), "--height", str(HEIGHT), "--no-lockscreen", "--xwayland",
        "--socket", "wayland-0",
    ),
}  # fmt: skip
"""How each desktop of Debian 14 is started."""
_DESKTOP_ENVIRONMENT = {
    "gnome": {"XDG_CURRENT_DESKTOP": "GNOME"},
    "kwin": {
        "XDG_CURRENT_DESKTOP": "KDE",
        "KDE_FULL_SESSION": "true",
        "KDE_SESSION_VERSION": "6",
        "KWIN_SCREENSHOT_NO_PERMISSION_CHECKS": "1",  # for the test's own look at the screen
    },
}
_OF_THIS_SYSTEM = ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "FONTCONFIG_FILE", "LD_LIBRARY_PATH")
"""What the tests set to places that mean nothing in Debian 14."""
_MOUNT = """
for folder in "$1" /proc /dev /sys; do mkdir -p "$0$folder" && mount --rbind "$folder" "$0$folder" || exit; done
echo "mounted"
exec sleep infinity
"""
_SHELL = Place("org.gnome.Shell", "/org/gnome/Shell", "org.freedesktop.DBus.Properties")
_GNOME_PICTURES = Place("org.gnome.Shell.Screenshot", "/org/gnome/Shell/Screenshot", "org.gnome.Shell.Screenshot")
_KWIN_PICTURES = Place("org.kde.KWin", "/org/kde/KWin/ScreenShot2", "org.kde.KWin.ScreenShot2")

_CALM = (
    ("org.gnome.desktop.wm.keybindings", "cycle-panels", "[]"),
    ("org.gnome.shell", "enabled-extensions", f"['{EXTENSION}']"),
    ("org.gnome.desktop.interface", "enable-animations", "false"),
    ("org.gnome.desktop.interface", "enable-hot-corners", "false"),  # the pointer begins in that corner
    ("org.gnome.desktop.notifications", "show-banners", "false"),
)
"""GNOME's settings with the extension, and without what lies over windows for a while."""


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
    if name in DESKTOPS:
        return os.geteuid() == 0 and (DEBIAN / "usr/bin" / DESKTOPS[name][0]).exists()
    return shutil.which(name) is not None


def inside(*command: str) -> list[str]:
    """Return the command that runs a program of Debian 14, among this system's processes and temporary files."""
    enter = ("nsenter", f"--mount=/proc/{_mounted().pid}/ns/mnt", "chroot", str(DEBIAN))
    return [*enter, "env", *(f"--unset={name}" for name in _OF_THIS_SYSTEM), *command]


@functools.cache
def _mounted() -> subprocess.Popen[str]:
    """Start the process that keeps what is mounted in the folder of Debian 14, which goes with it.

    One for all: KWin knows programs by their paths, and only those in its own namespace.
    """
    keeper = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", _MOUNT, str(DEBIAN), tempfile.gettempdir()],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,  # noqa: PLW1509 - one prctl call, no Python locks taken
    )
    assert keeper.stdout and keeper.stdout.readline(), "Debian 14 cannot be entered"
    return keeper


@contextmanager
def composited(
    name: str, home: Path, *, sway: str = "", prepare: Callable[[dict[str, str]], object] | None = None
) -> Iterator[dict[str, str]]:
    """Run a compositor. Yields the environment of its programs.

    `sway` is added to the configuration of sway. `prepare` gets the environment before GNOME or KWin starts.
    """
    home.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wisp-wayland-", ignore_cleanup_errors=True) as run, ExitStack() as leaving:
        environment = _clean(run, home)
        if name in DESKTOPS:
            _start_desktop(leaving, name, environment, prepare)
        else:
            (home / "sway").write_text(_SWAY.format(width=WIDTH, height=HEIGHT) + sway, encoding="utf-8")
            (home / "labwc").mkdir(exist_ok=True)
            (home / "labwc" / "autostart").write_text(_LABWC_AUTOSTART, encoding="utf-8")
            _start_compositor(leaving, name, environment)
        yield environment


def _start_compositor(leaving: ExitStack, name: str, environment: dict[str, str]) -> None:
    run = Path(environment["XDG_RUNTIME_DIR"])
    environment |= {"XDG_CURRENT_DESKTOP": "sway", "GSETTINGS_BACKEND": "memory"}
    address = _told(leaving, environment, "dbus-daemon", "--session", "--nofork", "--nopidfile")
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    launcher = next(path for path in LAUNCHERS if os.path.exists(path))
    _spawn(leaving, [launcher, "--launch-immediately"], environment)
    headless = {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
    command = [*_not_as_root(), *(part.format(home=environment["HOME"]) for part in COMMANDS[name])]
    compositor = _spawn(leaving, command, environment | headless)
    environment["DISPLAY"] = _written(run / "display", compositor)
    environment["WAYLAND_DISPLAY"] = next(path.name for path in run.glob("wayland-*") if path.suffix != ".lock")
    if found := list(run.glob("sway-ipc.*.sock")):
        environment["SWAYSOCK"] = str(found[0])


def _start_desktop(
    leaving: ExitStack, name: str, environment: dict[str, str], prepare: Callable[[dict[str, str]], object] | None
) -> None:
    run = Path(environment["XDG_RUNTIME_DIR"])
    without_disks = {"GIO_USE_VFS": "local", "GIO_USE_VOLUME_MONITOR": "unix"}
    environment |= {"LIBGL_ALWAYS_SOFTWARE": "1", **without_disks, **_DESKTOP_ENVIRONMENT[name]}
    environment["WAYLAND_DISPLAY"] = "wayland-0"  # before the buses: they start the first programs without waiting
    # The buses start portals and others on demand. Those are no children of ours.
    leaving.callback(end_all_in, run)
    for bus in ("SYSTEM", "SESSION"):  # GNOME ends without a system bus
        daemon = inside("dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog")
        environment[f"DBUS_{bus}_BUS_ADDRESS"] = _told(leaving, environment, *daemon)
    _spawn(leaving, inside("pipewire"), environment)
    assert eventually((run / "pipewire-0").exists, limit_s=_LIMIT_S)  # without it the next one ends at once
    _spawn(leaving, inside("wireplumber"), environment)
    if prepare:
        prepare(environment)
    program, *options = DESKTOPS[name]
    started = rendering(run, DEBIAN / "usr/bin" / program) if name == "kwin" else (program,)
    to_look = {"KWIN_SCREENSHOT_NO_PERMISSION_CHECKS": "1"}  # for the tests' own pictures: Wisp takes none this way
    compositor = _spawn(leaving, inside(*started, *options), environment | to_look)
    limit = time.monotonic() + _LIMIT_S
    while not ((run / "wayland-0").exists() and (display := _x_display_of(compositor))):
        assert compositor.poll() is None and time.monotonic() < limit, f"{name} did not start"
        time.sleep(0.05)
    environment["DISPLAY"] = display
    if name == "gnome":
        _close_overview(environment)
        environment["XAUTHORITY"] = str(next(run.glob(".mutter-Xwaylandauth.*")))
    # So that programs which the buses start find the screen.
    subprocess.run(inside("dbus-update-activation-environment", "--all"), env=environment, check=True)


def _x_display_of(compositor: subprocess.Popen[bytes]) -> str:
    """Return the display of XWayland, whose lock holds the compositor's id; "" if there is none yet."""
    numbers = []
    for lock in Path("/tmp").glob(".X*-lock"):
        with suppress(OSError, ValueError):
            if int(lock.read_text(encoding="ascii")) == compositor.pid:
                numbers.append(int(lock.name[2:].removesuffix("-lock")))
    # Of GNOME's two the second is its own.
    return f":{min(numbers)}" if numbers else ""


def _close_overview(environment: dict[str, str]) -> None:
    """Close the overview of all windows, in which GNOME starts: not before that, or it never ends to start."""
    log = Path(environment["HOME"]) / "nsenter.log"
    assert eventually(lambda: b"GNOME Shell started" in log.read_bytes(), limit_s=_LIMIT_S)
    bus = SessionBus(environment)

    def is_open() -> bool:
        with suppress(Refused):  # the shell has its name before it answers
            return bool(bus.call(_SHELL, "Get", "ss", "org.gnome.Shell", "OverviewActive", limit_s=_LIMIT_S)[1])
        return False

    try:
        bus.call(_SHELL, "Set", "ssv", "org.gnome.Shell", "OverviewActive", ("b", False))
        assert eventually(lambda: not is_open(), limit_s=_LIMIT_S)
    finally:
        bus.close()


def with_extension(environment: dict[str, str]) -> None:
    """Install Wisp's extension of GNOME Shell, before that starts. Does nothing for KWin."""
    if environment["XDG_CURRENT_DESKTOP"] == "GNOME":
        folder = Path(environment["HOME"]) / ".local/share/gnome-shell/extensions" / EXTENSION
        shutil.copytree(resources.path(f"gnome-shell/{EXTENSION}"), folder)
        for setting in _CALM:
            subprocess.run(inside("gsettings", "set", *setting), env=environment, check=True)


def picture_of(name: str, environment: dict[str, str]) -> Image.Image:
    """The whole screen, as GNOME or KWin itself sees it."""
    bus = SessionBus(environment)
    try:
        return _picture_of_gnome(bus, environment) if name == "gnome" else _picture_of_kwin(bus)
    finally:
        bus.close()


def _picture_of_gnome(bus: SessionBus, environment: dict[str, str]) -> Image.Image:
    assert bus.own("org.gnome.SettingsDaemon.MediaKeys")  # which alone gets pictures
    path = str(Path(environment["HOME"]) / "screen.png")
    bus.call(_GNOME_PICTURES, "Screenshot", "bbs", False, False, path, limit_s=_LIMIT_S)  # no pointer, no flash
    return Image.open(path).convert("RGB")


def _picture_of_kwin(bus: SessionBus) -> Image.Image:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pixels:
        try:
            found = bus.call(_KWIN_PICTURES, "CaptureWorkspace", "a{sv}h", {}, writing, limit_s=_LIMIT_S)
        finally:
            os.close(writing)
        size = found["width"][1], found["height"][1]
        return Image.frombytes("RGB", size, pixels.read(), "raw", "BGRX", found["stride"][1])


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
        "HOME": str(home),
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "GTK_MODULES": "gail:atk-bridge",
        "ACCESSIBILITY_ENABLED": "1",
        "GSK_RENDERER": "cairo",
    }


def _spawn(
    leaving: ExitStack, command: Sequence[str], environment: dict[str, str], *, fd: int = -1
) -> subprocess.Popen[bytes]:
    """Start a process that ends with the stack, and with this process even if that is killed."""
    silent = subprocess.DEVNULL
    log = open(Path(environment["HOME"]) / f"{Path(command[0]).name}.log", "ab")  # noqa: SIM115 - the stack closes it
    leaving.callback(log.close)
    child = subprocess.Popen(
        command,
        env=environment,
        stdin=silent,
        stdout=log,
        stderr=log,
        pass_fds=() if fd < 0 else (fd,),
        start_new_session=True,
        preexec_fn=end_with_parent,  # noqa: PLW1509 - one prctl call, no Python locks taken
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
        assert writer.poll() is None and time.monotonic() < limit, f"{writer.args!r} did not start"
        time.sleep(0.05)
    return line


def programs_with(folder: Path, name: str) -> str:
    """Return a PATH on which, of all that runs a desktop apart, only sway's, GNOME's or (x11) Xvfb's programs are.

    Those of sway and GNOME are put into a folder, as commands that start the tests' own.
    """
    kinds = {"x11": ("Xvfb", "openbox"), "sway": ("sway",), "gnome": ("gnome-shell", "pipewire", "wireplumber")}
    others = {program for kind, programs in kinds.items() if kind != "x11" or name != "x11" for program in programs}
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for found in Path(place).glob("*"):
            if found.name not in others:
                link = folder / found.name
                link.unlink(missing_ok=True)
                link.symlink_to(found)
    for program in kinds[name] if name != "x11" else ():
        command = [*_not_as_root(), f"/usr/bin/{program}"] if name == "sway" else inside(f"/usr/bin/{program}")
        # The Shell is told by this one where its mode lies.
        kept = [word for word in command if word != "--unset=XDG_DATA_DIRS"]
        (folder / program).write_text(f'#!/bin/sh\nexec {shlex.join(kept)} "$@"\n', encoding="utf-8")
        (folder / program).chmod(0o755)
    return str(folder)
