"""Private desktops under other window managers than openbox."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from Xlib import X
from Xlib.display import Display

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.waiting import eventually

# i3 asks for a configuration at its first start, and holds the keyboard meanwhile.
_I3 = "font pango:DejaVu Sans 8\n"
COMMANDS: dict[str, tuple[str, ...]] = {
    "openbox": ("openbox", "--sm-disable"),
    "xfwm4": ("xfwm4", "--sm-client-disable"),
    "i3": ("i3", "-c", "{home}/i3"),
    "metacity": ("metacity", "--sm-disable"),
    "awesome": ("awesome",),
    "marco": ("marco", "--sm-disable"),
    "fluxbox": ("fluxbox",),
    "icewm": ("icewm",),
    "jwm": ("jwm",),
    "kwin_x11": ("kwin_x11",),
    "muffin": ("muffin", "--sm-disable"),
    "none": (),
}
"""How each window manager of Debian is started; `none` is a desktop without one."""


def is_installed(name: str) -> bool:
    return name == "none" or shutil.which(COMMANDS[name][0]) is not None


@contextmanager
def managed(name: str, home: Path) -> Iterator[dict[str, str]]:
    """Run a private desktop under this window manager. Yields the environment of its programs."""
    home.mkdir(exist_ok=True)
    (home / "i3").write_text(_I3, encoding="utf-8")
    with VirtualDesktop(1280, 800, window_manager=False) as virtual:
        environment = {**virtual.environment, "HOME": str(home)}
        command = [part.format(home=home) for part in COMMANDS[name]]
        if not command:
            yield environment
            return
        silent = subprocess.DEVNULL
        with subprocess.Popen(command, env=environment, stdout=silent, stderr=silent) as manager:
            try:
                assert eventually(lambda: _announces_itself(environment["DISPLAY"])), f"{name} did not start"
                yield environment
            finally:
                manager.kill()


def _announces_itself(display: str) -> bool:
    looking = Display(display)
    try:
        check = looking.intern_atom("_NET_SUPPORTING_WM_CHECK")
        return looking.screen().root.get_full_property(check, X.AnyPropertyType) is not None
    finally:
        looking.close()
