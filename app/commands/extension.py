"""`wisp extension`: on GNOME, install Wisp's extension of the Shell after a yes, or remove it."""

from __future__ import annotations

import argparse
import ast
import filecmp
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.base import resources
from app.base.errors import NeedsPerson, WispError
from app.base.values import dataclass
from app.commands.options import add_yes_option, is_agreed
from app.desktop.keys import chord
from app.desktop.wayland.bus import SessionBus
from app.desktop.wayland.gnome import EXTENSION, accelerator, is_here
from app.settings.catalog import STOP_KEY, SUMMON_KEY
from app.settings.store import load

_LIMIT_S = 5.0
_SHELL = "org.gnome.shell"
_KEYS = (
    "org.gnome.desktop.wm.keybindings",
    "org.gnome.mutter.keybindings",
    "org.gnome.mutter.wayland.keybindings",
    "org.gnome.shell.keybindings",
    "org.gnome.settings-daemon.plugins.media-keys",
)
"""The schemas of GNOME's own keys."""
_TAKEN = "taken.json"
"""The file with the keys that were taken from GNOME, for the removal."""
_EXPLAINED = """\
GNOME tells programs neither where windows lie nor where the pointer is, and lets none move or close them.
Wisp's extension of GNOME Shell does: for Wisp, and for every other program of yours outside of a sandbox.
It also listens to Wisp's own keys ({keys}), whatever program is in front.
It is copied to {folder}."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A key that GNOME has for something of its own, and that Wisp has as well."""

    schema: str
    name: str
    key: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_yes_option(parser)
    parser.add_argument("--remove", action="store_true", help="remove it, and give GNOME its keys back")


def run(options: argparse.Namespace) -> int:
    return _remove() if options.remove else _install(options)


def _install(options: argparse.Namespace) -> int:
    if "GNOME" not in os.environ.get("XDG_CURRENT_DESKTOP", "").split(":"):
        raise NeedsPerson("This is no GNOME session, so there is no GNOME Shell to extend.")
    folder, keys = _folder(), _keys()
    taken = [one for one in _own_keys() if _parts(one.key) in map(_parts, keys)]
    if _is_current(folder) and EXTENSION in _enabled() and not taken:
        print(f"The extension is installed. {_running()}")
        return 0
    print(_EXPLAINED.format(keys=" and ".join(keys), folder=folder))
    for one in taken:
        print(f"{one.key} is taken from GNOME's own “{one.name}”.")
    if not is_agreed("Install it?", options):
        print("Nothing was installed.")
        return 1
    before = _taken_before(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_packaged(), folder)
    (folder / _TAKEN).write_text(json.dumps([[one.schema, one.name, one.key] for one in (*before, *taken)]))
    for one in taken:
        _change(one.schema, one.name, without=one.key)
    _change(_SHELL, "disabled-extensions", without=EXTENSION)
    _change(_SHELL, "enabled-extensions", with_=EXTENSION)
    _gsettings("set", _SHELL, "disable-user-extensions", "false")
    print("Installed. Log out and in again, once: GNOME loads a new extension only then.")
    return 0


def _remove() -> int:
    folder = _folder()
    for one in _taken_before(folder):
        _change(one.schema, one.name, with_=one.key)
    _change(_SHELL, "enabled-extensions", without=EXTENSION)
    if not folder.exists():
        print("The extension was not installed.")
        return 0
    shutil.rmtree(folder)
    print("Removed. It has ended, and GNOME has its keys back.")
    return 0


def _folder() -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "gnome-shell" / "extensions" / EXTENSION


def _packaged() -> Path:
    return resources.path(f"gnome-shell/{EXTENSION}")


def _is_current(folder: Path) -> bool:
    names = [file.name for file in _packaged().iterdir()]
    return folder.is_dir() and filecmp.cmpfiles(_packaged(), folder, names, shallow=False)[0] == names


def _running() -> str:
    with suppress(WispError):
        bus = SessionBus(os.environ)
        try:
            if is_here(bus):
                return "It answers."
        finally:
            bus.close()
    return "It does not answer yet: log out and in again, once."


def _keys() -> list[str]:
    settings = load()
    return [accelerator(chord(settings[key])) for key in (SUMMON_KEY, STOP_KEY) if settings[key]]


def _parts(key: str) -> frozenset[str]:
    """Return the parts of a key as GTK writes it. Control has three names there."""
    held = {name.casefold() for name in re.findall("<([^>]+)>", key)}
    return frozenset({re.sub("^(primary|ctrl)$", "control", name) for name in held} | {key.rpartition(">")[2]})


def _own_keys() -> Iterator[Taken]:
    """Yield the keys that GNOME has for things of its own."""
    for schema in _KEYS:
        with suppress(NeedsPerson):  # because a GNOME may not have all of them
            for line in _gsettings("list-recursively", schema).splitlines():
                _, name, value = line.split(" ", 2)
                for key in _strings(value):
                    yield Taken(schema, name, key)


def _taken_before(folder: Path) -> list[Taken]:
    try:
        return [Taken(*one) for one in json.loads((folder / _TAKEN).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):  # because it is not installed, or somebody copied it by hand
        return []


def _enabled() -> list[str]:
    return _strings(_gsettings("get", _SHELL, "enabled-extensions"))


def _change(schema: str, name: str, *, with_: str = "", without: str = "") -> None:
    """Put a word into a list of GNOME's settings, or take one out of it."""
    before = _strings(_gsettings("get", schema, name))
    after = [word for word in before if word != without]
    if with_ and with_ not in after:
        after.append(with_)
    if after != before:
        _gsettings("set", schema, name, str(after))


def _strings(value: str) -> list[str]:
    """Read a list of strings as `gsettings` prints it. Any other value has none."""
    try:
        found = ast.literal_eval(value.strip().removeprefix("@as "))
    except (ValueError, SyntaxError):
        return []
    return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []


def _gsettings(*words: str) -> str:
    try:
        done = subprocess.run(("gsettings", *words), capture_output=True, timeout=_LIMIT_S, check=True, text=True)
    except FileNotFoundError:
        raise NeedsPerson(
            "The program gsettings is missing. On Debian and Ubuntu: apt install libglib2.0-bin"
        ) from None
    except subprocess.SubprocessError as error:
        raise NeedsPerson(f"GNOME's settings do not answer: {getattr(error, 'stderr', None) or error}") from None
    return done.stdout
