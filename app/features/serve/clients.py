"""The agents that can use Wisp's MCP server: where each keeps its servers, and how Wisp is entered there."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from app.base.desktop_entries import command_anywhere
from app.base.errors import NeedsPerson
from app.base.phrases import Phrase
from app.base.remains import Remains
from app.base.signs import revealed
from app.features.serve.client_files import ClientFile, JsonFile, TomlFile, YamlFile

NAME = "wisp"
"""The name of the entry."""
_SERVE = ["mcp", "serve"]
_ABOUT = "See and use this desktop through Wisp"
_GOOSE_LIMIT_S = 300
_SWITCHES = frozenset({"enabled", "disabled"})
_COMMAND_LIMIT_S = 60.0
_SESSION = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_TYPE",
    "XDG_CURRENT_DESKTOP", "SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "WISP_DATA_DIR", "WISP_PRESENCE",
)  # fmt: skip
"""Variables that lead to the person's desktop and to Wisp's settings."""


def serve_command(options: Sequence[str] = ()) -> list[str]:
    """Return the command that starts the server in whatever folder, with these options."""
    return [*command_anywhere(), *_SERVE, *options]


def shown(command: Sequence[str]) -> str:
    """Return a command as it is typed, for the person. What a file holds cannot steer their terminal."""
    return revealed(shlex.join(command))


class Client(ABC):
    """An agent. `program` is its command, `folder` what is there once it has run. All methods block."""

    def __init__(self, name: str, program: str, folder: Path, file: ClientFile) -> None:
        self.name = name
        self.program = program
        self.file = file
        self._folder = folder

    @property
    def is_here(self) -> bool:
        return bool(shutil.which(self.program)) or self._folder.is_dir()

    def entered(self) -> list[str]:
        """Return the command or address of its entry for Wisp; empty if there is none. Raises NeedsPerson."""
        entry = self.file.entry(NAME)
        if entry is None:
            return []
        told: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
        first = next((told[key] for key in ("command", "cmd", "url", "uri") if told.get(key)), "an empty entry")
        args = told.get("args")
        return [str(first), *map(str, args if isinstance(args, list) else [])]

    @abstractmethod
    def is_up_to_date(self, command: Sequence[str]) -> bool:
        """The entry must be the one that would be written for this command."""

    @abstractmethod
    def change(self, command: Sequence[str] | None) -> str:
        """Return exactly what `apply` would change. Raises NeedsPerson if it cannot be changed."""

    @abstractmethod
    def apply(self, command: Sequence[str] | None) -> None:
        """Enter this command, or take the entry out if it is None. Raises NeedsPerson or OSError."""


class EditedClient(Client):
    """An agent whose file is edited. `entry` makes its entry from the command."""

    def __init__(
        self, name: str, program: str, folder: Path, file: ClientFile, entry: Callable[[Sequence[str]], dict[str, Any]]
    ) -> None:
        super().__init__(name, program, folder, file)
        self._entry = entry

    def is_up_to_date(self, command: Sequence[str]) -> bool:
        return self.file.entry(NAME) == self._wanted(command)

    def change(self, command: Sequence[str] | None) -> str:
        after = self.file.edited(NAME, self._wanted(command))
        lines = difflib.unified_diff(self.file.text().splitlines(), after.splitlines(), n=0, lineterm="")
        changed = [f"  {revealed(line)}" for line in [*lines][2:] if not line.startswith("@@")]
        return "\n".join([f"In {self.file.path}:", *changed])

    def apply(self, command: Sequence[str] | None) -> None:
        self.file.write(NAME, self._wanted(command))

    def _wanted(self, command: Sequence[str] | None) -> dict[str, Any] | None:
        """The entry, with what the person wrote into Wisp's entry but a switch that turns it off."""
        if command is None:
            return None
        found = self.file.entry(NAME)
        known = found if isinstance(found, dict) and is_wisps(self.entered()) else {}
        return {key: value for key, value in known.items() if key not in _SWITCHES} | self._entry(command)


class CommandedClient(Client):
    """An agent whose own command changes its file, as Claude Code does, which writes that file while it runs."""

    def is_up_to_date(self, command: Sequence[str]) -> bool:
        return self.entered() == [*command]

    def change(self, command: Sequence[str] | None) -> str:
        if not shutil.which(self.program):
            raise NeedsPerson(
                f"Wisp needs the command {self.program} to set up {self.name}, and it is not installed. Install it, or "
                "add its folder to PATH, then try again."
            )
        return "\n".join(["These commands would run:", *(f"  {shlex.join(one)}" for one in self._commands(command))])

    def apply(self, command: Sequence[str] | None) -> None:
        for one in self._commands(command):
            words = [shutil.which(one[0]) or one[0], *one[1:]]
            try:
                done = subprocess.run(
                    words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                    timeout=_COMMAND_LIMIT_S, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired as error:
                raise NeedsPerson(f"`{shlex.join(one)}` did not end in {_COMMAND_LIMIT_S:.0f} s.") from error
            if done.returncode:
                why = (done.stderr or done.stdout).strip()
                raise NeedsPerson(f"`{shlex.join(one)}` failed (exit code {done.returncode}): {why}")

    def _commands(self, command: Sequence[str] | None) -> list[list[str]]:
        # It adds nothing where there is an entry of that name.
        gone = [[self.program, "mcp", "remove", "--scope", "user", NAME]] if self.entered() else []
        return [*gone, *([[self.program, "mcp", "add", "--scope", "user", NAME, "--", *command]] if command else [])]


def is_wisps(command: Sequence[str]) -> bool:
    """True if this command of an entry starts a Wisp's server."""
    serves = next((at for at in range(1, len(command)) if [*command[at : at + 2]] == _SERVE), 0)
    starts = [*command[:serves]]
    return starts == command_anywhere() or starts[-2:] == ["-m", "app"] or [Path(one).stem for one in starts] == [NAME]


def clients() -> dict[str, Client]:
    """Return the agents by the names that the command line has for them."""
    home = Path.home()
    moved = os.environ.get("CLAUDE_CONFIG_DIR")  # https://code.claude.com/docs/en/settings
    claude, claude_file = Path(moved or home / ".claude"), Path(moved or home) / ".claude.json"
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")  # https://developers.openai.com/codex/config-advanced
    cursor = home / ".cursor"  # https://cursor.com/docs/mcp
    code, goose = _code_folder(home), _goose_folder(home)
    return {
        "claude": CommandedClient("Claude Code", "claude", claude, JsonFile(claude_file, "mcpServers")),
        "codex": EditedClient("Codex", "codex", codex, TomlFile(codex / "config.toml", "mcp_servers"), _codex_entry),
        "cursor": EditedClient("Cursor", "cursor", cursor, JsonFile(cursor / "mcp.json", "mcpServers"), _plain_entry),
        "vscode": EditedClient("VS Code", "code", code, JsonFile(code / "User" / "mcp.json", "servers"), _code_entry),
        "goose": EditedClient("Goose", "goose", goose, YamlFile(goose / "config.yaml", "extensions"), _goose_entry),
    }


def _code_folder(home: Path) -> Path:
    """https://code.visualstudio.com/docs/configure/settings#_user-settingsjson-location"""
    if sys.platform == "win32":
        return _app_data(home) / "Code"
    elif sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Code"
    else:
        return _config_home(home) / "Code"


def _goose_folder(home: Path) -> Path:
    """https://block.github.io/goose/docs/guides/config-files"""
    return _app_data(home) / "Block" / "goose" / "config" if sys.platform == "win32" else _config_home(home) / "goose"


def _app_data(home: Path) -> Path:
    return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")


def _config_home(home: Path) -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def _plain_entry(command: Sequence[str]) -> dict[str, Any]:
    return {"command": command[0], "args": [*command[1:]]}


def _code_entry(command: Sequence[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain_entry(command)}


def _codex_entry(command: Sequence[str]) -> dict[str, Any]:
    # Codex starts servers without the variables of the session, and `codex mcp add` cannot name those that it should
    # pass on: https://github.com/openai/codex/issues/43669
    return {**_plain_entry(command), "env_vars": [*_SESSION]}


def _goose_entry(command: Sequence[str]) -> dict[str, Any]:
    return {
        "enabled": True,
        "type": "stdio",
        "name": NAME,
        "description": _ABOUT,
        "cmd": command[0],
        "args": [*command[1:]],
        "envs": {},
        "env_keys": [],
        "timeout": _GOOSE_LIMIT_S,
    }


def remains() -> Sequence[Remains]:
    """Return the entries of Wisp's server in other agents, as far as their files can be read."""
    found = []
    for client in clients().values():
        with suppress(NeedsPerson):
            if is_wisps(client.entered()):
                found.append(
                    Remains(
                        Phrase("Wisp's tool server in {program}", {"program": client.name}), partial(client.apply, None)
                    )
                )
    return found
