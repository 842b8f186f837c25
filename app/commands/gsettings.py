"""GNOME's settings, by its own program `gsettings`."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress

from app.base.errors import NeedsPerson
from app.base.values import dataclass
from app.desktop.wayland.gnome import EXTENSION

SHELL = "org.gnome.shell"
_LIMIT_S = 5.0
_MEDIA_KEYS = "org.gnome.settings-daemon.plugins.media-keys"
_OWN_KEYS = "/org/gnome/settings-daemon/plugins/media-keys/custom-keybindings/wisp-"
_KEYS = (
    "org.gnome.desktop.wm.keybindings",
    "org.gnome.mutter.keybindings",
    "org.gnome.mutter.wayland.keybindings",
    "org.gnome.shell.keybindings",
    _MEDIA_KEYS,
)
"""The schemas of GNOME's own keys."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A key that GNOME has for something of its own, and that Wisp has as well."""

    schema: str
    name: str
    key: str


def taken(keys: list[str]) -> list[Taken]:
    """Return those of these keys (as GTK writes them) that GNOME has for things of its own."""
    return [one for one in _own_keys() if _parts(one.key) in map(_parts, keys)]


def _parts(key: str) -> frozenset[str]:
    """The parts of a key as GTK writes it. Control has three names there."""
    held = {name.casefold() for name in re.findall("<([^>]+)>", key)}
    return frozenset({re.sub("^(primary|ctrl)$", "control", name) for name in held} | {key.rpartition(">")[2]})


def _own_keys() -> Iterator[Taken]:
    """Yield the keys that GNOME has for things of its own."""
    for schema in _KEYS:
        with suppress(NeedsPerson):  # because a GNOME may not have all of them
            for line in gsettings("list-recursively", schema).splitlines():
                _, name, value = line.split(" ", 2)
                for key in strings(value):
                    yield Taken(schema, name, key)


def has_extension() -> bool:
    """True if Wisp's extension is switched on."""
    return EXTENSION in strings(gsettings("get", SHELL, "enabled-extensions"))


def run_at(name: str, key: str, command: str) -> None:
    """Let GNOME run a command at a key, as one of the person's own shortcuts."""
    path = f"{_OWN_KEYS}{name}/"
    for field, value in (("name", f"Wisp: {name}"), ("command", command), ("binding", key)):
        gsettings("set", f"{_MEDIA_KEYS}.custom-keybinding:{path}", field, json.dumps(value))
    change(_MEDIA_KEYS, "custom-keybindings", with_=path)


def run_no_more(name: str) -> None:
    with suppress(NeedsPerson):  # because a GNOME may have no such shortcuts
        change(_MEDIA_KEYS, "custom-keybindings", without=f"{_OWN_KEYS}{name}/")


def change(schema: str, name: str, *, with_: str = "", without: str = "") -> None:
    """Put a word into a list of GNOME's settings, or take one out of it."""
    before = strings(gsettings("get", schema, name))
    after = [word for word in before if word != without]
    if with_ and with_ not in after:
        after.append(with_)
    if after != before:
        gsettings("set", schema, name, str(after))


def strings(value: str) -> list[str]:
    """Read a list of strings as `gsettings` prints it. Any other value has none."""
    try:
        found = ast.literal_eval(value.strip().removeprefix("@as "))
    except (ValueError, SyntaxError):
        return []
    return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []


def gsettings(*words: str) -> str:
    try:
        done = subprocess.run(("gsettings", *words), capture_output=True, timeout=_LIMIT_S, check=True, text=True)
    except FileNotFoundError:
        raise NeedsPerson("The program gsettings is missing. Install it: sudo apt install libglib2.0-bin") from None
    except subprocess.SubprocessError as error:
        raise NeedsPerson(f"GNOME did not accept the change: {getattr(error, 'stderr', None) or error}") from None
    return done.stdout
