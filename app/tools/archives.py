"""Pack files into an archive, unpack one, and empty the trash."""

from __future__ import annotations

import asyncio
from functools import partial

from app.base.errors import ToolFailed, ToolMisuse, WispError
from app.base.facts import Archived, Emptied
from app.base.ids import unique
from app.base.phrases import Phrase
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec
from app.services.files import trash
from app.services.files.changes import ChangeOrigin
from app.services.files.packing import Packed, Packing
from app.services.files.searching import size_told
from app.tools.file import MOVING
from app.tools.registry import Family, TurnContext

_MOST = 200


class Archives:
    """The handlers of pack_files, unpack_file and empty_trash."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing

    async def pack(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        value = call.arguments.get("source")
        sources = [str(one) for one in value] if isinstance(value, (list, tuple)) else []
        if not 1 <= len(sources) <= _MOST:
            raise ToolMisuse(f"source: give 1 to {_MOST}, one <source> each; there were {len(sources)}.")
        target, origin = call.text("destination"), _origin(call, turn)
        pack = partial(self._packing.pack, sources, target, origin, turn.cancelled.is_set, turn.judged())
        made = await asyncio.to_thread(pack)
        await turn.audit("files_packed", {"path": str(made.place.path), "files": made.files})
        return _told(call, made, f"Packed {_files(made.files)} into {made.place.shown!r}")

    async def unpack(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        path, into, origin = call.text("path"), call.text("destination"), _origin(call, turn)
        unpack = partial(self._packing.unpack, path, into, origin, turn.cancelled.is_set, turn.judged())
        made = await asyncio.to_thread(unpack)
        await turn.audit("file_unpacked", {"path": str(made.place.path), "files": made.files})
        return _told(call, made, f"Unpacked {_files(made.files)} into {made.place.shown!r}")

    async def empty_trash(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        before, after = await asyncio.to_thread(trash.empty, turn.cancelled.is_set)
        await turn.audit("trash_emptied", {"entries": len(before.names), "left": len(after.names)})
        if after.names:
            values = {"count": str(len(after.names)), "name": after.names[0]}
            raise ToolFailed(Phrase("{count} things could not be deleted, such as {name!r}.", values))
        fact = Emptied(len(before.names), before.size_bytes)
        payload: dict[str, JsonValue] = {"count": fact.count, "size_bytes": fact.size_bytes}
        return ToolResult(True, call.name, payload, fact.said, facts=(fact,))


def _origin(call: ToolCall, turn: TurnContext) -> ChangeOrigin:
    """An origin of its own for each call, so that one undo takes all of it back."""
    return ChangeOrigin(f"{turn.turn_id}/{unique('a')}", call.name)


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _told(call: ToolCall, made: Packed, said: str) -> ToolResult:
    fact = Archived(made.place.shown, made.files, made.left_out, made.size_bytes)
    left = f" {made.left_out} were left out: links, and what would start by itself." if made.left_out else ""
    payload: dict[str, JsonValue] = {
        "path": made.place.shown,
        "count": made.files,
        "left_out": made.left_out,
        "size_bytes": made.size_bytes,
        "undoable": True,
    }
    return ToolResult(True, call.name, payload, f"{said} ({size_told(made.size_bytes)}).{left}", facts=(fact,))


def _describe_emptying(_call: ToolCall) -> Phrase | None:
    try:
        count = len(trash.names())
    except (WispError, OSError):
        return None
    return Phrase(_EMPTYING[0], {"count": count}, many=_EMPTYING[1])


_EMPTYING = ("delete {count} thing in the trash for good", "delete {count} things in the trash for good")

ARCHIVES = Family(
    Archives,
    (
        ToolSpec(
            name="pack_files",
            description="Pack files and folders into one archive: a zip, or a tar if its name ends so (.tar.gz, …).",
            effect=Effect.WRITES,
            execute=Archives.pack,
            attrs=(Param("destination", description="the archive's path; beside the first source if left out"),),
            children=(
                Param(
                    "source",
                    description="what, one <source> each",
                    required=True,
                    many=True,
                    aliases=("sources", "path", "files"),
                ),
            ),
            examples=('<pack_files destination="trip.zip"><source>photos</source></pack_files>',),
            effects_by_call=lambda _: frozenset({Effect.READS, Effect.WRITES}),
            rare=MOVING,
            taint="outside",
        ),
        ToolSpec(
            name="unpack_file",
            description="Unpack a zip or tar archive into a new folder.",
            effect=Effect.WRITES,
            execute=Archives.unpack,
            attrs=(
                Param("path", description="the archive", required=True, aliases=("file", "archive", "source")),
                Param("destination", description="the folder it goes into, or a new one; beside it if left out"),
            ),
            examples=('<unpack_file path="trip.zip"/>',),
            effects_by_call=lambda _: frozenset({Effect.READS, Effect.WRITES}),
            rare=MOVING,
            taint="outside",
        ),
        ToolSpec(
            name="empty_trash",
            description="Delete everything in the person's trash for good. It cannot be undone; the person is asked.",
            effect=Effect.ENDS,
            execute=Archives.empty_trash,
            examples=("<empty_trash/>",),
            rare=MOVING,
            read_back=_describe_emptying,
        ),
    ),
)
