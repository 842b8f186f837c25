"""Edit a client's configuration file where Wisp's entry is, and leave every other character as it is.

JSON with comments, TOML and YAML are edited as text, because their libraries lose comments or change the layout. What
comes of it is read again: if it says anything else than what was meant, the file is left alone.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit
import yaml

from app.base import own_files
from app.base.commented_json import as_json, without_comments
from app.base.errors import NeedsPerson

_BOM = "\ufeff"
_MOST_BYTES = 50_000_000
_NEW_MODE = 0o600
_INDENT = "  "
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")


class ClientFile(ABC):
    """A configuration file with an object of servers at `key`. All methods block, and raise NeedsPerson or OSError."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = key

    def entry(self, name: str) -> object:
        """None if there is no entry of that name."""
        return self._servers(self._parsed(self.text())).get(name)

    def edited(self, name: str, entry: Mapping[str, Any] | None) -> str:
        """Return the file's text with this entry, or without one of that name if `entry` is None."""
        before = self.text()
        wanted = self._parsed(before)
        servers = dict(self._servers(wanted))
        if entry is None:
            servers.pop(name, None)
        else:
            servers[name] = dict(entry)
        mark = _BOM if before.startswith(_BOM) else ""
        try:
            text = mark + self._edit(before.removeprefix(_BOM), name, entry)
            is_as_meant = self._servers(self._parsed(text)) == servers
            is_as_meant = is_as_meant and _others(self._parsed(text), self.key) == _others(wanted, self.key)
        except (_Unusual, NeedsPerson):
            is_as_meant = False
        if not is_as_meant:
            raise NeedsPerson(
                f"{self.path} is written in a way that Wisp cannot edit safely, so it was left alone. Change the entry "
                f"{name} of {self.key} by hand."
            )
        return text

    def write(self, name: str, entry: Mapping[str, Any] | None) -> None:
        text = self.edited(name, entry)
        path = Path(os.path.realpath(self.path))  # because people keep such files as links into a folder of their own
        path.parent.mkdir(parents=True, exist_ok=True)
        own_files.write(path, text, path.stat().st_mode & 0o777 if path.exists() else _NEW_MODE)

    def text(self) -> str:
        """What it holds; "" if there is no file."""
        if not os.path.lexists(self.path):
            return ""
        try:
            if not self.path.is_file() or self.path.stat().st_size > _MOST_BYTES:
                raise self._unreadable("it is no ordinary file, or a very long one")
            return self.path.read_bytes().decode()
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise self._unreadable("it is not UTF-8") from error

    def _parsed(self, text: str) -> Mapping[str, Any]:
        try:
            tree = self._read(text.removeprefix(_BOM)) if text.strip(_BOM + " \t\r\n") else {}
        except (ValueError, RecursionError, yaml.YAMLError) as error:
            raise self._unreadable(" ".join(str(error).split())) from error
        if not isinstance(tree, dict) or not isinstance(tree.get(self.key) or {}, dict):
            raise self._unreadable(f"it holds no {self.key}")
        return tree

    def _unreadable(self, why: str) -> NeedsPerson:
        return NeedsPerson(f"{self.path} cannot be read, so it was left alone: {why}. Mend it, and say this again.")

    def _servers(self, tree: Mapping[str, Any]) -> Mapping[str, Any]:
        return tree.get(self.key) or {}

    @abstractmethod
    def _read(self, text: str) -> object:
        """Raises ValueError."""

    @abstractmethod
    def _edit(self, text: str, name: str, entry: Mapping[str, Any] | None) -> str:
        """Raises _Unusual if the text is written in a way that is not known here."""


class _Unusual(Exception):
    """A file is written in a way that is not known here."""


def _others(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name != key}


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_around(text: str, start: int, stop: int) -> tuple[int, int]:
    """From the start of the first line to the end of the last one, without its line end."""
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end - text[:end].endswith("\r")
    return text.rfind("\n", 0, start) + 1, max(end, stop)


class JsonFile(ClientFile):
    """JSON, with comments and trailing commas or without."""

    def _read(self, text: str) -> object:
        return json.loads(as_json(text))

    def _edit(self, text: str, name: str, entry: Mapping[str, Any] | None) -> str:
        if not text.strip():
            return _json_member("", self.key, {name: entry}, "", _INDENT, "\n").join(("{\n", "\n}\n"))
        top = as_json(text).index("{")
        holder = _named(text, top, self.key)
        if holder is None:
            return _with_json_member(text, top, self.key, {name: entry})
        if text[holder.value] != "{":
            raise _Unusual
        old = _named(text, holder.value, name)
        if entry is None:
            return text if old is None else _without_json_member(text, holder.value, old)
        if old is None:
            return _with_json_member(text, holder.value, name, entry)
        start, _ = _line_around(text, old.start, old.stop)
        margin = text[start : old.start] if not text[start : old.start].strip() else ""
        new = _json_member(margin, name, entry, "", _unit(text), _line_end(text)).lstrip()
        return text[: old.start] + new + text[old.stop :]


class _Member(NamedTuple):
    """A member of a JSON object: its key begins at `start`, its value at `value`, and it ends before `stop`."""

    key: str
    start: int
    value: int
    stop: int


def _members(text: str, at: int) -> tuple[list[_Member], int]:
    """With the place of the closing brace. The object begins at `at`."""
    plain = as_json(text)
    found: list[_Member] = []
    at = _visible(plain, at + 1)
    while plain[at] != "}":
        key, end = _DECODER.raw_decode(plain, at)
        value = _visible(plain, _visible(plain, end) + 1)
        _, stop = _DECODER.raw_decode(plain, value)
        found.append(_Member(key, at, value, stop))
        at = _visible(plain, stop)
        if plain[at] == ",":
            at = _visible(plain, at + 1)
    return found, at


def _visible(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _named(text: str, at: int, key: str) -> _Member | None:
    return next((one for one in reversed(_members(text, at)[0]) if one.key == key), None)


def _json_member(margin: str, key: str, value: object, before: str, unit: str, line_end: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).splitlines()
    return before + margin + json.dumps(key, ensure_ascii=False) + ": " + f"{line_end}{margin}".join(lines)


def _unit(text: str) -> str:
    """The indentation of one level."""
    found = re.search(r"^[ \t]+(?=\")", without_comments(text), re.MULTILINE)
    return found[0] if found else _INDENT


def _with_json_member(text: str, at: int, key: str, value: object) -> str:
    """The object begins at `at`. The new member is the last one."""
    members, close = _members(text, at)
    unit, new_line = _unit(text), _line_end(text)
    if not members:
        start, _ = _line_around(text, at, at)
        margin = text[start:at][: _visible(text, start) - start]
        new = _json_member(margin + unit, key, value, new_line, unit, new_line)
        inside = text[at + 1 : close]
        return text[: at + 1] + new + (inside if inside.strip() else new_line + margin) + text[close:]
    last = members[-1]
    start, _ = _line_around(text, last.start, last.start)
    _, end = _line_around(text, last.stop, last.stop)
    has_comma = "," in without_comments(text)[last.stop : close]
    comma, tail = ("", ",") if has_comma else (",", "")
    if text[start : last.start].strip():  # because the whole object stands in one line
        new = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}{tail}"
        end = -1
    else:
        new = _json_member(text[start : last.start], key, value, new_line, unit, new_line) + tail
    if end < 0 or as_json(text)[last.stop : end].strip():  # because the closing brace stands in this line, too
        end = last.stop + len(text[last.stop : close].rstrip())
    return text[: last.stop] + comma + text[last.stop : end] + new + text[end:]


def _without_json_member(text: str, at: int, gone: _Member) -> str:
    members, close = _members(text, at)
    kept = without_comments(text)
    before = next((one.stop for one in reversed(members) if one.stop <= gone.start), None)
    around = text[at + 1 : gone.start] + text[gone.stop : close]
    if len(members) == 1 and not around.strip():
        return text[: at + 1] + text[close:]
    start, stop = gone.start, gone.stop
    if kept[(comma := _visible(kept, stop))] == ",":
        stop = comma + 1
    elif before is not None:  # so that the member before it, which is the last one now, has no comma
        comma = kept.index(",", before)
        if not text[comma + 1 : start].strip():
            return text[:comma] + text[stop:]
        text, start, stop = text[:comma] + text[comma + 1 :], start - 1, stop - 1
    line, end = _line_around(text, start, stop)
    if not text[line:start].strip() and not text[stop:end].strip():
        start, stop = line, min(text.find("\n", end) + 1 or end, len(text))
    return text[:start] + text[stop:]


class TomlFile(ClientFile):
    """TOML in which each server is a table with a header of its own."""

    def _read(self, text: str) -> object:
        return tomllib.loads(text)

    def _edit(self, text: str, name: str, entry: Mapping[str, Any] | None) -> str:
        new_line = _line_end(text)
        new = tomlkit.dumps({self.key: {name: entry}}).replace("\n", new_line) if entry else ""
        lines = text.splitlines(keepends=True)
        headers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
        own = re.compile(rf"""\s*\[\s*{re.escape(self.key)}\s*\.\s*["']?{re.escape(name)}["']?\s*[.\]]""")
        where: int | None = None
        for number, following in reversed([*pairwise([*headers, len(lines)])]):
            if own.match(lines[number]):
                where = number
                del lines[number : _last_value(lines, number, following) + 1]
        if where is None:
            gap = new_line if text.strip() else ""
            end = new_line if text and not text.endswith("\n") else ""
            return text + end + gap + new if new else text
        if not new and where and not lines[where - 1].strip() and not "".join(lines[where : where + 1]).strip():
            del lines[where - 1]
        return "".join([*lines[:where], new, *lines[where:]])


def _last_value(lines: Sequence[str], header: int, following: int) -> int:
    """The table's last line that says something. Comments behind it belong to the next table."""
    said = (number for number in range(following - 1, header, -1) if lines[number].split("#")[0].strip())
    return next(said, header)


class YamlFile(ClientFile):
    """YAML in which each server stands in lines of its own."""

    def _read(self, text: str) -> object:
        return yaml.safe_load(text) or {}

    def _edit(self, text: str, name: str, entry: Mapping[str, Any] | None) -> str:
        new_line = _line_end(text)
        if text and not text.endswith("\n"):
            text += new_line
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        servers = next((value for key, value in pairs if key.value == self.key), None)
        if servers is None:
            return f"{text}{self.key}:{new_line}{_yaml_lines(name, entry, _INDENT, new_line)}" if entry else text
        if not servers.value or servers.tag.endswith(":null"):
            rest = text[servers.end_mark.index :].lstrip(" \t")
            lines = _yaml_lines(name, entry, _INDENT, new_line) if entry else ""
            return text[: servers.start_mark.index].rstrip(" \t") + new_line + lines + rest.removeprefix(new_line)
        if servers.flow_style or not isinstance(servers, yaml.MappingNode):
            raise _Unusual
        first, _ = servers.value[0]
        margin = " " * first.start_mark.column
        new = _yaml_lines(name, entry, margin, new_line) if entry else ""
        for key, value in servers.value:
            if key.value == name:
                start, stop = key.start_mark.index - key.start_mark.column, _end_of(value, text)
                if not new and len(servers.value) == 1:
                    start = text.rindex(":", 0, servers.start_mark.index) + 1
                    new = " {}" + new_line
                return text[:start] + new + text[stop:]
        end = _end_of(servers, text)
        return text[:end] + new + text[end:]


def _yaml_lines(name: str, entry: Mapping[str, Any], margin: str, new_line: str) -> str:
    dumped = yaml.safe_dump({name: dict(entry)}, sort_keys=False, allow_unicode=True, width=1_000_000)
    return "".join(f"{margin}{line}{new_line}" for line in dumped.splitlines())


def _end_of(node: yaml.Node, text: str) -> int:
    """Where the line after a node begins. A block's own mark is behind the comments of what follows."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    at = int(node.end_mark.index)
    return at if text[:at].endswith("\n") else text.find("\n", at) + 1 or len(text)
