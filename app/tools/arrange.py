"""Moving, copying and making folders. Many at once, nothing is overwritten, one undo takes all of it back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from app.base.errors import ToolMisuse
from app.base.ids import unique
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec, ValueType
from app.services.files.moving import Moves, Step
from app.tools.registry import Family, TurnContext

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
        paths = _texts(call, "path")
        made = await asyncio.to_thread(self._moves.make_folders, paths, _origin(turn), call.name)
        await turn.audit("folders_made", {"paths": [str(place.path) for place in made]})
        names: list[JsonValue] = [place.shown for place in made]
        payload: dict[str, JsonValue] = {"count": len(made), "paths": names, "undoable": bool(made)}
        there = "" if len(made) == len(paths) else f" {len(paths) - len(made)} were there already."
        echo = f"Made {', '.join(repr(place.shown) for place in made[:_TOLD])}." if made else "Nothing had to be made."
        return ToolResult(True, "make_folder", payload, echo + there)

    async def _carried(self, call: ToolCall, turn: TurnContext, *, copies: bool) -> ToolResult:
        sources, destinations = _texts(call, "source"), _texts(call, "destination")
        steps = await asyncio.to_thread(partial(self._moves.plan, sources, destinations, copies=copies))
        if not call.flag("preview"):
            await asyncio.to_thread(partial(self._moves.carry_out, steps, _origin(turn), call.name, copies=copies))
            what = {"from": [str(step.source.path) for step in steps], "to": [str(step.target.path) for step in steps]}
            await turn.audit("files_copied" if copies else "files_moved", what)
        return _told(call, steps, copies=copies)


def effects(call: ToolCall) -> frozenset[Effect]:
    """A preview only looks. A new name could hide that a file holds keys: so it counts as reading too."""
    return frozenset({Effect.READS} if call.flag("preview") else {Effect.READS, Effect.WRITES})


def _origin(turn: TurnContext) -> str:
    """A name of its own for each call, so that one undo takes back all of it."""
    return f"{turn.turn_id}/{unique('m')}"


def _texts(call: ToolCall, name: str) -> list[str]:
    value = call.arguments.get(name)
    found = [str(one) for one in value] if isinstance(value, (list, tuple)) else []
    if not 1 <= len(found) <= _MOST:
        raise ToolMisuse(f"{name}: give 1 to {_MOST}, one <{name}> each; there were {len(found)}.")
    return found


def _told(call: ToolCall, steps: Sequence[Step], *, copies: bool) -> ToolResult:
    is_preview = call.flag("preview")
    lines = [f"{step.source.shown} → {step.target.shown}" for step in steps]
    verb = ("Would copy" if copies else "Would move") if is_preview else ("Copied" if copies else "Moved")
    held = sum(len(step.inner) for step in steps)
    inside = f" with {held} entries in folders" if held else ""
    more = f"\n… and {len(lines) - _TOLD} more" if len(lines) > _TOLD else ""
    echo = f"{verb} {len(steps)}{inside}:\n" + "\n".join(lines[:_TOLD]) + more
    payload: dict[str, JsonValue] = {
        "count": len(steps),
        "first": steps[0].source.shown,
        "to": steps[0].target.shown,
        "text": "\n".join(lines),
        "paths": [step.target.shown for step in steps],
        "undoable": not is_preview,
    }
    return ToolResult(True, call.name, payload, echo)


_SOURCE = Param("source", description="what, one <source> each", required=True, many=True, aliases=("sources", "from"))
_DESTINATION = Param(
    "destination",
    description="the folder it goes into (end it with /), or its new path; for several, one new path each",
    required=True,
    many=True,
    aliases=("destinations", "to"),
)
_PREVIEW = Param("preview", ValueType.FLAG, "true only tells what would go where")

_RARE = RareFamily("moving", "move, copy and make many files and folders at once")

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
            rare=_RARE,
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
            rare=_RARE,
        ),
        ToolSpec(
            name="make_folder",
            description="Make folders, with those above them.",
            effect=Effect.WRITES,
            execute=Arrangements.make,
            children=(Param("path", description="one <path> each", required=True, many=True, aliases=("paths",)),),
            examples=("<make_folder><path>2026/bills</path></make_folder>",),
            rare=_RARE,
        ),
    ),
)
