"""Read, move and copy files and folders, and make folders.

Paths are relative to the workspace, absolute, `device:/…` or `wisp:/…`. Nothing is overwritten. One undo reverses all
moves of a call.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from app.base.errors import ToolFailed, ToolMisuse, WispError
from app.base.facts import Brought, Listed, Made
from app.base.ids import unique
from app.protocol.call import JsonValue, Media, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec, ValueType
from app.services.files import searching
from app.services.files.contents import MOST_LINES, Picture, WantedLines, look
from app.services.files.moving import Moves, Step
from app.services.files.places import DOC_PATH, Place, Workspace
from app.services.files.reading import Slice
from app.services.files.searching import FolderListing
from app.tools.registry import READING, Family, TurnContext

_CHUNK_LINES = 400
_BATCH_FILES = 20
_BATCH_LINES = 400
_CARD_LINES = 60
_CARD_CHARS = 4_000


class SurfaceReader(Protocol):
    """Reads the description of a surface, for paths such as doc:app-timer."""

    async def read(self, surface_id: str, turn: TurnContext) -> str:
        """Raises WispError if there is no such surface."""
        ...


class Files:
    """The handlers that only read."""

    def __init__(self, workspace: Workspace, surfaces: Callable[[], SurfaceReader | None] = lambda: None) -> None:
        self._workspace = workspace
        self._surfaces = surfaces

    async def read(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        surfaces = self._surfaces() if call.text("path").startswith(DOC_PATH) else None
        if surfaces:
            text = await surfaces.read(call.text("path").removeprefix(DOC_PATH), turn)
            return ToolResult(
                True, "read_file", {"path": call.text("path"), "text": text[:_CARD_CHARS]}, text, facts=(Brought(text),)
            )
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        first = call.integer("start_line") if call.has("start_line") else None
        last = call.integer("end_line") if call.has("end_line") else None
        return _shown("read_file", place, await self._look(place, WantedLines(first, last)))

    async def read_chunk(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        number, size = call.integer("chunk", 1), call.integer("chunk_lines", _CHUNK_LINES)
        first = (number - 1) * size + 1
        seen = await self._look(place, WantedLines(first, first + size - 1, size))
        if isinstance(seen, Picture):
            return _shown("read_file_in_chunks", place, seen)
        chunks = max(math.ceil(seen.total / size), 1)
        echo = f"[chunk {number} of {chunks}]\n{_echo(seen)}"
        payload = {**_lines_payload(place, seen), "chunk": number, "chunks": chunks}
        return ToolResult(True, "read_file_in_chunks", payload, echo)

    async def read_batch(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        names = _texts(call.arguments.get("path"))
        if not 1 <= len(names) <= _BATCH_FILES:
            raise ToolMisuse(f"path: give 1 to {_BATCH_FILES} files, one <path> each; there were {len(names)}.")
        results = [await self._one_of_many(name, turn) for name in names]
        if not any(result.ok for result in results):
            raise ToolFailed(" ".join(result.llm_echo for result in results))
        echo = "\n\n".join(f"{name}:\n{result.llm_echo}" for name, result in zip(names, results, strict=True))
        media = tuple(media for result in results for media in result.llm_media)
        files: list[JsonValue] = [{"ok": result.ok, **result.payload} for result in results]
        return ToolResult(True, "read_batch", {"files": files}, echo, media)

    async def list_files(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        self._workspace.check_readable(place)
        recursive, named = call.flag("recursive"), call.text("named") or "*"
        if "/" in named:
            raise ToolMisuse("named fits the names of files, not their paths: put the folder into path.")
        found = await asyncio.to_thread(partial(searching.entries, place, recursive=recursive, named=named))
        if order := call.text("order"):
            found = await asyncio.to_thread(searching.by_order, place, found, order)
        payload = {**_about(place), "entries": list(found.entries), "cut": found.is_cut, "skipped": list(found.skipped)}
        listed = Listed(tuple(found.entries), found.is_cut)
        return ToolResult(True, "list_files", payload, _listed(place, found, named), facts=(listed,))

    async def _look(self, place: Place, wanted: WantedLines) -> Slice | Picture:
        return await asyncio.to_thread(look, self._workspace, place, wanted)

    async def _one_of_many(self, name: str, turn: TurnContext) -> ToolResult:
        try:
            place = self._workspace.locate(name, judged=turn.judged())
            return _shown("read_batch", place, await self._look(place, WantedLines(most=_BATCH_LINES)))
        except WispError as error:  # because one unreadable file must not hide the others
            return ToolResult(False, "read_batch", {"path": name, "reason": str(error)}, str(error), facts=(error.why,))


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else []


def _about(place: Place) -> dict[str, JsonValue]:
    return {"path": place.shown, "zone": place.zone.value, "outside": place.is_outside}


def _lines_payload(place: Place, seen: Slice) -> dict[str, JsonValue]:
    card = "\n".join(seen.lines[:_CARD_LINES])
    numbers: dict[str, JsonValue] = {"first": seen.first, "last": seen.last, "lines": seen.total}
    return {**_about(place), **numbers, "charset": seen.charset.codec, "text": card}


def _shown(tool: str, place: Place, seen: Slice | Picture) -> ToolResult:
    if isinstance(seen, Slice):
        echo = _echo(seen)
        return ToolResult(True, tool, _lines_payload(place, seen), echo, facts=(Brought(echo),))
    label = f"{place.shown} ({seen.original_width}x{seen.original_height})"
    payload = {**_about(place), "width": seen.original_width, "height": seen.original_height}
    media = Media(seen.data, seen.media_type, seen.width, seen.height, label)
    return ToolResult(True, tool, payload, f"The picture {label} is attached.", (media,))


_UNSURE = (
    "\n[nothing says which charset this is: read as {codec}, but {others} would fit as well. If the words look wrong, "
    "convert a copy: iconv -f CHARSET -t UTF-8]"
)


def _echo(seen: Slice) -> str:
    if not seen.total:
        return "The file is empty."
    codec, others = seen.charset.codec, seen.charset.others
    long = f"\n[{seen.cut} of these lines were too long and were cut]" if seen.cut else ""
    return seen.numbered() + long + (_UNSURE.format(codec=codec, others=", ".join(others)) if others else "")


def _listed(place: Place, found: FolderListing, named: str) -> str:
    nothing = "nothing" if named == "*" else f"nothing named {named}"
    left_out = "; hidden and ignored files were left out" if found.ignored else ""
    lines = list(found.entries) or [f"({nothing}{left_out})"]
    if found.is_cut:
        first = f"these are the first {len(found.entries)}" if found.entries else "the search stopped before its end"
        lines.append(f"[there is more; {first}. List a folder in it for the rest]")
    if found.skipped:
        lines.append(f"[could not be read: {', '.join(found.skipped[:5])}]")
    return f"{place.shown}:\n" + "\n".join(lines)


_PATH = Param(
    "path",
    description="relative to the workspace, absolute, device:/… (home) or wisp:/…",
    required=True,
    aliases=("file", "file_path", "filename", "filepath", "directory"),
)

FILES = Family(
    Files,
    (
        ToolSpec(
            name="read_file",
            description=(
                f"Read a file: a picture, text (up to {MOST_LINES} numbered lines at once), or the text of PDF, DOCX, "
                "XLSX, IPYNB. The line numbers are not part of the file."
            ),
            effect=Effect.READS,
            execute=Files.read,
            attrs=(
                _PATH,
                Param("start_line", ValueType.INTEGER, "first line, from 1", minimum=1),
                Param("end_line", ValueType.INTEGER, "last line", minimum=1),
            ),
            examples=('<read_file path="app.log" start_line="900" end_line="950"/>',),
            taint="outside",
        ),
        ToolSpec(
            name="read_file_in_chunks",
            description="Read one numbered chunk of a long file. The answer says how many chunks there are.",
            effect=Effect.READS,
            execute=Files.read_chunk,
            attrs=(
                _PATH,
                Param("chunk", ValueType.INTEGER, "which chunk, from 1", minimum=1, maximum=10_000_000),
                Param(
                    "chunk_lines",
                    ValueType.INTEGER,
                    f"lines a chunk, {_CHUNK_LINES} if left out",
                    minimum=1,
                    maximum=1_000,
                ),
            ),
            examples=('<read_file_in_chunks path="book.txt" chunk="2"/>',),
            taint="outside",
            rare=READING,
        ),
        ToolSpec(
            name="read_batch",
            description=f"Read the beginning of up to {_BATCH_FILES} files at once.",
            effect=Effect.READS,
            execute=Files.read_batch,
            children=(
                Param(
                    "path",
                    description="a file, as for read_file",
                    required=True,
                    many=True,
                    aliases=("paths", "files", "file"),
                ),
            ),
            examples=("<read_batch><path>a.py</path><path>b.py</path></read_batch>",),
            taint="outside",
            rare=READING,
        ),
        ToolSpec(
            name="list_files",
            description=(
                f"List a folder, at most {searching.MOST_ENTRIES} entries. Folders end with /, links with @; "
                "recursively, hidden and ignored files are left out."
            ),
            effect=Effect.READS,
            execute=Files.list_files,
            attrs=(
                _PATH,
                Param("recursive", ValueType.FLAG, "true to go into all folders"),
                Param("named", description="glob for names, several with | between"),
                Param("order", description="files only", choices=("size", "newest", "oldest")),
            ),
            examples=('<list_files path="." recursive="true"/>',),
            taint="outside",
        ),
    ),
)

_MOST = 200
_TOLD = 30


class Arrangements:
    """The handlers of move_file, copy_file and make_folder."""

    def __init__(self, moves: Moves) -> None:
        self._moves = moves

    async def move(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        return await self._carried(call, turn, copies=False)

    async def copy(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        return await self._carried(call, turn, copies=True)

    async def make(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        paths = _arrange_texts(call, "path")
        made = await asyncio.to_thread(self._moves.make_folders, paths, _origin(turn), call.name, turn.judged())
        await turn.audit("folders_made", {"paths": [str(place.path) for place in made]})
        names: list[JsonValue] = [place.shown for place in made]
        payload: dict[str, JsonValue] = {"count": len(made), "paths": names, "undoable": bool(made)}
        left = len(paths) - len(made)
        there = f" {left} {'was' if left == 1 else 'were'} there already." if left else ""
        echo = f"Made {', '.join(repr(place.shown) for place in made[:_TOLD])}." if made else "Nothing had to be made."
        facts = () if made else (Made("", str(paths[0]), was_there=True),)
        return ToolResult(True, "make_folder", payload, echo + there, facts=facts)

    async def _carried(self, call: ToolCall, turn: TurnContext, *, copies: bool) -> ToolResult:
        sources, destinations = _arrange_texts(call, "source"), _arrange_texts(call, "destination")
        plan = partial(self._moves.plan, copies=copies, judged=turn.judged())
        steps = await asyncio.to_thread(plan, sources, destinations)
        made: list[Place] = []
        if not call.flag("preview"):
            carry_out = partial(self._moves.carry_out, steps, _origin(turn), call.name, copies=copies)
            made = await asyncio.to_thread(carry_out)
            what = {"from": [str(step.source.path) for step in steps], "to": [str(step.target.path) for step in steps]}
            await turn.audit("files_copied" if copies else "files_moved", what)
        return _told(call, steps, made, copies=copies)


def effects(call: ToolCall) -> frozenset[Effect]:
    """A preview only reads. A move also reads, because it may hide secrets."""
    return frozenset({Effect.READS} if call.flag("preview") else {Effect.READS, Effect.WRITES})


def _origin(turn: TurnContext) -> str:
    """A different name for each call, under which its changes are stored: one undo reverses the whole call."""
    return f"{turn.turn_id}/{unique('m')}"


def _arrange_texts(call: ToolCall, name: str) -> list[str]:
    value = call.arguments.get(name)
    found = [str(one) for one in value] if isinstance(value, (list, tuple)) else []
    if not 1 <= len(found) <= _MOST:
        raise ToolMisuse(f"{name}: give 1 to {_MOST}, one <{name}> each; there were {len(found)}.")
    return found


def _told(call: ToolCall, steps: Sequence[Step], made: Sequence[Place], *, copies: bool) -> ToolResult:
    is_preview = call.flag("preview")
    lines = [f"{step.source.shown} → {step.target.shown}" for step in steps]
    verb = ("Would copy" if copies else "Would move") if is_preview else ("Copied" if copies else "Moved")
    held = sum(len(step.inner) for step in steps)
    inside = f" with {held} entries in folders" if held else ""
    more = f"\n… and {len(lines) - _TOLD} more" if len(lines) > _TOLD else ""
    fresh = f"\nMade the missing folder {', '.join(repr(place.shown) for place in made[:_TOLD])}." if made else ""
    echo = f"{verb} {len(steps)}{inside}:\n" + "\n".join(lines[:_TOLD]) + more + fresh
    payload: dict[str, JsonValue] = {
        "count": len(steps),
        **_ends(steps),
        "text": "\n".join(lines),
        "paths": [step.target.shown for step in steps],
        "undoable": not is_preview,
    }
    return ToolResult(True, call.name, payload, echo, facts=tuple(Made("", place.shown) for place in made))


def _ends(steps: Sequence[Step]) -> dict[str, JsonValue]:
    """What is moved where, for people: the two ends of one step, or the one folder into which several go."""
    first, folders = steps[0], {Path(step.target.shown).parent for step in steps}
    if len(steps) == 1:
        return {"first": first.source.shown, "to": first.target.shown}
    return {"several": len(steps), **({"folder": str(folders.pop())} if len(folders) == 1 else {})}


_SOURCE = Param("source", description="what, one <source> each", required=True, many=True, aliases=("sources", "from"))
_DESTINATION = Param(
    "destination",
    description="the folder it goes into (end it with /), or its new path; for several, one new path each",
    required=True,
    many=True,
    aliases=("destinations", "to"),
)
_PREVIEW = Param("preview", ValueType.FLAG, "true only tells what would go where")

MOVING = RareFamily("moving", "move, copy and pack many files, unpack archives, make folders, empty the trash")

ARRANGEMENTS = Family(
    Arrangements,
    (
        ToolSpec(
            name="move_file",
            description=(
                "Move or rename files and folders, many at once. Nothing is overwritten; missing folders are made; all "
                "of it happens or nothing; undo_last_change takes all of it back."
            ),
            effect=Effect.WRITES,
            execute=Arrangements.move,
            attrs=(_PREVIEW,),
            children=(_SOURCE, _DESTINATION),
            examples=(
                "<move_file><source>a.pdf</source><source>b.pdf</source><destination>bills/</destination></move_file>",
            ),
            effects_by_call=effects,
            rare=MOVING,
            taint="outside",
        ),
        ToolSpec(
            name="copy_file",
            description="Copy files and folders, as move_file moves them. Nothing is overwritten.",
            effect=Effect.WRITES,
            execute=Arrangements.copy,
            attrs=(_PREVIEW,),
            children=(_SOURCE, _DESTINATION),
            examples=("<copy_file><source>plan.xlsx</source><destination>backup/</destination></copy_file>",),
            effects_by_call=effects,
            rare=MOVING,
            taint="outside",
        ),
        ToolSpec(
            name="make_folder",
            description="Make folders, with those above them.",
            effect=Effect.WRITES,
            execute=Arrangements.make,
            children=(Param("path", description="one <path> each", required=True, many=True, aliases=("paths",)),),
            examples=("<make_folder><path>2026/bills</path></make_folder>",),
            rare=MOVING,
        ),
    ),
)
