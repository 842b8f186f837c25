"""Running commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.base.clock import Clock
from app.base.errors import Cancelled, ToolMisuse
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Close, Effect, Kind, Param, ToolSpec
from app.services.processes.following import Follower, Why
from app.services.processes.processes import Processes
from app.services.processes.run import Run
from app.services.sandbox.classes import Wishes
from app.services.workspace.places import Workspace
from app.tools.context import TurnContext
from app.tools.registry import Family
from app.tools.runs import card, left_behind, preview, state, summary

_UNSAFE = {"\0": "a NUL character", "\r": "a carriage return", "\u2028": "U+2028", "\u2029": "U+2029", "\x85": "U+0085"}
_LISTED = 20
_KEYS = {"enter": "\n", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+z": "\x1a", "escape": "\x1b", "tab": "\t"}
_KEYS |= {"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D"}
_PAGE_BYTES = 16_384


class Commands:
    """Handlers that start commands, look at them, feed them and end them.

    `is_yolo` tells whether the guide's `timeout` counts now; otherwise it is passed over.
    """

    def __init__(
        self, workspace: Workspace, processes: Processes, clock: Clock, is_yolo: Callable[[], bool] = lambda: False
    ) -> None:
        self._workspace = workspace
        self._processes = processes
        self._clock = clock
        self._is_yolo = is_yolo

    async def execute(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        command = _command(call)
        cwd = self._workspace.locate(call.text("cwd", "."), "cwd")
        if not cwd.is_folder():
            raise ToolMisuse(f"cwd: there is no folder {cwd.shown!r}.")
        limits = self._processes.limits
        rests = call.flag("background") or call.flag("pty")
        timeout_s = self._timeout_s(call)
        wishes = Wishes(network=call.flag("network"), outside=call.flag("outside"))
        run = await self._processes.start(
            command, cwd.path, pty=call.flag("pty"), timeout_s=timeout_s, wishes=wishes, turn=turn.turn_id
        )
        walls: dict[str, JsonValue] = {"sandboxed": run.record.walled, "network": wishes.network}
        await turn.audit("command_started", {"run_id": run.id, "command": command, "cwd": str(cwd.path), **walls})
        turn.emit("command_started", {"run_id": run.id, "command": command, "cwd": cwd.shown})
        follower = Follower(run, self._clock, _Teller(run, turn))
        why = await follower.until(
            limits.background_s if rests else limits.return_s, limits.quiet_s if rests else None, turn.cancelled
        )
        if why is Why.CANCELLED:
            await self._processes.stop(run, "it was stopped with the turn")
            raise Cancelled(f"The command was stopped with all it had started; its output so far is run {run.id}.")
        self._processes.leave(run)
        url = follower.url() if rests and run.is_running else ""
        payload = {**card(run, self._clock.wall()), "url": url}
        echo = summary(run, self._clock.wall(), url=url) + preview(run)
        return ToolResult(True, "execute_command", payload, echo)

    def _timeout_s(self, call: ToolCall) -> float | None:
        if call.has("timeout_seconds"):
            return call.number("timeout_seconds")
        return call.number("timeout") if call.has("timeout") and self._is_yolo() else None

    async def tail(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        run = self._processes.find(call.text("run_id"))
        name = call.text("stream", "stdout")
        output = run.stderr if name == "stderr" else run.stdout
        size = output.size()
        offset = call.integer("offset") if call.has("offset") else max(size - _PAGE_BYTES, 0)
        if offset > size:
            raise ToolMisuse(f"offset is {offset}, but {name} of {run.id} has {size} bytes so far.")
        text = await asyncio.to_thread(output.text, offset, _PAGE_BYTES)
        end = min(offset + _PAGE_BYTES, size)
        head = (
            f"{state(run, self._clock.wall())} {name} bytes {offset}-{end} of {size}; offset={end} shows what follows."
        )
        payload: dict[str, JsonValue] = {
            "run_id": run.id,
            "running": run.is_running,
            "stream": name,
            "next": end,
            "text": text,
        }
        return ToolResult(True, "read_command_tail", payload, f"{head}\n{text}")

    async def recent(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        runs = await asyncio.to_thread(self._processes.recent, call.integer("count", _LISTED))
        now = self._clock.wall()
        lines = [
            f"{run.id}: {run.record.command!r} in {run.record.cwd!r}. {state(run, now)}{left_behind(run)}"
            for run in runs
        ]
        payload: dict[str, JsonValue] = {"runs": [card(run, now, with_output=False) for run in runs]}
        return ToolResult(True, "list_recent_commands", payload, "\n".join(lines) or "No command was run yet.")

    async def stop(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        run = self._processes.find(call.text("run_id"))
        killed = await self._processes.stop(run)
        await turn.audit("command_stopped", {"run_id": run.id})
        forced = f" {killed} of its processes had to be killed." if killed else ""
        echo = f"Run {run.id} and all that it started is ended.{forced}"
        return ToolResult(True, "stop_command", {**card(run, self._clock.wall()), "killed": killed}, echo)

    async def send(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        run = self._processes.find(call.text("run_id"))
        began = (run.stdout.size(), run.stderr.size())
        await self._processes.type(run, _typed(call))
        await turn.audit("command_input", {"run_id": run.id})
        limits = self._processes.limits
        follower = Follower(run, self._clock, _Teller(run, turn), began=began)
        await follower.until(limits.background_s, limits.quiet_s, turn.cancelled)
        text = await asyncio.to_thread(run.stdout.text, began[0], _PAGE_BYTES)
        payload = {**card(run, self._clock.wall()), "text": text}
        return ToolResult(True, "send_command_input", payload, f"{state(run, self._clock.wall())}\n{text}")


def _command(call: ToolCall) -> str:
    command = call.text("command").replace("\r\n", "\n")
    if not command.strip():
        raise ToolMisuse("command is empty: give a shell command.")
    found = next((name for sign, name in _UNSAFE.items() if sign in command), None)
    if found:
        raise ToolMisuse(f"command contains {found}; write it without.")
    try:
        command.encode()
    except UnicodeEncodeError:
        raise ToolMisuse("command contains half of a surrogate pair; write it without.") from None
    return command


def _typed(call: ToolCall) -> bytes:
    if call.has("key"):
        return _KEYS[call.text("key")].encode()
    if not call.has("text"):
        raise ToolMisuse("text is missing: give what to type, or a key.")
    end = "" if call.has("enter") and not call.flag("enter") else "\n"
    return (call.text("text") + end).encode(errors="replace")


class _Teller:
    """Shows output on the card as it comes."""

    def __init__(self, run: Run, turn: TurnContext) -> None:
        self._run = run
        self._turn = turn

    def __call__(self, stream: str, text: str) -> None:
        self._turn.emit("command_output", {"run_id": self._run.id, "stream": stream, "text": text})


_RUN = Param("run_id", description="from the answer of execute_command", required=True)

COMMANDS = Family(
    Commands,
    (
        ToolSpec(
            name="execute_command",
            description=(
                "Run a command through the person's shell. Returns when it has ended, or after 60 seconds with the "
                "output so far and a run_id while it goes on. Nothing is typed into it: it reads an empty input, "
                "unless it was started with pty. It sees the system's programs and the workspace, where it may change "
                "files; it has no network, no screen, a home and a /tmp of its own, and what it starts ends with it. "
                "Ask for more only where it fails without. Say what a command will do before you run one that changes "
                "things."
            ),
            effect=Effect.EXECUTES,
            execute=Commands.execute,
            attrs=(
                Param("cwd", description="folder to run it in; the workspace if left out"),
                Param("background", Kind.FLAG, "true for servers: returns as soon as it has started, 15 s at most"),
                Param("pty", Kind.FLAG, "true to give it a terminal, so that send_command_input can answer it"),
                Param(
                    "timeout_seconds", Kind.NUMBER, "end it after that time; it is never ended otherwise", minimum=0.1
                ),
                Param("timeout", Kind.NUMBER, "the same, in YOLO mode only", minimum=0.1),
                Param("network", Kind.FLAG, "true if it needs the internet or serves others; the person is asked"),
                Param("outside", Kind.FLAG, "true if it needs other files or the screen; the person is asked"),
                Param("requires_approval", Kind.FLAG, "true if it may destroy something; the person is asked then"),
            ),
            body=Param(
                "command", description="the command", required=True, close=Close.LAST, short=False, aliases=("cmd",)
            ),
            examples=(
                "<execute_command><![CDATA[git status --short]]></execute_command>",
                '<execute_command background="true"><![CDATA[npm run dev]]></execute_command>',
            ),
            aliases=("bash",),
        ),
        ToolSpec(
            name="read_command_tail",
            description="Read the newest output of a command, or, with offset, the output from that byte on.",
            effect=Effect.READS,
            execute=Commands.tail,
            attrs=(
                _RUN,
                Param("stream", description="stdout if left out", choices=("stdout", "stderr")),
                Param("offset", Kind.INTEGER, "byte to start at, as an earlier answer named it", minimum=0),
            ),
            examples=('<read_command_tail run_id="r1f2e3"/>',),
        ),
        ToolSpec(
            name="list_recent_commands",
            description="List the newest commands, of earlier sessions too: whether they run, and how they ended.",
            effect=Effect.READS,
            execute=Commands.recent,
            attrs=(Param("count", Kind.INTEGER, f"{_LISTED} if left out", minimum=1, maximum=100),),
            examples=("<list_recent_commands/>",),
        ),
        ToolSpec(
            name="stop_command",
            description="End a command with everything it has started.",
            effect=Effect.EXECUTES,
            execute=Commands.stop,
            attrs=(_RUN,),
            examples=('<stop_command run_id="r1f2e3"/>',),
        ),
        ToolSpec(
            name="send_command_input",
            description=(
                "Type a line, or press one key, into a command that was started with pty, and read what it answers. "
                "Never type a password: ask the person to do that."
            ),
            effect=Effect.EXECUTES,
            execute=Commands.send,
            attrs=(
                _RUN,
                Param("key", description="instead of text", choices=tuple(_KEYS)),
                Param("enter", Kind.FLAG, "false to type without pressing enter"),
            ),
            body=Param("text", description="what to type", short=False),
            examples=('<send_command_input run_id="r1f2e3">yes</send_command_input>',),
        ),
    ),
)
