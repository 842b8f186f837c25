"""What the person agreed to for each server: how it starts, what its tools are, and whether it is trusted.

A tool is its name, description, schema and its claim to change nothing. The server writes all of them, and may change
them tomorrow. A changed tool is off until the person agrees again. The agreements are one JSON file, written
atomically.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.base.errors import NeedsPerson
from app.base.texts import plain
from app.base.values import dataclass

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_MOST_BYTES = 256_000
_MOST_DEPTH = 40  # because `json.dumps` raises RecursionError on deep nesting
_MOST_NAME = 128
_OLD_REACH = {"walled": "sandboxed", "unwalled": "unsandboxed"}
"""How earlier versions saved what a server can access."""
_CHANGING = threading.Lock()
"""Held while the file changes, because several servers are reviewed at once, each on a thread."""


@dataclass(frozen=True, slots=True)
class ServedTool:
    """A tool as a server describes it. `only_reads` is its own claim, which counts only for trusted servers."""

    name: str
    description: str
    schema: Mapping[str, Json]
    only_reads: bool = False


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A tool that is off. `was` is what the person saw, None if they never saw it; `why` is a sentence for them."""

    tool: ServedTool
    was: ServedTool | None
    why: str


@dataclass(frozen=True, slots=True)
class Review:
    """`usable` tools are unchanged; the person must look at `changed` and `gone` (names)."""

    usable: tuple[ServedTool, ...]
    changed: tuple[ChangedTool, ...]
    gone: tuple[str, ...]


def fingerprint(tool: ServedTool) -> str:
    """Return a hash of the tool's words. The order of a schema's keys does not matter, every character does."""
    words = [tool.name, tool.description, tool.schema, tool.only_reads]
    text = json.dumps(words, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


_Kept = dict[str, Any]


class Pins:
    """The agreements in one file. Raises NeedsPerson if it cannot be read: then no tool counts as agreed to."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def agree(self, server: str, entry: str, reach: str) -> None:
        """Save that the person agreed to this start; `entry` is its fingerprint. All its tools are new then.

        `reach` is what it can access: sandboxed, network, remote, or unsandboxed for a program.
        """
        with _CHANGING:
            self._write({**self._read(), server: {"entry": entry, "reach": reach, "tools": {}}})

    def reach(self, server: str) -> str:
        """Return what a server of that name can access, or "" if unknown. Never raises."""
        try:
            reach = str(self._of(server).get("reach", ""))
            return _OLD_REACH.get(reach, reach)
        except NeedsPerson:  # because the gate then judges it as unknown
            return ""

    def trusts(self, server: str) -> bool:
        """Return whether the server is trusted, as `is_trusted` does, for the policy. Never raises."""
        return bool(self.reach(server)) and self.is_trusted(server)

    def is_agreed(self, server: str, entry: str) -> bool:
        return bool(entry) and self._of(server).get("entry") == entry

    def knows_tools(self, server: str) -> bool:
        """Return whether a list of this server's tools was accepted before, even an empty one."""
        kept = self._of(server)
        return kept.get("seen") is True or bool(_tools(kept))

    def trust(self, server: str, *, is_trusted: bool) -> None:
        """Let the server's claims to change nothing count, or not. Raises NeedsPerson for an unknown server."""
        with _CHANGING:
            kept = self._of(server)
            if not kept:
                raise NeedsPerson(
                    f"Nothing was agreed about {server} yet: use it once, or name one of `wisp mcp list`."
                )
            self._write({**self._read(), server: {**kept, "trusted": is_trusted}})

    def is_trusted(self, server: str) -> bool:
        return self._of(server).get("trusted") is True

    def only_reads(self, server: str, tool: str) -> bool:
        """Return whether the server is trusted and claims that this tool changes nothing."""
        return self.is_trusted(server) and _tools(self._of(server)).get(tool, {}).get("only_reads") is True

    def review(self, server: str, tools: Sequence[ServedTool]) -> Review:
        """Compare the offered tools with the accepted ones, and return which may be used."""
        pinned = _tools(self._of(server))
        taken: dict[str, str] = {}
        usable: list[ServedTool] = []
        changed: list[ChangedTool] = []
        for tool in tools:
            was = _tool(tool.name, pinned[tool.name]) if tool.name in pinned else None
            why = _unfit(tool, taken) or _difference(tool, was)
            taken.setdefault(_look(tool.name), tool.name)
            if why:
                changed.append(ChangedTool(tool, was, why))
            else:
                usable.append(tool)
        offered = {tool.name for tool in tools}
        usable = [tool for tool in usable if sum(other.name == tool.name for other in tools) == 1]
        return Review(tuple(usable), tuple(changed), tuple(sorted(set(pinned) - offered)))

    def accept(self, server: str, tools: Sequence[ServedTool]) -> None:
        """Save that the person looked at exactly these tools: they count from now on, and no others.

        Raises NeedsPerson for tools that are never believed.
        """
        taken: dict[str, str] = {}
        for tool in tools:
            if why := _unfit(tool, taken):
                raise NeedsPerson(why)
            taken[_look(tool.name)] = tool.name
        kept = {
            tool.name: {"description": tool.description, "schema": tool.schema, "only_reads": tool.only_reads}
            for tool in tools
        }
        with _CHANGING:
            self._write({**self._read(), server: {**self._of(server), "tools": kept, "seen": True}})

    def note_start(self, server: str, failure: str) -> None:
        """Save why the server's last start failed; "" if it worked. Unknown servers are ignored."""
        with _CHANGING:
            kept = self._of(server)
            if kept and kept.get("failure", "") != failure:
                self._write({**self._read(), server: {**kept, "failure": failure}})

    def failure(self, server: str) -> str:
        """Return why the server's last start failed; "" if it worked, or if nobody tried."""
        return str(self._of(server).get("failure", ""))

    def accepted(self, server: str) -> tuple[ServedTool, ...]:
        """Return the tools of the server that the person agreed to."""
        return tuple(_tool(name, kept) for name, kept in _tools(self._of(server)).items())

    def forget(self, server: str) -> None:
        """Forget a server. If it comes back, all its tools are new."""
        with _CHANGING:
            self._write({name: kept for name, kept in self._read().items() if name != server})

    def _of(self, server: str) -> _Kept:
        return self._read().get(server, {})

    def _read(self) -> dict[str, _Kept]:
        try:
            found: dict[str, _Kept] = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:  # because no server was approved yet
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise NeedsPerson(
                f"{self._file} cannot be read ({error}); remove it and look at all tools again."
            ) from None
        if not isinstance(found, dict) or not all(isinstance(kept, dict) for kept in found.values()):
            raise NeedsPerson(f"{self._file} is damaged; remove it and look at all tools again.")
        return found

    def _write(self, pins: Mapping[str, Mapping[str, Any]]) -> None:
        beside = self._file.with_suffix(".new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(pins, file, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self._file)  # so that a crash never leaves half a file


def fit_tools(tools: Sequence[ServedTool]) -> tuple[ServedTool, ...]:
    """Return the tools that a person may agree to: plain unique names, and nothing hidden in their words."""
    taken: dict[str, str] = {}
    looks = [_look(tool.name) for tool in tools]
    return tuple(
        tool for tool, look in zip(tools, looks, strict=True) if looks.count(look) == 1 and not _unfit(tool, taken)
    )


def _tools(kept: _Kept) -> dict[str, _Kept]:
    found = kept.get("tools")
    return {name: tool for name, tool in found.items() if isinstance(tool, dict)} if isinstance(found, dict) else {}


def _tool(name: str, kept: _Kept) -> ServedTool:
    schema = kept.get("schema")
    only_reads = kept.get("only_reads") is True
    return ServedTool(name, str(kept.get("description", "")), schema if isinstance(schema, Mapping) else {}, only_reads)


def _unfit(tool: ServedTool, taken: Mapping[str, str]) -> str:
    """Return why the model must not see the tool at all; "" if it may."""
    other = taken.get(_look(tool.name))
    if other is not None:
        return f"{tool.name!r} looks like the server's other tool {other!r}; only one of them can be meant."
    if (
        len(tool.name) > _MOST_NAME
        or not tool.name.isascii()
        or not tool.name.replace("_", "").replace("-", "").replace(".", "").isalnum()
    ):
        return f"{tool.name!r} is no plain name; letters, digits, dots, dashes and underscores are."
    if _depth(tool.schema) > _MOST_DEPTH:
        return f"{tool.name} has a schema that is nested more than {_MOST_DEPTH} times."
    try:
        text = json.dumps([tool.description, tool.schema], ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return f"{tool.name} has a schema that is no JSON."
    if len(text.encode(errors="replace")) > _MOST_BYTES:
        return f"{tool.name} is described in more than {_MOST_BYTES} bytes."
    if any(plain(word)[1] for word in (tool.description, *_words(tool.schema))):
        return f"{tool.name} has hidden signs in its description or schema, which a person would not see."
    return ""


def _difference(tool: ServedTool, was: ServedTool | None) -> str:
    if was is None:
        return f"{tool.name} is new."
    if fingerprint(tool) == fingerprint(was):
        return ""
    parts = [name for name in ("description", "schema") if getattr(tool, name) != getattr(was, name)]
    parts += ["claim to change nothing"] if tool.only_reads != was.only_reads else []
    return f"{tool.name} has another {' and '.join(parts) or 'spelling'} than when you looked at it."


def _look(name: str) -> str:
    """Return the name as people see it: without case, width and the marks between words."""
    return unicodedata.normalize("NFKC", name).casefold().replace("-", "_").replace(".", "_")


def _depth(value: Json) -> int:
    """Return the nesting depth, without recursion, because it may be deeper than Python's stack."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        one, depth = todo.pop()
        deepest = max(deepest, depth)
        if depth > _MOST_DEPTH:
            return depth
        inner = one.values() if isinstance(one, Mapping) else one if isinstance(one, (list, tuple)) else ()
        todo += [(item, depth + 1) for item in inner]
    return deepest


def _words(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [word for name, item in value.items() for word in (name, *_words(item))]
    return [word for item in value for word in _words(item)] if isinstance(value, (list, tuple)) else []
