"""A private desktop for machines without a screen: X server, window manager, D-Bus and accessibility bus.

All its processes end with it, even if this process is killed (the kernel then kills each child).
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from app.base.errors import NeedsPerson

_PROGRAMS = {"Xvfb": "xvfb", "openbox": "openbox", "dbus-daemon": "dbus"}
_LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
_START_LIMIT_S = 20.0
_BACKGROUND = 0x3A4250
_PR_SET_PDEATHSIG = 1  # https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
_SIGKILL = 9
_libc = ctypes.CDLL(None)


def missing_packages() -> list[str]:
    """Return the Debian packages that a private desktop needs and this machine lacks."""
    missing = [package for program, package in _PROGRAMS.items() if not shutil.which(program)]
    if not any(os.path.exists(path) for path in _LAUNCHERS):
        missing.append("at-spi2-core")
    return missing


class VirtualDesktop:
    """A context manager that runs a private desktop. `environment` is what programs need to appear on it.

    `width_px`, `height_px`: the screen's size. Raises NeedsPerson if something is missing or does not start.
    """

    def __init__(self, width_px: int = 1280, height_px: int = 800, *, window_manager: bool = True) -> None:
        self._size = f"{width_px}x{height_px}x24"
        self._with_manager = window_manager
        self._children: list[subprocess.Popen[bytes]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.environment: dict[str, str] = {}

    def __enter__(self) -> VirtualDesktop:
        if missing := missing_packages():
            raise NeedsPerson(
                f"A private desktop needs {', '.join(missing)}. Install them: sudo apt-get install {' '.join(missing)}"
            )
        try:
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
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    def _start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wisp-desktop-", ignore_cleanup_errors=True)
        runtime = Path(self._folder.name) / "run"
        runtime.mkdir(mode=0o700)
        self.environment = _clean_environment() | {"XDG_RUNTIME_DIR": str(runtime)}
        display = self._told(
            ["Xvfb", "-screen", "0", self._size, "-nolisten", "tcp", "-noreset", "-dpi", "96", "-displayfd", "{fd}"]
        )
        self.environment["DISPLAY"] = f":{display}"
        address = self._told(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address={fd}"])
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = address
        launcher = next(path for path in _LAUNCHERS if os.path.exists(path))
        self._spawn([launcher, "--launch-immediately"])
        if self._with_manager:
            self._spawn(["openbox", "--sm-disable"])
            self._wait_for_manager()

    def _spawn(self, command: Sequence[str], fd: int | None = None) -> None:
        self._children.append(
            subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=() if fd is None else (fd,),
                start_new_session=True,  # so that ctrl+c in the terminal reaches Wisp alone
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one prctl call, no Python locks taken
            )
        )

    def _told(self, command: Sequence[str]) -> str:
        """Start a server that writes one line to the descriptor `{fd}` when it is ready. Returns the line."""
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as answers:
            try:
                self._spawn([part.format(fd=writing) for part in command], fd=writing)
            finally:
                os.close(writing)
            line = answers.readline().decode().strip()
        if not line:
            raise NeedsPerson(f"{command[0]} did not start. Try it by hand to see why: {' '.join(command[:1])}")
        return line

    def _wait_for_manager(self) -> None:
        """Wait until the window manager answers a request.

        Openbox announces itself (_NET_SUPPORTING_WM_CHECK) before it works, and may ignore a window that is mapped in
        between until some later event. So it is asked for a window's frame until it answers:
        https://specifications.freedesktop.org/wm-spec/wm-spec-latest.html, _NET_REQUEST_FRAME_EXTENTS.
        """
        from Xlib import X
        from Xlib.display import Display
        from Xlib.protocol.event import ClientMessage

        display = Display(self.environment["DISPLAY"])
        try:
            root = display.screen().root
            root.change_attributes(background_pixel=_BACKGROUND)
            root.clear_area()
            window = root.create_window(0, 0, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask)
            answer = display.intern_atom("_NET_FRAME_EXTENTS")
            request = display.intern_atom("_NET_REQUEST_FRAME_EXTENTS")
            limit = time.monotonic() + _START_LIMIT_S
            while window.get_full_property(answer, X.AnyPropertyType) is None:
                left = limit - time.monotonic()
                if left <= 0 or self._children[-1].poll() is not None:
                    raise NeedsPerson("The window manager openbox did not start. Try it by hand to see why.")
                asked = ClientMessage(window=window, client_type=request, data=(32, [0] * 5))
                root.send_event(asked, X.SubstructureRedirectMask | X.SubstructureNotifyMask)
                display.flush()
                select.select([display.fileno()], [], [], min(left, 0.1))
                while display.pending_events():
                    display.next_event()
            window.destroy()
        finally:
            display.close()


def _clean_environment() -> dict[str, str]:
    """Return the person's environment without variables that point to another desktop session."""
    foreign = ("WAYLAND_DISPLAY", "XAUTHORITY", "SESSION_MANAGER", "AT_SPI_BUS_ADDRESS", "NO_AT_BRIDGE")
    kept: Mapping[str, str] = {name: value for name, value in os.environ.items() if name not in foreign}
    return {
        **kept,
        "GDK_BACKEND": "x11",
        "QT_QPA_PLATFORM": "xcb",
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "GTK_MODULES": "gail:atk-bridge",
        "ACCESSIBILITY_ENABLED": "1",
        # A memory backend, so that programs here do not change the person's own settings.
        "GSETTINGS_BACKEND": "memory",
        "XDG_SESSION_TYPE": "x11",
        "XDG_CURRENT_DESKTOP": "openbox",
    }


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL)  # https://man7.org/linux/man-pages/man2/pr_set_pdeathsig.2const.html
