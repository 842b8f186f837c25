"""Find the person's graphical session where the client does not pass its variables on.

Codex and programs with the Python SDK start a server with few variables, without those of the display.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import MutableMapping
from pathlib import Path

_LIMIT_S = 3.0
_DISPLAYS = frozenset({"DISPLAY", "WAYLAND_DISPLAY"})
_ALWAYS = _DISPLAYS | {"DBUS_SESSION_BUS_ADDRESS", "I3SOCK", "SWAYSOCK", "XAUTHORITY"}
_BEGINNINGS = ("XDG_", "HYPRLAND_", "LANG", "LC_")


def adopt_session(environment: MutableMapping[str, str] = os.environ) -> None:
    """Add the variables of the session that systemd keeps for the person, if there is no display among the given ones.

    Desktops hand them to systemd at log-in. What was given stays as it is.
    """
    systemctl = shutil.which("systemctl", path=environment.get("PATH"))
    if systemctl is None or not _DISPLAYS.isdisjoint(environment):
        return
    known = {"XDG_RUNTIME_DIR": f"/run/user/{Path.home().stat().st_uid}", **environment}
    command = [systemctl, "--user", "show-environment"]
    try:
        told = subprocess.run(
            command, env=known, capture_output=True, text=True, timeout=_LIMIT_S, check=True, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.SubprocessError):  # because there is no systemd of the person
        return
    found = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
    if not _DISPLAYS.isdisjoint(found):
        found.setdefault("XDG_RUNTIME_DIR", known["XDG_RUNTIME_DIR"])
        for name, value in found.items():
            if name in _ALWAYS or name.startswith(_BEGINNINGS):
                environment.setdefault(name, value)
