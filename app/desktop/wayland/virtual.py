"""Desktops apart on a Wayland compositor without a screen: sway, and GNOME where there is nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from app.base import resources
from app.base.errors import WispError
from app.desktop.apart import DesktopApart, is_running
from app.desktop.wayland import gnome, mutter
from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.compositor import Compositor

_TELLING = ("DISPLAY", "WAYLAND_DISPLAY", "SWAYSOCK")
_SWAY = """
output * mode --custom {width}x{height}@60Hz
exec sh -c 'cd "$XDG_RUNTIME_DIR" && printf "%s\\n" {values} >telling && mv telling told'
"""
_HEADLESS = {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
_MODE = "wisp"
_UNLIKE_USUAL = {"hasOverview": False, "showWelcomeDialog": False, "showCalendarEvents": False, "components": []}
"""The components of the usual mode wait for disks and ask for passwords."""
_PROMPT_S, _PROMPT_ANSWERS, _SETTLE_LIMIT_S = 0.1, 10, 10.0
_STARTED = b"GNOME Shell started"
"""What the Shell says once it has started. It can be called before that, and takes seconds to answer then."""
_BUS = Place("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")


class SwayDesktop(DesktopApart):
    """A desktop of sway's."""

    programs = {"sway": "sway"}  # noqa: RUF012 - ClassVar of the base
    variables = {"XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "sway"}  # noqa: RUF012 - ClassVar of the base

    def _start(self) -> None:
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.start_bus()
        self.start_accessibility()
        values = " ".join(f'"${name}"' for name in _TELLING)
        configuration = self.folder / "sway"
        configuration.write_text(_SWAY.format(width=self._width, height=self._height, values=values))
        told = self.sockets / "told"
        self.wait_for(self.spawn(["sway", "-c", str(configuration)], _HEADLESS), told.exists)
        found = zip(_TELLING, told.read_text().splitlines(), strict=True)
        self.environment |= {name: value for name, value in found if value}
        _tell_bus(self.environment)


class GnomeDesktop(DesktopApart):
    """A desktop of GNOME's. It has a system bus of its own as well, so that it has no part in the person's session."""

    programs = {"gnome-shell": "gnome-shell", "pipewire": "pipewire", "wireplumber": "wireplumber"}  # noqa: RUF012 - ClassVar of the base
    variables = {"XDG_SESSION_TYPE": "wayland", "XDG_CURRENT_DESKTOP": "GNOME"}  # noqa: RUF012 - ClassVar of the base

    def _start(self) -> None:
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = address = self.start_bus()
        self.environment[mutter.OWN_BUS] = address
        self.start_accessibility()
        own = {
            **{f"XDG_{kind}_HOME": str(self.folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")},
            "DBUS_SYSTEM_BUS_ADDRESS": self.start_bus(),
        }
        self.spawn(["pipewire"], own)
        self.spawn(_link_streams(), own)
        shell = self._start_shell(own)
        bus = SessionBus(self.environment)
        try:
            self.wait_for(shell, lambda: _STARTED in self._errors.read_bytes())
            self.wait_for(shell, lambda: gnome.is_here(bus) and mutter.is_here(bus) and self._answers())
            self._settle(shell)
        finally:
            bus.close()
        if display := _x_display_of(shell.pid):
            self.environment |= {"DISPLAY": display, "XAUTHORITY": str(next(self.sockets.glob(".mutter-Xwayland*")))}
        _tell_bus(self.environment)

    def _answers(self) -> bool:
        with suppress(WispError):
            Compositor(self.environment).close()
            return True
        return False

    def _settle(self, shell: subprocess.Popen[bytes]) -> None:
        """Wait until the Shell answers promptly, for a while at most: on a slow machine it has more to do at first."""
        limit, prompt = time.monotonic() + _SETTLE_LIMIT_S, 0
        while prompt < _PROMPT_ANSWERS and (asked := time.monotonic()) < limit:
            is_prompt = self._answers() and time.monotonic() - asked < _PROMPT_S
            prompt = prompt + 1 if is_prompt else 0
            is_running(shell, after_s=_PROMPT_S)

    def _start_shell(self, own: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start the Shell in a mode of its own, which is how a program gives it extensions without any setting."""
        shared = self.folder / "share"
        extension = shared / "gnome-shell" / "extensions" / gnome.EXTENSION
        shutil.copytree(resources.path(f"gnome-shell/{gnome.EXTENSION}"), extension)
        mode = shared / "gnome-shell" / "modes" / f"{_MODE}.json"
        mode.parent.mkdir()
        mode.write_text(json.dumps({"parentMode": "user", "enabledExtensions": [gnome.EXTENSION], **_UNLIKE_USUAL}))
        found = self.environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        self.environment["WAYLAND_DISPLAY"] = "wayland-0"
        command = ["gnome-shell", "--headless", f"--mode={_MODE}", "--virtual-monitor", f"{self._width}x{self._height}"]
        variables = {**own, "XDG_DATA_DIRS": f"{shared}:{found}", "LIBGL_ALWAYS_SOFTWARE": "1"}
        self._errors = self.folder / "errors"
        with self._errors.open("wb") as errors:
            return self.spawn([*command, "--wayland-display", "wayland-0"], variables, errors=errors)


def _link_streams() -> list[str]:
    """The command leads PipeWire's streams to each other, and leaves sound cards and cameras alone."""
    told = subprocess.run(["wireplumber", "--help"], capture_output=True, text=True, check=False).stdout
    return ["wireplumber", "--profile=policy" if "--profile" in told else "--config-file=policy.conf"]


def _x_display_of(compositor: int) -> str:
    """The display of a compositor's XWayland, whose lock holds the compositor's id; "" if it has none."""
    numbers = []
    for lock in Path("/tmp").glob(".X*-lock"):
        with suppress(OSError, ValueError):
            if int(lock.read_text(encoding="ascii")) == compositor:
                numbers.append(int(lock.name[2:].removesuffix("-lock")))
    # Of GNOME's two the second is its own.
    return f":{min(numbers)}" if numbers else ""


def _tell_bus(environment: dict[str, str]) -> None:
    """Let the programs that the bus starts find the screen."""
    bus = SessionBus(environment)
    try:
        bus.call(_BUS, "UpdateActivationEnvironment", "a{ss}", environment)
    finally:
        bus.close()
