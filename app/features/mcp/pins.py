"""What the person agreed to for each server: how it starts, what its tools are, and whether it is trusted.

A tool is its name, description, schema, its claim to change nothing and its page. The server writes all of them, and
may change them tomorrow. A changed tool is off until the person agrees again. The agreements are one JSON file, written
atomically.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.base import own_files
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.signs import plain
from app.base.values import dataclass

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_MOST_BYTES = 256_000
_MOST_DEPTH = 40  # because `json.dumps` raises RecursionError on deep nesting
_MOST_NAME = 128
_OLD_REACH = {"walled": "sandboxed", "unwalled": "unsandboxed"}
"""How earlier versions saved what a server can access."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class ServedTool:
    """A tool as a server describes it. `only_reads` is the server's claim; it counts only for a trusted server.

    `page` is the address of the page that the server ships with the tool, or "".
    """

    name: str
    description: str
    schema: Mapping[str, Json]
    only_reads: bool = False
    page: str = ""


@dataclass(frozen=True, slots=True)
class ServedPrompt:
    """A prompt that a server offers: its name, the names of its arguments, and of those that are required."""

    name: str
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A tool that may not be used. `was` is what the person saw before, if anything; `why` is a sentence for them."""

    tool: ServedTool
    was: ServedTool | None
    why: str


@dataclass(frozen=True, slots=True)
class Review:
    """The comparison of offered with accepted tools. `usable` are unchanged; `changed` and `gone` need the person."""

    usable: tuple[ServedTool, ...]
    changed: tuple[ChangedTool, ...]
    gone: tuple[str, ...]


def fingerprint(tool: ServedTool) -> str:
    """Return a hash of all that a tool says about itself. Only the order of the schema's keys does not matter."""
    words = [tool.name, tool.description, tool.schema, tool.only_reads, tool.page]
    text = json.dumps(words, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(page: str) -> str:
    return hashlib.sha256(page.encode(errors="replace")).hexdigest()


_Kept = dict[str, Any]


class Pins:
    """The person's agreements, in one file. If it cannot be read, NeedsPerson is raised and no tool is allowed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def agree(self, server: str, entry: str, reach: str) -> None:
        """Save that the person agreed to a server's start (`entry`: its fingerprint). All its tools are new then.

        `reach` is what it can access: sandboxed, network, remote, or unsandboxed for a program.
        """
        with own_files.locked(self._file):
            self._write({**self._read(), server: {"entry": entry, "reach": reach, "tools": {}}})

    def reach(self, server: str) -> str:
        """Return what a server of that name can access, or "" if unknown. Never raises."""
        try:
            reach = str(self._of(server).get("reach", ""))
            return _OLD_REACH.get(reach, reach)
        except NeedsPerson:  # because the gate then judges it as unknown
            return ""

    def trusts(self, server: str) -> bool:
        """Return whether the server is trusted, for the policy. Never raises: an unreadable file means no."""
        return bool(self.reach(server)) and self.is_trusted(server)

    def is_agreed(self, server: str, entry: str) -> bool:
        return bool(entry) and self._of(server).get("entry") == entry

    def knows_tools(self, server: str) -> bool:
        """True even if the list of tools that the person accepted was empty."""
        kept = self._of(server)
        return kept.get("seen") is True or bool(_tools(kept))

    def trust(self, server: str, *, is_trusted: bool) -> None:
        """Save whether a server's claims that a tool changes nothing count. Raises NeedsPerson if it is unknown."""
        with own_files.locked(self._file):
            kept = self._of(server)
            if not kept:
                raise NeedsPerson(
                    f"You have not used the tool server {server} yet. Use it once first. To list yours: wisp mcp"
                )
            self._write({**self._read(), server: {**kept, "trusted": is_trusted}})

    def is_trusted(self, server: str) -> bool:
        return self._of(server).get("trusted") is True

    def only_reads(self, server: str, tool: str) -> bool:
        """True if the server is trusted and claims so."""
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
        """Save that the person looked at exactly these tools. From now on these are accepted, and no others.

        Raises NeedsPerson for a tool that cannot be accepted at all.
        """
        taken: dict[str, str] = {}
        for tool in tools:
            if why := _unfit(tool, taken):
                raise NeedsPerson(why)
            taken[_look(tool.name)] = tool.name
        kept = {
            tool.name: {
                "description": tool.description,
                "schema": tool.schema,
                "only_reads": tool.only_reads,
                "page": tool.page,
            }
            for tool in tools
        }
        with own_files.locked(self._file):
            self._write({**self._read(), server: {**self._of(server), "tools": kept, "seen": True}})

    def is_seen_page(self, server: str, address: str, page: str) -> bool:
        """True for the page of the server that the person saw. The first one that is shown counts."""
        seen = self._of(server).get("pages", {}).get(address)
        if seen is None:
            self.accept_page(server, address, page)
        return seen is None or seen == _digest(page)

    def accept_page(self, server: str, address: str, page: str) -> None:
        """Save that the page under this address may be shown as it is now, and no other one."""
        with own_files.locked(self._file):
            kept = self._of(server)
            self._write({**self._read(), server: {**kept, "pages": {**kept.get("pages", {}), address: _digest(page)}}})

    def note_start(self, server: str, failure: str) -> None:
        """Save why the server's last start failed; "" if it worked. Unknown servers are ignored."""
        with own_files.locked(self._file):
            kept = self._of(server)
            if kept and kept.get("failure", "") != failure:
                self._write({**self._read(), server: {**kept, "failure": failure}})

    def failure(self, server: str) -> str:
        """Return why the server's last start failed; "" if it worked or was never tried."""
        return str(self._of(server).get("failure", ""))

    def note_prompts(self, server: str, prompts: Sequence[ServedPrompt]) -> None:
        """Save the prompts that the server offers now, for commands. Unknown servers are ignored."""
        told = [[one.name, list(one.arguments), list(one.required)] for one in prompts]
        with own_files.locked(self._file):
            kept = self._of(server)
            if kept and kept.get("prompts", []) != told:
                self._write({**self._read(), server: {**kept, "prompts": told}})

    def prompts(self, server: str) -> tuple[ServedPrompt, ...]:
        """Return the prompts that the server offered when Wisp last asked it."""
        kept = self._of(server).get("prompts", [])
        return tuple(ServedPrompt(name, tuple(names), tuple(needed)) for name, names, needed in kept)

    def accepted(self, server: str) -> tuple[ServedTool, ...]:
        """Return the tools of the server that the person agreed to."""
        return tuple(_tool(name, kept) for name, kept in _tools(self._of(server)).items())

    def forget(self, server: str) -> None:
        """Delete everything about a server. If it is added again, all its tools are new."""
        with own_files.locked(self._file):
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
        own_files.write(self._file, json.dumps(pins, sort_keys=True))


def fit_tools(tools: Sequence[ServedTool]) -> tuple[ServedTool, ...]:
    """Return the tools that the person may accept: those with a plain, unique name and no hidden text."""
    taken: dict[str, str] = {}
    looks = [_look(tool.name) for tool in tools]
    return tuple(
        tool for tool, look in zip(tools, looks, strict=True) if looks.count(look) == 1 and not _unfit(tool, taken)
    )


def fit_prompts(told: Sequence[Mapping[str, Any]]) -> tuple[ServedPrompt, ...]:
    """The prompts that can be typed as commands: names and arguments are plain, each name is unique."""
    found: dict[str, ServedPrompt] = {}
    for one in told:
        parts = [(str(part["name"]), part["required"] is True) for part in one["arguments"]]
        if all(_PLAIN_NAME.fullmatch(name) for name in (str(one["name"]), *(name for name, _ in parts))):
            made = ServedPrompt(
                str(one["name"]), tuple(name for name, _ in parts), tuple(n for n, must in parts if must)
            )
            found.setdefault(made.name, made)
    return tuple(found.values())


def named_tool(review: Review, name: str) -> ServedTool:
    """Return the usable tool of that name. Raises ToolMisuse, which lists the usable tools."""
    found = next((tool for tool in review.usable if tool.name == name), None)
    if found is None:
        names = _listed([tool.name for tool in review.usable])
        why = next((f" {change.why}" for change in review.changed if change.tool.name == name), "")
        raise ToolMisuse(f"tool_name: there is no usable tool {clip_line(name, 64)!r}.{why} It has {names}.")
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:30]) or "none"
    return f"{shown} and {len(names) - 30} more" if len(names) > 30 else shown


def _tools(kept: _Kept) -> dict[str, _Kept]:
    found = kept.get("tools")
    return {name: tool for name, tool in found.items() if isinstance(tool, dict)} if isinstance(found, dict) else {}


def _tool(name: str, kept: _Kept) -> ServedTool:
    schema = kept.get("schema")
    only_reads = kept.get("only_reads") is True
    fitting = schema if isinstance(schema, Mapping) else {}
    return ServedTool(name, str(kept.get("description", "")), fitting, only_reads, str(kept.get("page", "")))


def _unfit(tool: ServedTool, taken: Mapping[str, str]) -> str:
    """Why the model may not see a tool; "" if it may. `taken`: the names of the tools before it."""
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
    parts = [name for name in ("description", "schema", "page") if getattr(tool, name) != getattr(was, name)]
    parts += ["claim to change nothing"] if tool.only_reads != was.only_reads else []
    return f"{tool.name} has another {' and '.join(parts) or 'spelling'} than when you looked at it."


def _look(name: str) -> str:
    """As it looks to people: upper case, letter width, and dashes or dots make no difference."""
    return unicodedata.normalize("NFKC", name).casefold().replace("-", "_").replace(".", "_")


def _depth(value: Json) -> int:
    """Without recursion, because that may exceed Python's stack."""
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
