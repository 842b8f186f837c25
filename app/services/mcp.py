"""What each server's tools were when the person looked at them; what has changed since is off until they look again.

A tool is its name, its description and its schema: all three are words that a server writes and a model reads, and a
server may serve others tomorrow. The pins are one JSON file, written whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.base.errors import NeedsPerson
from app.base.texts import plain
from app.base.values import dataclass

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_MOST_BYTES = 256_000
_MOST_DEPTH = 40


@dataclass(frozen=True, slots=True)
class ServedTool:
    """A tool as a server describes it."""

    name: str
    description: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A tool that is off. `was` is what the person saw, None for one they never saw; `why` is a sentence for them."""

    tool: ServedTool
    was: ServedTool | None
    why: str


@dataclass(frozen=True, slots=True)
class Review:
    """`usable` tools are as they were seen; `changed` and `gone` (names) are what the person has to look at."""

    usable: tuple[ServedTool, ...]
    changed: tuple[ChangedTool, ...]
    gone: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        return not self.changed and not self.gone


def fingerprint(tool: ServedTool) -> str:
    """The same for the same words, whatever the order of a schema's keys; different for any other sign in them."""
    text = json.dumps([tool.name, tool.description, tool.schema], sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Pins:
    """The pins in one file. Raises NeedsPerson where the file cannot be read: nothing is believed then."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def review(self, server: str, tools: Sequence[ServedTool]) -> Review:
        """Which of the tools a server offers now may be used."""
        pinned = self._read().get(server, {})
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
        """The person has looked at exactly these tools of the server: they count from now on, and no others.

        Raises NeedsPerson for tools that cannot be believed whatever a person says.
        """
        taken: dict[str, str] = {}
        for tool in tools:
            if why := _unfit(tool, taken):
                raise NeedsPerson(why)
            taken[_look(tool.name)] = tool.name
        kept: dict[str, Mapping[str, Json]] = {
            tool.name: {"description": tool.description, "schema": tool.schema} for tool in tools
        }
        self._write({**self._read(), server: kept})

    def forget(self, server: str) -> None:
        """The server is gone; should it come back, all its tools are new."""
        self._write({name: tools for name, tools in self._read().items() if name != server})

    def _read(self) -> dict[str, dict[str, dict[str, Json]]]:
        try:
            found: dict[str, dict[str, dict[str, Json]]] = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:  # because no server was approved yet
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise NeedsPerson(
                f"{self._file} cannot be read ({error}); remove it and look at all tools again."
            ) from None
        if not isinstance(found, dict) or not all(isinstance(tools, dict) for tools in found.values()):
            raise NeedsPerson(f"{self._file} is damaged; remove it and look at all tools again.")
        return found

    def _write(self, pins: Mapping[str, Mapping[str, Mapping[str, Json]]]) -> None:
        beside = self._file.with_suffix(".new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(pins, file, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self._file)  # so that a crash never leaves half a file


def _tool(name: str, kept: Mapping[str, Json]) -> ServedTool:
    schema = kept.get("schema")
    return ServedTool(name, str(kept.get("description", "")), schema if isinstance(schema, Mapping) else {})


def _unfit(tool: ServedTool, taken: Mapping[str, str]) -> str:
    """Why the tool is not to be shown to a model at all; empty where it may be."""
    other = taken.get(_look(tool.name))
    if other is not None:
        return f"{tool.name!r} looks like the server's other tool {other!r}; only one of them can be meant."
    if not tool.name.isascii() or not tool.name.replace("_", "").replace("-", "").replace(".", "").isalnum():
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
    return f"{tool.name} has another {' and '.join(parts) or 'spelling'} than when you looked at it."


def _look(name: str) -> str:
    """A name as people tell it from others: case, width and the usual marks between words say nothing."""
    return unicodedata.normalize("NFKC", name).casefold().replace("-", "_").replace(".", "_")


def _depth(value: Json) -> int:
    """How deep it is nested, found without recursion: it may be deeper than Python's stack."""
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
