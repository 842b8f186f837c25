"""Searching in files."""

from __future__ import annotations

import asyncio

from app.base.errors import Cancelled, ToolMisuse, WispError
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec, ValueType
from app.services.code import MOST_BYTES, definitions, is_known
from app.services.files import searching
from app.services.files.places import Place, Workspace
from app.services.files.reading import open_file
from app.services.files.searching import MOST_MATCHES, Query, search
from app.tools.registry import Family, TurnContext

_CARD_CHARS = 8_000


class Searches:
    """The handler of search_files."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def search(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"))
        self._workspace.check_readable(place)
        if not place.exists():
            raise ToolMisuse(f"path: there is no {place.shown!r}. list_files shows what there is.")
        query = Query(call.text("regex"), call.text("file_pattern"), call.integer("context", 1), call.flag("hidden"))
        _check(query)
        hits = await search(place, query, turn.cancelled, self._workspace.private_below(place))
        if turn.cancelled.is_set():
            raise Cancelled("The search was stopped.")
        notes = "".join(f"\n[{note}]" for note in hits.notes)
        head = f"{_count(hits.matches, 'match')} in {_count(hits.files, 'file')}." if hits.matches else "No matches."
        payload: dict[str, JsonValue] = {
            "path": place.shown,
            "outside": place.is_outside,
            "matches": hits.matches,
            "files": hits.files,
            "text": hits.text[:_CARD_CHARS],
            "notes": list(hits.notes),
        }
        return ToolResult(True, "search_files", payload, f"{head}\n{hits.text}".rstrip() + notes)


def _count(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    return f"{number} {what}{'es' if what.endswith('ch') else 's'}"


def _check(query: Query) -> None:
    for name, value in (("regex", query.pattern), ("file_pattern", query.files)):
        if "\0" in value:
            raise ToolMisuse(f"{name} contains a NUL character.")
    if not query.pattern:
        raise ToolMisuse("regex is empty: give what to search for.")


SEARCH = Family(
    Searches,
    (
        ToolSpec(
            name="search_files",
            description=(
                "Search the contents of all files in a folder with a regular expression in Rust's syntax. That has no "
                f"look-around and no back-references. At most {MOST_MATCHES} matches; `12:` marks a match, `13-` a "
                "line beside one. What .gitignore excludes, hidden and binary files are left out."
            ),
            effect=Effect.READS,
            execute=Searches.search,
            attrs=(
                Param("path", description="folder or file to search", required=True, aliases=("file", "directory")),
                Param("regex", description="what to search for", required=True, aliases=("pattern", "query")),
                Param("file_pattern", description="glob such as *.py", aliases=("glob", "include")),
                Param(
                    "context",
                    ValueType.INTEGER,
                    "lines before and after each match, 1 if left out",
                    minimum=0,
                    maximum=10,
                ),
                Param("hidden", ValueType.FLAG, "true to search hidden files too"),
            ),
            examples=('<search_files path="src" regex="def \\w+_file" file_pattern="*.py"/>',),
            taint="outside",
        ),
    ),
)

_MOST_FILES = 200
_MOST_ENTRIES = 5_000
_MOST_CHARS = 60_000


class Code:
    """The handler of list_code_definition_names."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def list_definitions(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"))
        self._workspace.check_readable(place)
        sections, notes = await asyncio.to_thread(self._outline, place)
        text = "\n\n".join(sections) or "No definitions in a language that can be read."
        payload: dict[str, JsonValue] = {"path": place.shown, "files": len(sections), "text": text[:8_000]}
        return ToolResult(True, "list_code_definition_names", payload, text + "".join(f"\n[{note}]" for note in notes))

    def _outline(self, place: Place) -> tuple[list[str], list[str]]:
        names, notes = _sources(place)
        sections: list[str] = []
        left = _MOST_CHARS
        for name in names:
            try:
                section = self._section(place, name)
            except WispError as error:  # because one unreadable file must not hide the others
                notes.append(str(error))
                continue
            left -= len(section)
            if left < 0:
                notes.append("there is more; name a folder in it, or one file")
                break
            sections += [section] if section else []
        return sections, notes

    def _section(self, place: Place, name: str) -> str:
        file_place = self._workspace.locate(str(place.path / name)) if name else place
        with open_file(self._workspace, file_place) as file:
            source = file.read(MOST_BYTES + 1)
        if len(source) > MOST_BYTES:
            raise ToolMisuse(f"{file_place.shown!r} is over {MOST_BYTES} bytes and was left out")
        found = definitions(source, file_place.path.name)
        lines = [f"{one.line} | {'  ' * one.depth}{one.text}" for one in found]
        return "\n".join([f"{file_place.shown}:", *lines]) if lines else ""


def _sources(place: Place) -> tuple[list[str], list[str]]:
    """Return the source files below the place (a single file has the name ''), and notes about files left out."""
    if place.is_file():
        if not is_known(place.path.name):
            raise ToolMisuse(f"path: {place.shown!r} is in no language whose definitions can be read.")
        return [""], []
    found = searching.entries(place, recursive=True, most=_MOST_ENTRIES)
    names = [entry for entry in found.entries if not entry.endswith(("/", "@")) and is_known(entry)]
    if len(names) > _MOST_FILES or found.is_cut:
        return names[:_MOST_FILES], [f"only the first {min(len(names), _MOST_FILES)} source files were looked at"]
    return names, []


CODE = Family(
    Code,
    (
        ToolSpec(
            name="list_code_definition_names",
            description=(
                "List the classes, functions, methods and types that the source files of a folder (or a file) define, "
                "with line numbers. Python, JavaScript, TypeScript, Rust, Go, Java, C, C++, C#, Ruby, PHP, shell."
            ),
            effect=Effect.READS,
            execute=Code.list_definitions,
            attrs=(Param("path", description="folder or file", required=True, aliases=("file", "directory")),),
            examples=('<list_code_definition_names path="src"/>',),
            taint="outside",
        ),
    ),
)
