"""Tools that start commands, read their output, send them input, stop them and wait."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from app.base.clipping import counted
from app.base.clock import Clock
from app.base.errors import Cancelled, ToolMisuse, WispError
from app.base.facts import Brought, Ran
from app.base.phrases import Phrase
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Close, Effect, Param, RareFamily, ToolSpec, ValueType
from app.services.files.places import Workspace
from app.services.processes import waiting
from app.services.processes.commands import Processes, Run
from app.services.processes.waiting import Condition, Follower, Server, Why
from app.services.sandbox.layout import CommandClass, SandboxRequest, classify
from app.tools.registry import HEARD, Family, TurnContext

_STDOUT_BYTES, _STDERR_BYTES = 65_536, 32_768
_ALONE = "inside its sandbox only; background=true, or else network=true, lets this computer reach it"
_APART = re.compile(r"~|\$\{?HOME\b|(?<![\w./])/(?:home|root|tmp)\b")
_NAMED = 5
_STDOUT_PREVIEW, _STDERR_PREVIEW = 12_288, 6_144


def state(run: Run, now: float) -> str:
    """Return a sentence that says whether the run continues or how it ended."""
    record = run.record
    if run.is_running:
        return f"Run {run.id} is still running ({now - record.started_at:.1f} s)."
    took = f"after {(record.ended_at or now) - record.started_at:.1f} s"
    why = f" because {record.stopped}" if record.stopped else ""
    code = record.exit_code
    if code is None:
        return f"Run {run.id} has ended{why}; its exit code is not known."
    if code < 0:
        return f"Run {run.id} was ended by signal {-code} {took}{why}."
    return f"Run {run.id} ended with exit code {code} {took}{why}."


def summary(run: Run, now: float, server: Server) -> str:
    """Return the run's state, which files were renamed, and what can be done while it continues."""
    if not run.is_running:
        return f"{state(run, now)}{_kept_from(run)}{left_behind(run)}"
    serves = f" It serves {server.shown}{'' if server.is_reachable else ' ' + _ALONE}." if server.shown else ""
    return (
        f"{state(run, now)}{serves} It goes on{' even when Wisp ends' if run.record.keep else ''}: read_command_tail "
        "shows more, wait_until waits for it, stop_command ends it."
    )


def _kept_from(run: Run) -> str:
    """A sentence on the sandbox's limits, if the command failed or names a place that differs there; else ""."""
    if not run.record.sandboxed or not (run.record.exit_code or _APART.search(run.record.command)):
        return ""
    return f" It ran in the sandbox: {'' if run.record.network else 'no network, and '}a home of its own."


def left_behind(run: Run) -> str:
    """A sentence on files that would run by themselves: the renamed, and those that may be the person's."""
    aside, unclear = ", ".join(run.record.set_aside), ", ".join(run.record.unclear)
    found = ""
    if aside:
        found += (
            f" It left what runs by itself; renamed to end in .set-aside: {aside}. Tell the person; "
            f"`wisp undo --command {run.id}` puts it back."
        )
    found += _deleted(run)
    if unclear:
        found += (
            f" While it went on, something appeared that runs by itself: {unclear}. Nothing tells whether the command "
            "or the person made it, so it was left alone. Tell the person to look at it before they use that folder."
        )
    return found + run.record.unsettled


def _deleted(run: Run) -> str:
    record, said = run.record, ""
    if record.deleted:
        shown = ", ".join(record.deleted[:_NAMED]) + (" and others" if len(record.deleted) > _NAMED else "")
        said = f" It deleted {counted(len(record.deleted), 'file')} ({shown}). Copies are kept: "
        if record.asks:
            said += (
                "ask the person whether to keep it so or to put them back; Put back in the window, or "
                f"`wisp undo --turn {put_back_id(run)}`, puts them back."
            )
        else:
            said += f"Take back in the window, or `wisp undo --turn {put_back_id(run)}`, puts them back."
    if record.lost:
        said += f" {record.lost} files that it deleted could not be kept."
    if (record.deleted or record.lost) and not record.is_kept_whole:
        said += " The folder has more files than are kept, so there may be others."
    return said


def put_back_id(run: Run) -> str:
    """Return the id under which this command's deletions are stored among the turn's changes."""
    return f"{run.record.turn}/{run.id}"


def _fact(run: Run) -> Ran:
    record = run.record
    restore = put_back_id(run) if record.deleted else run.id
    is_offline = record.sandboxed and not record.network
    deleted, aside = tuple(record.deleted), tuple(record.set_aside)
    return Ran(record.exit_code, run.is_running, is_offline, deleted, aside, restore)


def preview(run: Run) -> str:
    """Return the beginning and the end of the output, for the model."""
    out, err = run.stdout.kept(_STDOUT_PREVIEW).rstrip("\n"), run.stderr.kept(_STDERR_PREVIEW).rstrip("\n")
    parts = ["" if not out else f"\n{out}", "" if not err else f"\n[stderr]\n{err}"]
    return "".join(parts) or "\n(no output)"


def card(run: Run, now: float, *, with_output: bool = True) -> dict[str, JsonValue]:
    record = run.record
    facts: dict[str, JsonValue] = {
        "run_id": run.id,
        "command": record.command,
        "cwd": record.cwd,
        "pty": record.pty,
        "sandboxed": record.sandboxed,
        "network": record.network,
        "running": run.is_running,
        "exit_code": record.exit_code,
        "stopped": record.stopped,
        "set_aside": list(record.set_aside),
        "deleted": list(record.deleted),
        "put_back": put_back_id(run) if record.asks else "",
        "seconds": round((record.ended_at or now) - record.started_at, 3),
        "stdout_bytes": run.stdout.size(),
        "stderr_bytes": run.stderr.size(),
    }
    if with_output:
        facts |= {"stdout": run.stdout.kept(_STDOUT_BYTES), "stderr": run.stderr.kept(_STDERR_BYTES)}
    return facts


_UNSAFE = {"\0": "a NUL character", "\r": "a carriage return", "\u2028": "U+2028", "\u2029": "U+2029", "\x85": "U+0085"}
_LISTED = 20
_KEYS = {"enter": "\n", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+z": "\x1a", "escape": "\x1b", "tab": "\t"}
_KEYS |= {"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D"}
_PAGE_BYTES = 16_384


class Commands:
    """Handlers that start commands, read their output, send them input and stop them. `is_yolo`: `timeout` counts."""

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
        wishes = SandboxRequest(network=call.flag("network"), outside=call.flag("outside"))
        run = await self._processes.start(
            command,
            cwd.path,
            pty=call.flag("pty"),
            timeout_s=self._timeout_s(call),
            wishes=wishes,
            turn=turn.turn_id,
            turn_began=turn.began_at,
            serves=call.flag("background"),
            keep=call.flag("keep"),
        )
        walls: dict[str, JsonValue] = {"sandboxed": run.record.sandboxed, "network": wishes.network}
        await turn.audit("command_started", {"run_id": run.id, "command": command, "cwd": str(cwd.path), **walls})
        turn.emit("command_started", {"run_id": run.id, "command": command, "cwd": cwd.shown})
        follower = Follower(run, self._clock, _teller(run, turn))
        why = await follower.until(
            limits.background_s if rests else limits.return_s, limits.quiet_s if rests else None, turn.cancelled
        )
        if why is Why.CANCELLED:
            await self._processes.stop(run, "it was stopped with the turn")
            raise Cancelled(f"The command was stopped with all it had started; its output so far is run {run.id}.")
        self._processes.leave(run)
        server = follower.server() if rests and run.is_running else Server()
        payload = {**card(run, self._clock.wall()), "url": server.url, "undoable": bool(run.record.deleted)}
        echo = summary(run, self._clock.wall(), server) + preview(run)
        said = Brought(preview(run).strip("\n") if run.stdout.size() or run.stderr.size() else "")
        return ToolResult(True, "execute_command", payload, echo, facts=(_fact(run), said))

    def _timeout_s(self, call: ToolCall) -> float | None:
        if call.has("timeout_seconds"):
            return call.number("timeout_seconds")
        return call.number("timeout") if call.has("timeout") and self._is_yolo() else None

    async def tail(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        run = await asyncio.to_thread(self._processes.find, call.text("run_id"))
        name = call.text("stream", "stdout")
        output = run.stderr if name == "stderr" else run.stdout
        size = output.size()
        first = output.first()
        offset = max(call.integer("offset") if call.has("offset") else size - _PAGE_BYTES, first)
        if offset > size:
            raise ToolMisuse(f"offset is {offset}, but {name} of {run.id} has {size} bytes so far.")
        text = await asyncio.to_thread(output.text, offset, _PAGE_BYTES)
        end = min(offset + _PAGE_BYTES, size)
        head = (
            f"{state(run, self._clock.wall())} {name} bytes {offset}-{end} of {size}; offset={end} shows what follows."
            f"\n{output.gone()}".rstrip("\n")
        )
        payload: dict[str, JsonValue] = {"run_id": run.id, "running": run.is_running, "stream": name}
        payload |= {"next": end, "text": text}
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
        run = await asyncio.to_thread(self._processes.find, call.text("run_id"))
        killed = await self._processes.stop(run)
        await turn.audit("command_stopped", {"run_id": run.id})
        forced = f" {killed} of its processes had to be killed." if killed else ""
        echo = f"Run {run.id} and all that it started is ended.{forced}"
        return ToolResult(True, "stop_command", {**card(run, self._clock.wall()), "killed": killed}, echo)

    async def send(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        run = await asyncio.to_thread(self._processes.find, call.text("run_id"))
        began = (run.stdout.size(), run.stderr.size())
        await self._processes.type(run, _typed(call))
        await turn.audit("command_input", {"run_id": run.id})
        limits = self._processes.limits
        follower = Follower(run, self._clock, _teller(run, turn), began=began)
        await follower.until(limits.background_s, limits.quiet_s, turn.cancelled)
        text = await asyncio.to_thread(run.stdout.text, began[0], _PAGE_BYTES)
        payload = {**card(run, self._clock.wall()), "text": text}
        echo = f"{state(run, self._clock.wall())}\n{text}"
        return ToolResult(True, "send_command_input", payload, echo, facts=(_fact(run),))


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


def _teller(run: Run, turn: TurnContext) -> Callable[[str, str], None]:
    return lambda stream, text: turn.emit("command_output", {"run_id": run.id, "stream": stream, "text": text})


_RUNNING = RareFamily("commands", "a command that runs on: its output, input and end; wait for it, a port or a file")
_RUN = Param("run_id", description="from the answer of execute_command", required=True)

COMMANDS = Family(
    Commands,
    (
        ToolSpec(
            name="execute_command",
            description=(
                "Run a command through the person's shell. Returns when it has ended, or after 60 seconds with the "
                "output so far and a run_id while it goes on. It sees the system's programs and may change files in "
                "the workspace; it has no network, no screen, an empty input, a home and a /tmp of its own, and what "
                "it starts ends with it. Ask for more only where it fails without. Before one that changes things, say "
                "what it will do."
            ),
            effect=Effect.EXECUTES,
            execute=Commands.execute,
            attrs=(
                Param("cwd", description="a folder; the workspace if left out"),
                Param(
                    "background",
                    ValueType.FLAG,
                    "for servers: returns once it runs; its ports are reached",
                ),
                Param("keep", ValueType.FLAG, "the person asked that it outlives Wisp"),
                Param("pty", ValueType.FLAG, "it gets a terminal, and send_command_input can answer it"),
                Param(
                    "timeout_seconds",
                    ValueType.NUMBER,
                    "end it after that time; else never",
                    minimum=0.1,
                ),
                Param("timeout", ValueType.NUMBER, "the same, in YOLO mode only", minimum=0.1, is_taught=False),
                Param("network", ValueType.FLAG, "it needs the internet; the person is asked"),
                Param("outside", ValueType.FLAG, "it needs other files or the screen; the person is asked"),
                Param("requires_approval", ValueType.FLAG, "it may destroy something; the person is asked"),
            ),
            body=Param(
                "command", description="the command", required=True, close=Close.LAST, short=False, aliases=("cmd",)
            ),
            examples=('<execute_command background="true"><![CDATA[npm run dev]]></execute_command>',),
            aliases=("bash",),
        ),
        ToolSpec(
            name="read_command_tail",
            description=(
                "Read the newest output of a command, or, with offset, the output from that byte on. Of each command "
                "the newest 64 MB are kept, of all commands 1 GB; keys and passwords in it are blanked out."
            ),
            effect=Effect.READS,
            execute=Commands.tail,
            attrs=(
                _RUN,
                Param("stream", description="stdout if left out", choices=("stdout", "stderr")),
                Param("offset", ValueType.INTEGER, "byte to start at, as an earlier answer named it", minimum=0),
            ),
            examples=('<read_command_tail run_id="r1f2e3"/>',),
            taint="command",
            rare=_RUNNING,
        ),
        ToolSpec(
            name="list_recent_commands",
            description="List the newest commands, of earlier sessions too: whether they run, and how they ended.",
            effect=Effect.READS,
            execute=Commands.recent,
            attrs=(Param("count", ValueType.INTEGER, f"{_LISTED} if left out", minimum=1, maximum=100),),
            examples=("<list_recent_commands/>",),
            rare=_RUNNING,
        ),
        ToolSpec(
            name="stop_command",
            description="End a command with everything it has started.",
            effect=Effect.EXECUTES,
            execute=Commands.stop,
            attrs=(_RUN,),
            examples=('<stop_command run_id="r1f2e3"/>',),
            rare=_RUNNING,
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
                Param("enter", ValueType.FLAG, "false to type without pressing enter"),
            ),
            body=Param("text", description="what to type", short=False),
            examples=('<send_command_input run_id="r1f2e3">yes</send_command_input>',),
            typed="text",
            rare=_RUNNING,
        ),
    ),
)


class CommandJudge:
    """Classifies commands for the policy. `no_wall` returns why commands run without the sandbox; "" if they do not."""

    def __init__(self, workspace: Workspace, processes: Processes, no_wall: Callable[[], str]) -> None:
        self._workspace = workspace
        self._processes = processes
        self._no_wall = no_wall

    def classify(self, call: ToolCall) -> CommandClass | None:
        """None unless the call starts a command or types into one."""
        if call.name == "execute_command":
            return self._started(call)
        return self._typed(call) if call.name == "send_command_input" else None

    def _started(self, call: ToolCall) -> CommandClass:
        wishes = SandboxRequest(network=call.flag("network"), outside=call.flag("outside"))
        cwd = self._cwd(call)
        return classify(call.text("command"), cwd, self._workspace.folder, wishes, no_wall=self._no_wall())

    def _cwd(self, call: ToolCall) -> Path:
        """An invalid folder counts as outside: the call itself reports the error."""
        try:
            return self._workspace.locate(call.text("cwd", "."), "cwd").path
        except WispError:
            return Path(self._workspace.folder.anchor)

    def _typed(self, call: ToolCall) -> CommandClass:
        """The class of a text that is typed into a running command: sandboxed if that command is."""
        try:
            record = self._processes.record(call.text("run_id"))
        except WispError as error:
            return CommandClass(False, False, False, True, (error.why.what,))
        why = (Phrase("It types into a command that runs already."),)
        return CommandClass(False, record.sandboxed, record.network, not record.sandboxed, why)


_USUAL_S, _MOST_S = 300.0, 3_600.0
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

        met = await waiting.until(condition, limit_s, self._clock, (turn.cancelled, turn.heard), tick)
        if turn.cancelled.is_set() and not met:
            raise Cancelled("The waiting was stopped.")
        waited_s = round(self._clock.now() - begun, 1)
        payload: dict[str, JsonValue] = {"for": what, "met": bool(met), "waited_s": waited_s, "limit_s": limit_s}
        has_said = turn.heard.is_set() and not met
        if call.has("seconds") and not has_said:
            return ToolResult(True, "wait_until", {**payload, "met": True}, f"{waited_s:g} seconds have passed.")
        echo = f"After {waited_s:g} s: {met}." if met else f"Not yet: waited {waited_s:g} s for {what}."
        echo += f" Stopped early: {HEARD}" if has_said else ""
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
        run = await asyncio.to_thread(self._processes.find, call.text("run_id"))
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
                "Really wait, without spending passes. For a time, the end of a command, words in its output, an open "
                "port of this machine, or a file. Give one of seconds, run_id (with or without pattern), port, file."
            ),
            effect=Effect.READS,
            is_wait=True,
            execute=Waits.wait_until,
            attrs=(
                Param("seconds", ValueType.NUMBER, "just this time", minimum=0, maximum=_MOST_S),
                Param("run_id", description="until this command has ended, or has printed the pattern"),
                Param("pattern", description="a regular expression in Rust's syntax"),
                Param("port", ValueType.INTEGER, "until something listens there", minimum=1, maximum=65_535),
                Param("file", description="until this file exists"),
                Param(
                    "timeout_seconds",
                    ValueType.NUMBER,
                    f"give up after that, {_USUAL_S:g} if left out",
                    minimum=0,
                    maximum=_MOST_S,
                ),
            ),
            examples=('<wait_until run_id="r1f2e3" pattern="Listening on"/>', '<wait_until port="3000"/>'),
            taint="command",
            rare=_RUNNING,
        ),
    ),
)
