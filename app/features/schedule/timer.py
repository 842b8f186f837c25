"""What starts `wisp run-due` at the right time: a systemd timer while Wisp is closed, the presence while it is open."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from app.base import paths
from app.base.errors import ToolFailed
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
from app.base.remains import Remains
from app.base.startup import own_command

_NAME = "wisp-schedules"
_LIMIT_S = 10.0
_AGAIN_S = 60.0
NO_TIMER = (
    "This session has no systemd, so planned tasks start only while Wisp is open, or if cron runs “wisp run-due”. "
    "What was missed runs once then, marked late."
)
_SERVICE = """[Unit]
Description=What Wisp was asked to do later

[Service]
Type=oneshot
WorkingDirectory={folder}
Environment=WISP_PRESENCE={presence}
ExecStart={command} run-due
"""
_TIMER = """[Unit]
Description=When Wisp has something to do

[Timer]
OnCalendar={when}
Persistent=true
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


def folder() -> Path:
    """Where systemd looks for the person's units."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "systemd" / "user"


def why_missing() -> str:
    """The reason, or "" if a timer can be set here."""
    if not shutil.which("systemctl"):
        return NO_TIMER
    return "" if _systemctl("show-environment") else NO_TIMER


def calendar(at: float) -> str:
    """Return the time in systemd's format: https://www.freedesktop.org/software/systemd/man/latest/systemd.time.html"""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def set_for(at: float | None) -> str:
    """Set the timer to run `wisp run-due` at that time; None: never. Blocks. Returns why it cannot be set, else "".

    For a time in the past, it is set to a minute from now: the task waits for the person's screen or another run.
    """
    if why := why_missing():
        return why
    if at is None:
        _systemctl("disable", "--now", f"{_unit()}.timer")
        return ""
    command, root = own_command()
    quoted = " ".join(f'"{word}"' for word in command)
    try:
        folder().mkdir(parents=True, exist_ok=True)
        service = _SERVICE.format(
            folder=root.replace("%", "%%"), command=quoted.replace("%", "%%"), presence=paths.presence()
        )
        (folder() / f"{_unit()}.service").write_text(service, encoding="utf-8")
        (folder() / f"{_unit()}.timer").write_text(_TIMER.format(when=calendar(_ahead(at))), encoding="utf-8")
    except OSError as error:
        raise ToolFailed(f"The timer cannot be written ({error.strerror}): {folder()}") from error
    done = _systemctl("daemon-reload") and _systemctl("enable", "--now", f"{_unit()}.timer")
    return "" if done and _systemctl("restart", f"{_unit()}.timer") else NO_TIMER


def remains() -> Sequence[Remains]:
    """Return the timers of all presences."""
    return [
        Remains(Phrase("the timer for what is planned: {file}", {"file": str(timer)}), partial(_remove, timer))
        for name in (_NAME, *(f"{_NAME}-{one}" for one in paths.presences()))
        if (timer := folder() / f"{name}.timer").is_file()
    ]


def _remove(timer: Path) -> None:
    _systemctl("disable", "--now", timer.name)
    timer.unlink()
    timer.with_suffix(".service").unlink(missing_ok=True)
    _systemctl("daemon-reload")


def _ahead(at: float) -> float:
    now = time.time()
    return at if at > now else now + _AGAIN_S


def _unit() -> str:
    """Each presence has a unit of its own."""
    return f"{_NAME}-{paths.presence()}" if paths.presence() else _NAME


def _systemctl(*words: str) -> bool:
    try:
        done = subprocess.run(["systemctl", "--user", *words], capture_output=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):  # because not every system runs systemd for its users
        return False
    return done.returncode == 0


def check_timer() -> Finding:
    """Report whether scheduled tasks run while Wisp is closed."""
    name = "Planned tasks"
    if why_missing():
        told = "They start only while Wisp is open, because this session has no systemd to start them."
        return note(
            name,
            told,
            "Leave Wisp open. (Or let the system run “wisp run-due” every few minutes, for example by cron.)",
        )
    return ok(name, "They start in time, even if Wisp is closed.")
