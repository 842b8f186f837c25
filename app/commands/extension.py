"""`wisp extension`: on GNOME, install Wisp's extension of the Shell after a yes, or remove it."""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import shutil
from contextlib import closing, suppress
from pathlib import Path

from app.base import resources
from app.base.errors import NeedsPerson, WispError
from app.commands.gsettings import SHELL, Taken, change, gsettings, has_extension, run_no_more, taken
from app.commands.keys import KEY_COMMANDS
from app.desktop.keys import chord
from app.desktop.wayland.bus import SessionBus
from app.desktop.wayland.gnome import EXTENSION, accelerator, is_here
from app.options import add_yes_option, is_agreed, say
from app.settings.catalog import STOP_KEY, SUMMON_KEY
from app.settings.store import load

_TAKEN = "taken.json"
"""The file with the keys that were taken from GNOME, for the removal."""
_EXPLAINED = """\
GNOME does not tell programs where windows and the pointer are, and lets no program move or close windows.
Wisp's extension of GNOME does both: for Wisp, and for all your other programs that run without a sandbox.
It also hears Wisp's keys ({keys}), whatever program is in front.
It will be copied to {folder}."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_yes_option(parser)
    parser.add_argument("--remove", action="store_true", help="remove it, and give GNOME back the keys that it had")


def run(options: argparse.Namespace) -> int:
    return remove() if options.remove else _install(options)


def _install(options: argparse.Namespace) -> int:
    if "GNOME" not in os.environ.get("XDG_CURRENT_DESKTOP", "").split(":"):
        raise NeedsPerson("This is no GNOME session. Only GNOME needs Wisp's extension.")
    folder, keys = _folder(), _keys()
    gsettings("get", SHELL, "enabled-extensions")  # so that nothing is copied where it cannot be switched on
    gone = taken(keys)
    if _is_current(folder) and has_extension() and not gone:
        say("The extension is installed.")
        say("It answers." if _answers() else "It does not answer yet. Log out and in once.")
        return 0
    say(_EXPLAINED, keys=", ".join(keys), folder=str(folder))
    for one in gone:
        say("{key} will no longer do “{name}” in GNOME.", key=one.key, name=one.name)
    if not is_agreed("Install it?", options):
        return 1
    before = _taken_before(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_packaged(), folder)
    (folder / _TAKEN).write_text(json.dumps([[one.schema, one.name, one.key] for one in (*before, *gone)]))
    for one in gone:
        change(one.schema, one.name, without=one.key)
    change(SHELL, "disabled-extensions", without=EXTENSION)
    change(SHELL, "enabled-extensions", with_=EXTENSION)
    for name in KEY_COMMANDS:  # because the extension hears these keys now
        run_no_more(name)
    gsettings("set", SHELL, "disable-user-extensions", "false")
    say("Installed. Log out and in once, because GNOME starts a new extension only then.")
    return 0


def is_installed() -> bool:
    return _folder().exists()


def remove() -> int:
    """Remove the extension, and give GNOME its keys back. Raises NeedsPerson."""
    folder = _folder()
    for one in _taken_before(folder):
        change(one.schema, one.name, with_=one.key)
    change(SHELL, "enabled-extensions", without=EXTENSION)
    if not folder.exists():
        say("The extension was not installed.")
        return 0
    shutil.rmtree(folder)
    say("Removed. GNOME has its keys back.")
    return 0


def _folder() -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "gnome-shell" / "extensions" / EXTENSION


def _packaged() -> Path:
    return resources.path(f"gnome-shell/{EXTENSION}")


def _is_current(folder: Path) -> bool:
    names = [file.name for file in _packaged().iterdir()]
    return folder.is_dir() and filecmp.cmpfiles(_packaged(), folder, names, shallow=False)[0] == names


def _answers() -> bool:
    with suppress(WispError), closing(SessionBus(os.environ)) as bus:
        return is_here(bus)
    return False


def _keys() -> list[str]:
    settings = load()
    return [accelerator(chord(settings[key])) for key in (SUMMON_KEY, STOP_KEY) if settings[key]]


def _taken_before(folder: Path) -> list[Taken]:
    try:
        return [Taken(*one) for one in json.loads((folder / _TAKEN).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):  # because it is not installed, or somebody copied it by hand
        return []
