"""Servers that Wisp can import: those that other programs on this machine use, and those of the catalogue.

Both are shown in Wisp's format. Files of other programs are never written, and nothing is downloaded.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.base import resources
from app.base.commented_json import as_json
from app.base.desktop_entries import command_anywhere
from app.base.errors import NeedsPerson
from app.base.values import dataclass
from app.features.mcp.configuration import ServerEntry, entry_of
from app.settings import store

_MOST_BYTES = 10_000_000
_REFERENCE = re.compile(r"\$\{(?:env:)?\w+(?::-[^}]*)?\}")
_WRITTEN = {"workspaceFolder": ".", "workspaceRoot": ".", "userHome": "~"}
_VALUES = ("env", "headers")


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server of another program. `told` is its entry in Wisp's format; `why` says why it cannot be imported."""

    program: str
    file: Path
    name: str
    told: Mapping[str, Any]
    why: str = ""

    @property
    def entry(self) -> ServerEntry:
        return entry_of(self.name, self.told, is_own=True, home=str(self.file))


def programs() -> Mapping[str, str]:
    """Return the names of the known programs, by id."""
    return {one["id"]: one["name"] for one in _table()}


def found(workspace: Path, home: Path, program: str = "") -> list[FoundServer]:
    """Return all servers of the programs, or of one of them. An unreadable file counts as one without servers."""
    return [
        _server(one["id"], file, str(name), told)
        for one in _table()
        if program in ("", one["id"])
        for place in one["files"]
        for file in [_file(place["path"], workspace, home)]
        for name, told in _servers(file, place["key"], workspace)
    ]


@dataclass(frozen=True, slots=True)
class CatalogueServer:
    """A server of the catalogue. `asks` are the variables it needs; `entry` may contain them or `{folder}`."""

    name: str
    line: str
    needs: str
    entry: Mapping[str, Any]
    asks: tuple[str, ...] = ()

    @property
    def wants_folder(self) -> bool:
        return "{folder}" in json.dumps(self.entry)

    def filled(self, folder: str, values: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry for mcp.json, with the values filled in. Raises NeedsPerson if one is missing."""
        example = f"wisp mcp add {self.name}"
        if self.wants_folder and not folder:
            raise NeedsPerson(f"{self.name} works in one folder. Name it: {example} --folder DIR")
        if missing := [name for name in self.asks if not values.get(name)]:
            given = " ".join(f"--env {name}=…" for name in missing)
            raise NeedsPerson(f"{self.name} needs {self.needs}. Give it: {example} {given}")
        in_place = {"{folder}": folder, **{f"{{{name}}}": value for name, value in values.items()}}
        made: dict[str, Any] = _filled(dict(self.entry), in_place)
        free = {name: value for name, value in values.items() if f"{{{name}}}" not in json.dumps(self.entry)}
        return {**made, "env": free} if free else made


def _filled(part: Any, values: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {key: _filled(value, values) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, values) for value in part]
    for mark, value in values.items():
        part = part.replace(mark, value) if isinstance(part, str) else part
    return part


def catalogue(word: str = "") -> list[CatalogueServer]:
    """Return the servers of the catalogue, or those whose name or line contains the word."""
    rows: list[dict[str, Any]] = resources.table("mcp/catalogue.toml", resources.Table)["server"]
    made = [CatalogueServer(**{**row, "asks": tuple(row.get("asks", ()))}) for row in rows]
    return [one for one in made if word.lower() in f"{one.name} {one.line}".lower()]


def without_secrets(server: str, told: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Replace the values of variables and headers by references. Returns the entry and the names of the saved values.

    The values are saved where keys are saved.
    """
    made, kept = dict(told), []
    for part in _VALUES:
        values = told.get(part)
        if not isinstance(values, dict):
            continue
        made[part] = {}
        for name, value in values.items():
            if _REFERENCE.search(str(value)) or not str(value):
                made[part][name] = value
                continue
            store.keep(f"mcp/{server}/{name}", str(value))
            made[part][name] = f"${{kept:mcp/{server}/{name}}}"
            kept.append(name)
    return made, kept


def _table() -> list[dict[str, Any]]:
    programs: list[dict[str, Any]] = resources.table("mcp/programs.toml", resources.Table)["program"]
    return programs


def _file(path: str, workspace: Path, home: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else workspace / path


def _servers(file: Path, key: list[str], workspace: Path) -> Iterator[tuple[str, Any]]:
    tree = _tree(file)
    for step in key:
        tree = tree.get(step.replace("{workspace}", str(workspace))) if isinstance(tree, dict) else None
    if isinstance(tree, dict):
        yield from tree.items()


def _tree(file: Path) -> Any:
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else json.loads(as_json(text))
    except (OSError, ValueError, RecursionError):  # because that program would not read it either
        return None


def _server(program: str, file: Path, name: str, told: Any) -> FoundServer:
    if not isinstance(told, dict):
        return FoundServer(program, file, name, {}, "is no object")
    made = _as_ours(told)
    shown = json.dumps(made)
    if unknown := re.search(r"\$\{(?:input|file|command):[^}]*\}", shown):
        return FoundServer(program, file, name, made, f"wants {unknown[0]}, which only {program} can fill in")
    own, args = command_anywhere(), made.get("args")
    if [made.get("command"), *(args if isinstance(args, list) else ())][: len(own)] == own:
        return FoundServer(program, file, name, made, "is Wisp itself")
    try:
        entry_of(name, made, is_own=True, home=str(file))
    except NeedsPerson as error:
        return FoundServer(program, file, name, made, str(error))
    return FoundServer(program, file, name, made)


def _as_ours(told: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: told[name] for name in ("type", "command", "args", "env", "cwd", "headers") if name in told}
    url = next((told[name] for name in ("url", "serverUrl", "httpUrl") if name in told), None)
    headers = dict(told.get("headers") or told.get("http_headers") or {})
    if variable := told.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    for name, variable in dict(told.get("env_http_headers") or {}).items():
        headers[name] = f"${{{variable}}}"
    made |= {"url": url} if url else {}
    made |= {"headers": headers} if headers else {}
    made |= {"timeout_s": told["tool_timeout_sec"]} if "tool_timeout_sec" in told else {}
    made |= {"disabled": True} if told.get("disabled") is True or told.get("enabled") is False else {}
    text = json.dumps(made)
    for name, ours in _WRITTEN.items():
        text = text.replace(f"${{{name}}}", ours)
    ours_too: dict[str, Any] = json.loads(text)
    return ours_too
