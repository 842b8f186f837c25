"""Looking at source code by its structure."""

from __future__ import annotations

import asyncio

from app.base.errors import ToolMisuse, WispError
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec
from app.services.code.definitions import MOST_BYTES, definitions, is_known
from app.services.workspace import listing
from app.services.workspace.places import Place, Workspace
from app.services.workspace.reading import open_file
from app.tools.context import TurnContext
from app.tools.registry import Family

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
            except WispError as error:
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
    """The source files beneath the place (a single file is named ''), and what has to be told about the choice."""
    if place.is_file():
        if not is_known(place.path.name):
            raise ToolMisuse(f"path: {place.shown!r} is in no language whose definitions can be read.")
        return [""], []
    found = listing.entries(place, recursive=True, most=_MOST_ENTRIES)
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
        ),
    ),
)
