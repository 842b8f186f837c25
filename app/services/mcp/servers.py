"""The servers of one conversation: started on first use, watched, and used only as the person agreed."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from app.base import ids, paths
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.texts import clip_line, plain, without_secrets
from app.base.values import dataclass, field
from app.services.mcp.configuration import (
    Configuration,
    ServerEntry,
    at_home,
    expanded,
    folder_of,
    is_of_workspace,
    mark_of,
    private_folder,
)
from app.services.mcp.hub import Hub, Message, ServerFault
from app.services.mcp.pins import Pins, Review, ServedTool, fit_tools
from app.services.sandbox import bubblewrap
from app.services.sandbox.layout import Before, Period, Sandbox

PINS_FILE = "mcp-agreed.json"
_LONGEST_WAIT_S = 60.0
_LOG_LINES = 20
_SAID_CHARS = 300
_INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""The variables that the SDK also passes to a server, and the language."""

_INSIDE = "WISP_INSIDE"
_SET_INSIDE = f'eval "${_INSIDE}"; unset {_INSIDE}; exec "$@"'
"""Sets the server's own variables inside the sandbox. Outside, the loader would obey some of them too early.
They are not in argv, because every user of the machine can read that.
"""

Progress = Callable[[float, float | None, str], None]


@dataclass(frozen=True, slots=True)
class ServedPicture:
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What a server asks the person during a call; `fields` are the values it wants."""

    text: str
    url: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The result of a call or a resource. With a `question`, the call still waits for `McpServers.reply`."""

    text: str = ""
    pictures: tuple[ServedPicture, ...] = ()
    is_error: bool = False
    question: ServerQuestion | None = None


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server, as the person and the model see it. `state` is off, new, idle, running, ended or failed.

    `failure` is why its last start failed, in this process or another.
    """

    entry: ServerEntry
    state: str
    tools: int
    is_trusted: bool
    log: tuple[str, ...] = ()
    failure: str = ""


class _Run:
    """One start of a server's process in its sandbox, to be settled when it has ended."""

    def __init__(self, wall: Sandbox | None, folder: Path, before: Before) -> None:
        self._wall = wall
        self._folder = folder
        self._before = before
        self._began = time.time()

    def settle(self) -> None:
        """Set aside files that it left and that would run by themselves. Blocks."""
        now = time.time()
        if self._wall is not None:
            self._wall.settle(self._folder, self._before, Period(self._began, now, now))
        shutil.rmtree(self._folder, ignore_errors=True)


class _Live:
    """What is known about one server in this conversation."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.fingerprint = ""
        self.review: Review | None = None
        self.run: _Run | None = None
        self.process = 0
        self.ended_at = 0.0
        self.ends = 0
        self.is_legacy = False
        self.log: list[str] = []
        self.waiting: _Waiting | None = None

    def note(self, text: str) -> None:
        lines = [clip_line(plain(line)[0], _SAID_CHARS) for line in text.splitlines() if line.strip()]
        self.log = [*self.log, *lines][-_LOG_LINES:]


class _Waiting:
    """A call whose server waits for the person."""

    def __init__(self, task: asyncio.Task[Any], tool: str) -> None:
        self.task = task
        self.tool = tool
        self.number = 0
        self.asked: asyncio.Future[ServerQuestion] = asyncio.get_running_loop().create_future()


class McpServers:
    """All configured servers, and the worker that holds their connections."""

    def __init__(
        self, workspace: Path, clock: Clock, configuration: Configuration | None = None, pins: Pins | None = None
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self.configuration = configuration or Configuration(workspace)
        self.pins = pins or standard_pins()
        self._hub = Hub(self._hear)
        self._live: dict[str, _Live] = {}

    @property
    def is_any(self) -> bool:
        """Whether a server is configured and not disabled."""
        return any(not entry.is_disabled for entry in self.configuration.read().servers.values())

    def states(self) -> list[ServerState]:
        """Return all servers, as they are now."""
        return [self._state(entry) for entry in self.configuration.read().servers.values()]

    def is_agreed(self, entry: ServerEntry) -> bool:
        """Return whether the person agreed to it. Their own entries count as agreed. Blocks."""
        if not self.pins.is_agreed(entry.pin, mark_of(entry, self._workspace)):
            if not entry.is_own:
                return False
            self.agree(entry)
        return True

    def may_start(self, entry: ServerEntry) -> bool:
        """Return whether it may start without a question. Blocks.

        A server that reaches beyond the sandbox and is in the workspace needs a question at each start: others write
        there.
        """
        reaches_far = entry.kind == "stdio" and entry.reach_kind != "sandboxed"
        is_theirs = reaches_far and not self._is_running(entry) and is_of_workspace(entry, self._workspace)
        return self.is_agreed(entry) and not is_theirs

    def start_of(self, entry: ServerEntry) -> str:
        """Return its whole command or address, and the folder where its program starts."""
        return f"{entry.line} in {folder_of(entry, self._workspace)}" if entry.kind == "stdio" else entry.line

    def _is_running(self, entry: ServerEntry) -> bool:
        live = self._live.get(entry.pin)
        return live is not None and bool(entry.fingerprint) and live.fingerprint == entry.fingerprint

    def agree(self, entry: ServerEntry) -> None:
        """Save that the person agreed to start the server as its entry says."""
        if not self.pins.is_agreed(entry.pin, mark := mark_of(entry, self._workspace)):
            self.pins.agree(entry.pin, mark, entry.reach_kind)

    def accept(self, entry: ServerEntry, tool: ServedTool) -> None:
        """Save that the person agreed to exactly this tool. Other changed tools stay off. Raises NeedsPerson."""
        others = [one for one in self.pins.accepted(entry.pin) if one.name != tool.name]
        self.pins.accept(entry.pin, [*others, tool])
        self._of(entry).review = None

    async def tools(self, entry: ServerEntry) -> Review:
        """Review the server's tools, and start the server if it does not run. Raises ToolFailed and NeedsPerson.

        Tools seen for the first time count as agreed to together with their server.
        """
        live = self._of(entry)
        async with live.lock:
            if live.fingerprint != entry.fingerprint:
                await self._started(entry, live)
            if live.review is None:
                told = await self._asked(entry, live, "tools")
                live.review = await asyncio.to_thread(self._reviewed, entry, told)
            return live.review

    def _reviewed(self, entry: ServerEntry, told: Sequence[Mapping[str, Any]]) -> Review:
        """Compare the offered tools with what was agreed to. Blocks."""
        offered = [_tool(one) for one in told]
        if not self.pins.knows_tools(entry.pin):
            self.pins.accept(entry.pin, fit_tools(offered))
        return self.pins.review(entry.pin, offered)

    async def resources(self, entry: ServerEntry) -> list[Mapping[str, str]]:
        """Return what can be read: uri, name and description each."""
        found: list[Mapping[str, str]] = await self._asked(entry, self._of(entry), "resources")
        return found

    async def use(
        self, entry: ServerEntry, tool: str, arguments: Mapping[str, Any], progress: Progress
    ) -> ServerAnswer:
        """Call a tool. Raises ToolFailed. If the server asks the person something, the answer is its question."""
        live = self._of(entry)
        self._drop(live)
        work = self._asked(
            entry, live, "use", event=partial(self._event, live, progress), tool=tool, arguments=arguments
        )
        live.waiting = waiting = _Waiting(asyncio.ensure_future(work), tool)
        return await self._outcome(live, waiting)

    async def reply(self, entry: ServerEntry, tool: str, content: Mapping[str, Any] | None) -> ServerAnswer:
        """Send the person's answer, None for a no. Raises ToolMisuse if no server waits for one."""
        live = self._of(entry)
        waiting = live.waiting
        if waiting is None or waiting.tool != tool or not waiting.asked.done():
            raise ToolMisuse("answers: this server asked nothing, or has given up waiting. Call the tool anew.")
        waiting.asked = asyncio.get_running_loop().create_future()
        answer = {"action": "decline"} if content is None else {"action": "accept", "content": dict(content)}
        await self._hub.ask("reply", entry.pin, call=waiting.number, answer=answer)
        return await self._outcome(live, waiting)

    async def read(self, entry: ServerEntry, uri: str) -> ServerAnswer:
        """Read a resource. Raises ToolFailed."""
        return _answer(await self._asked(entry, self._of(entry), "read", uri=uri))

    async def close(self) -> None:
        """End all servers."""
        for live in self._live.values():
            self._drop(live)
        await self._hub.close()
        self._end_processes()
        for live in self._live.values():
            await self._settled(live)

    async def _outcome(self, live: _Live, waiting: _Waiting) -> ServerAnswer:
        """Return what comes first: the end of the call, or a question of its server."""
        try:
            await asyncio.wait((waiting.task, waiting.asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            waiting.task.cancel()
            live.waiting = None
            raise
        if not waiting.task.done():
            return ServerAnswer(question=waiting.asked.result())
        live.waiting = None
        return _answer(waiting.task.result())

    def _event(self, live: _Live, progress: Progress, message: Message) -> None:
        waiting = live.waiting
        if message["event"] == "progress":
            progress(message["done"], message["of"], message["text"])
        elif message["event"] == "question" and waiting is not None and not waiting.asked.done():
            schema = message.get("schema") or {}
            waiting.number = message["id"]
            waiting.asked.set_result(
                ServerQuestion(message["text"], message["url"], dict(schema.get("properties") or {}))
            )

    def _drop(self, live: _Live) -> None:
        """Give up a call that still waits for the person."""
        if live.waiting is not None:
            live.waiting.task.cancel()
            live.waiting = None

    def _of(self, entry: ServerEntry) -> _Live:
        return self._live.setdefault(entry.pin, _Live())

    def _state(self, entry: ServerEntry) -> ServerState:
        live = self._live.get(entry.pin)
        is_same = self.pins.is_agreed(entry.pin, mark_of(entry, self._workspace))
        failure = self.pins.failure(entry.pin) if is_same else ""
        state = "off" if entry.is_disabled else "failed" if failure else "idle" if entry.is_own or is_same else "new"
        if live is not None and live.fingerprint:
            state = "running"
        elif live is not None and live.ended_at and not failure:
            state = "ended"
        tools = len(self.pins.accepted(entry.pin))
        log = tuple(live.log) if live else ()
        return ServerState(entry, state, tools, self.pins.is_trusted(entry.pin), log, failure)

    async def _asked(self, entry: ServerEntry, live: _Live, operation: str, **fields: Any) -> Any:
        try:
            return await self._hub.ask(operation, entry.pin, limit_s=entry.limit_s, **fields)
        except ServerFault as fault:
            if fault.fault == "dead" and live.fingerprint:  # unless its end was reported first
                self._note_end(live, fault.said)
            raise _explained(entry, fault) from None

    async def _started(self, entry: ServerEntry, live: _Live) -> None:
        self._check_back_off(entry, live)
        if live.run is not None:
            await self._hub.ask("close", entry.pin)
            await self._settled(live)
        try:
            launch, live.run = await asyncio.to_thread(self._launch, entry)
            live.review = None
            told = await self._opened(entry, live, launch)
        except (ServerFault, NeedsPerson) as error:
            failure = _explained(entry, error, is_start=True) if isinstance(error, ServerFault) else error
            if isinstance(error, ServerFault):
                self._note_end(live, error.said)
            await asyncio.to_thread(self.pins.note_start, entry.pin, without_secrets(str(failure)))
            raise failure from None
        await asyncio.to_thread(self.pins.note_start, entry.pin, "")
        live.is_legacy = told["legacy"]
        live.fingerprint, live.ends = entry.fingerprint, 0

    async def _opened(self, entry: ServerEntry, live: _Live, launch: Mapping[str, Any]) -> Message:
        """Open it with the protocol version that it used last. If that ends it, try the other one."""
        modes = ("legacy", "auto") if live.is_legacy else ("auto", "legacy")
        try:
            told: Message = await self._hub.ask("open", entry.pin, launch=launch, mode=modes[0])
        except ServerFault as fault:
            if fault.fault not in ("dead", "refused", "damaged"):
                raise
            live.note(fault.said)
            told = await self._hub.ask("open", entry.pin, launch=launch, mode=modes[1])
        return told

    def _check_back_off(self, entry: ServerEntry, live: _Live) -> None:
        """Raise ToolFailed for a server that ended again and again: each restart waits longer."""
        wait_s = min(2.0 ** (live.ends - 2), _LONGEST_WAIT_S) if live.ends > 1 else 0.0
        left_s = live.ended_at + wait_s - self._clock.now()
        if live.ends and left_s > 0:
            last = f" Its last words: {live.log[-1]}" if live.log else ""
            raise ToolFailed(f"{entry.name} has ended {live.ends} times; it is started again in {left_s:.0f} s.{last}")

    def _note_end(self, live: _Live, said: str) -> None:
        live.note(said)
        live.fingerprint, live.review = "", None
        live.ends += 1
        live.ended_at = self._clock.now()

    async def _settled(self, live: _Live) -> None:
        run, live.run = live.run, None
        if run is not None:
            await asyncio.to_thread(run.settle)

    def _hear(self, message: Message) -> None:
        """Handle an event that belongs to no call."""
        if message["event"] == "lost":
            self._end_processes()
            for live in self._live.values():
                if live.fingerprint:
                    self._note_end(live, "")
        elif known := self._live.get(message["server"]):
            if message["event"] == "changed":
                known.review = None
            elif message["event"] == "note":
                known.note(message["text"])
            elif message["event"] == "process":
                known.process = message["pid"]
            else:
                known.process = 0
                if known.fingerprint:
                    self._note_end(known, message["text"])

    def _end_processes(self) -> None:
        """Kill the servers of a worker that was killed, because it could not end them itself."""
        for live in self._live.values():
            process, live.process = live.process, 0
            if process and sys.platform != "win32":
                with suppress(ProcessLookupError, PermissionError):  # because it may have ended already
                    os.killpg(process, signal.SIGKILL)

    def _launch(self, entry: ServerEntry) -> tuple[Mapping[str, Any], _Run | None]:
        """Return how the worker starts or reaches it. Blocks, because the sandbox walks the workspace."""
        fill = partial(expanded, server=entry.name if entry.is_own else "", is_own=entry.is_own)
        told = {"kind": entry.kind, "root": self._workspace.as_uri()}
        if entry.kind != "stdio":
            headers = {name: fill(value) for name, value in entry.headers.items()}
            return {**told, "url": fill(entry.url), "headers": headers, "local": entry.is_local}, None
        argv = [fill(at_home(word)) for word in (entry.command, *entry.args)]
        own = {name: fill(value) for name, value in entry.env.items()}
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        private = private_folder(entry)
        cwd = folder_of(entry, self._workspace)
        if entry.is_own:
            # Otherwise Python would import from the current folder:
            # https://docs.python.org/3/using/cmdline.html#envvar-PYTHONSAFEPATH
            environment["PYTHONSAFEPATH"] = "1"
            own = {"PYTHONSAFEPATH": "1", **own}
        if not entry.sandbox:
            return {**told, "argv": argv, "environment": {**environment, **own}, "cwd": str(cwd)}, None
        folders = tuple(Path(at_home(folder)) for folder in entry.folders)
        wall = bubblewrap.wall(self._workspace, wanted=True, readable=folders, private=private)
        if missing := wall.missing():
            raise NeedsPerson(f'{entry.name} has no sandbox here. {missing} Or let it run without: "sandbox": false.')
        if (program := Path(argv[0])).is_absolute():
            place = os.path.realpath(program.parent)
            argv[0] = f"{place}/{program.name}"
            environment["PATH"] = f"{place}{os.pathsep}{environment.get('PATH', '')}"
        folder = paths.state_dir() / "mcp" / ids.unique()
        folder.mkdir(parents=True, mode=0o700)
        made = wall.enclose(cwd, environment, folder, network=entry.network)
        run = _Run(wall, folder, made.before)
        return {
            **told,
            "argv": [*made.prefix, "/bin/sh", "-c", _SET_INSIDE, "sh", *argv],
            "environment": {**made.environment, _INSIDE: _exports(own)},
            "cwd": str(cwd),
        }, run


def _exports(variables: Mapping[str, str]) -> str:
    """Return the variables as shell commands. Their names are plain, because the configuration checked them."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def standard_pins() -> Pins:
    """Return the agreements of this person."""
    return Pins(paths.config_dir() / PINS_FILE)


_FAULTS = {
    "dead": "{name} ended while it was asked; whether it did what was wanted is not known. Look before trying again.",
    "silent": "{name} did not answer within {limit:g} s, and was told to stop. What it has done by then is not known.",
    "refused": "{name} refused: {words}",
    "damaged": "{name} does not speak the protocol as it should ({words}).",
    "unstarted": "{name} cannot be started: {words}",
    "cancelled": "{name} was stopped.",
}
_AT_START = {
    "dead": "{name} ended as soon as it was started.",
    "silent": "{name} was started but said nothing.",
}


def _explained(entry: ServerEntry, fault: ServerFault, *, is_start: bool = False) -> ToolFailed:
    table = {**_FAULTS, **_AT_START} if is_start else _FAULTS
    sentence = table.get(fault.fault, "{name}: {words}").format(name=entry.name, words=fault, limit=entry.limit_s)
    said = [clip_line(plain(line)[0], _SAID_CHARS) for line in fault.said.splitlines() if line.strip()]
    last = f" Its last words: {said[-1]!r}." if said else ""
    is_shut = is_start and fault.fault in _AT_START and entry.kind == "stdio" and entry.sandbox and not entry.network
    hint = ' It runs without the internet; if it needs that, the person sets "network": true.' if is_shut else ""
    return ToolFailed(f"{sentence}{last}{hint}")


def _tool(told: Mapping[str, Any]) -> ServedTool:
    return ServedTool(told["name"], told["description"], told["schema"], told["only_reads"])


def _answer(told: Mapping[str, Any]) -> ServerAnswer:
    texts, pictures = [], []
    for part in told["parts"]:
        if part["kind"] == "text":
            texts.append(part["text"])
            continue
        try:
            pictures.append(ServedPicture(base64.b64decode(part["data"], validate=True), part["type"]))
        except (binascii.Error, ValueError):  # Drop only the picture, because the server's text is still useful.
            texts.append("[a picture that is damaged]")
    return ServerAnswer("\n".join(texts), tuple(pictures), told["is_error"])


def named_tool(review: Review, name: str) -> ServedTool:
    """Return the usable tool of that name. Raises ToolMisuse with the existing ones."""
    found = next((tool for tool in review.usable if tool.name == name), None)
    if found is None:
        names = _listed([tool.name for tool in review.usable])
        why = next((f" {change.why}" for change in review.changed if change.tool.name == name), "")
        raise ToolMisuse(f"tool_name: there is no usable tool {clip_line(name, 64)!r}.{why} It has {names}.")
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:30]) or "none"
    return f"{shown} and {len(names) - 30} more" if len(names) > 30 else shown
