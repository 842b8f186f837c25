"""Waiting for something to happen."""

from __future__ import annotations

from app.base.clock import Clock
from app.base.errors import Cancelled, ToolMisuse
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Effect, Kind, Param, ToolSpec
from app.services.processes import waiting
from app.services.processes.processes import Processes
from app.services.processes.waiting import Condition
from app.services.workspace.places import Workspace
from app.tools.context import TurnContext
from app.tools.registry import Family

_USUAL_S = 300.0
_MOST_S = 3_600.0
_WHAT = ("seconds", "run_id", "port", "file")


class Waits:
    """The handler of wait_until."""

    def __init__(self, workspace: Workspace, processes: Processes, clock: Clock) -> None:
        self._workspace = workspace
        self._processes = processes
        self._clock = clock

    async def wait_until(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        condition, what = await self._condition(call)
        limit_s = call.number("seconds") if call.has("seconds") else call.number("timeout_seconds", _USUAL_S)
        begun = self._clock.now()

        def tick(left_s: float) -> None:
            turn.emit("wait_until", {"for": what, "left_s": round(left_s, 1), "limit_s": limit_s})

        met = await waiting.until(condition, limit_s, self._clock, turn.cancelled, tick)
        if turn.cancelled.is_set() and not met:
            raise Cancelled("The waiting was stopped.")
        waited_s = round(self._clock.now() - begun, 1)
        payload: dict[str, JsonValue] = {"for": what, "met": bool(met), "waited_s": waited_s, "limit_s": limit_s}
        if call.has("seconds"):
            return ToolResult(True, "wait_until", {**payload, "met": True}, f"{waited_s:g} seconds have passed.")
        echo = f"After {waited_s:g} s: {met}." if met else f"Not yet: waited {waited_s:g} s for {what}."
        return ToolResult(True, "wait_until", payload, echo)

    async def _condition(self, call: ToolCall) -> tuple[Condition, str]:
        given = [name for name in _WHAT if call.has(name)]
        if len(given) != 1:
            raise ToolMisuse(f"Give exactly one of {', '.join(_WHAT)}; there were {len(given)}.")
        if call.has("pattern") and given != ["run_id"]:
            raise ToolMisuse("pattern goes with run_id: it is looked for in that command's output.")
        if call.has("seconds"):
            return waiting.never, f"{call.number('seconds'):g} seconds"
        if call.has("port"):
            return waiting.port_open(call.integer("port")), f"port {call.integer('port')}"
        if call.has("file"):
            place = self._workspace.locate(call.text("file"), "file")
            return waiting.file_there(place), f"the file {place.shown!r}"
        return await self._about_run(call)

    async def _about_run(self, call: ToolCall) -> tuple[Condition, str]:
        run = self._processes.find(call.text("run_id"))
        if not call.has("pattern"):
            return waiting.ended(run), f"the end of run {run.id}"
        pattern = call.text("pattern")
        if not pattern or "\0" in pattern:
            raise ToolMisuse("pattern is empty or contains a NUL character.")
        printed = waiting.Printed(run, pattern)
        await printed.check()
        return printed, f"{pattern!r} from run {run.id}"


WAITS = Family(
    Waits,
    (
        ToolSpec(
            name="wait_until",
            description=(
                "Really wait, without spending passes: for a time, the end of a command, words in its output, an open "
                "port of this machine, or a file. Give one of seconds, run_id (with or without pattern), port, file."
            ),
            effect=Effect.READS,
            is_wait=True,
            execute=Waits.wait_until,
            attrs=(
                Param("seconds", Kind.NUMBER, "just this time", minimum=0, maximum=_MOST_S),
                Param("run_id", description="until this command has ended, or has printed the pattern"),
                Param("pattern", description="a regular expression in Rust's syntax"),
                Param("port", Kind.INTEGER, "until something listens there", minimum=1, maximum=65_535),
                Param("file", description="until this file exists"),
                Param(
                    "timeout_seconds",
                    Kind.NUMBER,
                    f"give up after that, {_USUAL_S:g} if left out",
                    minimum=0,
                    maximum=_MOST_S,
                ),
            ),
            examples=('<wait_until run_id="r1f2e3" pattern="Listening on"/>', '<wait_until port="3000"/>'),
        ),
    ),
)
