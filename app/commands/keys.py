"""`wisp keys`: on Wayland, bind the summon key and the stop key in the compositor's configuration, after a yes.

Wayland gives a program no key of its own while another one is in front: the compositor has to run a command.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from app.base import desktop_entries
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.values import dataclass
from app.commands.gsettings import change, has_extension, run_at, taken
from app.desktop.keys import chord
from app.desktop.wayland.gnome import accelerator
from app.options import add_yes_option, is_agreed, say, warn
from app.settings.catalog import STOP_KEY, SUMMON_KEY
from app.settings.store import Settings, load

_COMMANDS = {SUMMON_KEY: "presence toggle", STOP_KEY: "stop"}
KEY_COMMANDS = {"summon": SUMMON_KEY, "stop": STOP_KEY}
"""The keys by the names of their shortcuts on GNOME."""
_HEAD = "# Wisp: the summon key and the stop key"
_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Compositor:
    """A compositor with a configuration that Wisp can write. `modifiers` are its words for those in `Chord`."""

    name: str
    file: Path
    binding: str
    """A line that runs {command} at the key {key}, pressed with {modifiers}."""
    joined: str
    reload: tuple[str, ...]
    modifiers: Mapping[str, str]
    begins: str = ""
    """What the file must begin with where it is new, because it replaces the system's."""

    def lines(self, settings: Settings) -> dict[str, str]:
        """Return the line for each key that is set, by the end of its command. Raises ToolMisuse for a wrong key."""
        return {
            ending: self._line(settings[setting], f"{_own()} {ending}")
            for setting, ending in _COMMANDS.items()
            if settings[setting]
        }

    def _line(self, keys: str, command: str) -> str:
        *held, last = chord(keys).keys
        words = [self.modifiers[name.removesuffix("_L").removesuffix("_R")] for name in held]
        # By its code point, because the name of a sign is no sign: https://xkbcommon.org/doc/current/group__keysyms.html
        name = last if len(last) > 1 or last.isalnum() else f"U{ord(last):04X}"
        parts = {"modifiers": self.joined.join(words), "key": name, "command": command}
        return self.binding.format(**parts).replace("bindsym +", "bindsym ")

    def unbound(self, settings: Settings) -> list[str]:
        """Return the lines that the configuration lacks."""
        there = {line.strip() for line in _text(self.file).splitlines()}
        return [line for line in self.lines(settings).values() if line not in there]

    def bind(self, settings: Settings) -> None:
        """Write the lines: each in the place of the one that ran its command before, else at the end."""
        wanted = self.lines(settings)
        text = _text(self.file) or self.begins
        kept = [line for line in text.splitlines() if not self._is_replaced(line, wanted)]
        added = [line for line in wanted.values() if line not in {each.strip() for each in kept}]
        if _HEAD not in kept:
            added.insert(0, _HEAD)
        at = kept.index(_HEAD) + 1 if _HEAD in kept else len(kept)
        kept[at:at] = added
        self.file.parent.mkdir(parents=True, exist_ok=True)
        # Written through, because people keep such files as links into a folder of their own.
        self.file.write_text("\n".join([*kept, ""]), encoding="utf-8")

    def _is_replaced(self, line: str, wanted: Mapping[str, str]) -> bool:
        """True if the line binds another key to a command of Wisp."""
        words = line.strip()
        is_binding = words.startswith(self.binding.split()[0])
        return is_binding and any(words.endswith(f"{_own()} {end}") and words != wanted[end] for end in wanted)


def _own() -> str:
    """The command that runs this Wisp, wherever a compositor starts it."""
    command = desktop_entries.command_anywhere()
    return "wisp" if [shutil.which("wisp")] == command else shlex.join(command)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def compositor_here() -> Compositor | None:
    """None if Wisp cannot write the configuration of this session's compositor."""
    if os.environ.get("SWAYSOCK"):
        return _sway()
    if os.environ.get("HYPRLAND_INSTANCE_SIGNATURE"):
        return _hyprland()
    return None


def _config_home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _sway() -> Compositor:
    """https://man.archlinux.org/man/sway.5: bindsym. A file of the person's own replaces the system's."""
    try:
        command = ["swaymsg", "-r", "-t", "get_version"]
        told = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=True).stdout
        loaded = Path(json.loads(told)["loaded_config_file_name"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        loaded = _config_home() / "sway" / "config"
    is_own = not loaded.is_relative_to("/etc") and not loaded.is_relative_to("/usr")
    return Compositor(
        "sway",
        loaded if is_own else _config_home() / "sway" / "config",
        "bindsym {modifiers}+{key} exec {command}",
        "+",
        ("swaymsg", "reload"),
        {"Control": "Ctrl", "Alt": "Alt", "Shift": "Shift", "Super": "Mod4"},
        "" if is_own else f"include {loaded}",
    )


def _hyprland() -> Compositor:
    """https://wiki.hypr.land/Configuring/Binds/"""
    return Compositor(
        "Hyprland",
        _config_home() / "hypr" / "hyprland.conf",
        "bind = {modifiers}, {key}, exec, {command}",
        " ",
        ("hyprctl", "reload"),
        {"Control": "CTRL", "Alt": "ALT", "Shift": "SHIFT", "Super": "SUPER"},
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_yes_option(parser)


def run(options: argparse.Namespace) -> int:
    settings, here = load(), compositor_here()
    if here is None and is_gnome():
        return _bind_on_gnome(settings, options)
    if here is None:
        raise NeedsPerson(_by_hand(settings))
    try:
        missing = here.unbound(settings)
        if not missing:
            say("{file} has Wisp's keys already.", file=str(here.file))
            return 0
        print(*missing, sep="\n")
        if not is_agreed("Write this into {file}?", options, file=str(here.file)):
            return 1
        here.bind(settings)
    except ToolMisuse as error:
        raise NeedsPerson(f"{error} Choose another key in Wisp's settings.") from error
    try:
        subprocess.run(here.reload, capture_output=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        warn(
            "Wisp's keys are written, but {name} has not read them yet. Run: {command}",
            name=here.name,
            command=shlex.join(here.reload),
        )
        return 1
    say("Done. {name} knows Wisp's keys now.", name=here.name)
    return 0


def is_gnome() -> bool:
    return "GNOME" in os.environ.get("XDG_CURRENT_DESKTOP", "").split(":")


def _bind_on_gnome(settings: Settings, options: argparse.Namespace) -> int:
    """Let GNOME run Wisp's commands, unless Wisp's extension of the Shell hears the keys."""
    if has_extension():
        say("Wisp's extension of GNOME hears the keys already. To check them: wisp doctor")
        return 0
    found = {name: accelerator(chord(settings[key])) for name, key in KEY_COMMANDS.items() if settings[key]}
    for name, key in found.items():
        say("{key} will run “{command}”.", key=key, command=f"{_own()} {_COMMANDS[KEY_COMMANDS[name]]}")
    gone = taken(list(found.values()))
    for one in gone:
        say("{key} will no longer do “{name}” in GNOME.", key=one.key, name=one.name)
    if not is_agreed("Write this into GNOME's keyboard shortcuts?", options):
        return 1
    for one in gone:
        change(one.schema, one.name, without=one.key)
    for name, key in found.items():
        run_at(name, key, f"{_own()} {_COMMANDS[KEY_COMMANDS[name]]}")
    say("Done. You find them in GNOME's settings, under Keyboard, Custom Shortcuts.")
    return 0


def _by_hand(settings: Settings) -> str:
    if not os.environ.get("WAYLAND_DISPLAY"):
        return "This is no Wayland session, so Wisp hears its keys itself. You need not do anything."
    if "KDE" in os.environ.get("XDG_CURRENT_DESKTOP", "").split(":"):
        return "KDE tells Wisp of its keys by itself. To check them: wisp doctor"
    what = (f"{settings[setting]} to “{_own()} {end}”" for setting, end in _COMMANDS.items() if settings[setting])
    return f"Wisp cannot set up keys on this desktop. Bind them in the desktop's own settings: {_all(what)}."


def _all(parts: Iterable[str]) -> str:
    return " and ".join(parts)
