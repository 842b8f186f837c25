"""The servers of one conversation: started on first use, watched, and used only as the person agreed."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from app.base import ids, paths
from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.base.signs import plain
from app.base.values import dataclass
from app.base.withheld import without_secrets
from app.features.mcp import reach
from app.features.mcp.configuration import (
    Configuration,
    ServerEntry,
    at_home,
    expanded,
    folder_of,
    is_of_workspace,
    mark_of,
    private_folder,
)
from app.features.mcp.hub import Hub, Message, ServerFault, explained
from app.features.mcp.pins import Pins, Review, ServedPrompt, ServedTool, fit_prompts, fit_tools
from app.features.mcp.questions import ServerAnswer, ServerQuestion, answer_of
from app.features.mcp.settings import SERVER_START_S
from app.features.mcp.sign_in import OpenAddress, SignIns
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
class ServerState:
    """A server, as shown to the person and the model. `state`: off, new, idle, running, ended or failed.

    `failure` is why its last start failed, in this process or another one; "" if it did not.
    """

    entry: ServerEntry
    state: str
    tools: int
    is_trusted: bool
    log: tuple[str, ...] = ()
    failure: str = ""


class _Run:
    """One start of a server's process in the sandbox. Call `settle` when it has ended."""

    def __init__(self, wall: Sandbox | None, folder: Path, before: Before) -> None:
        self._wall = wall
        self._folder = folder
        self._before = before
        self._began = time.time()

    def settle(self) -> None:
        """Rename files that the process left and that would run by themselves. Blocks."""
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
        self.calls = asyncio.Lock()
        self.asking: _Waiting | None = None

    def note(self, text: str) -> None:
        lines = [clip_line(plain(line)[0], _SAID_CHARS) for line in text.splitlines() if line.strip()]
        self.log = [*self.log, *lines][-_LOG_LINES:]


class _Waiting:
    """A call of a tool, whose server may ask the person a question. `caller` is who calls: "", or a surface's id."""

    def __init__(self, tool: str, caller: str, progress: Progress, work: Callable[[_Waiting], Awaitable[Any]]) -> None:
        self.tool = tool
        self.caller = caller
        self.number = 0
        self.progress = progress
        self.task = asyncio.ensure_future(work(self))
        self.asked: asyncio.Future[ServerQuestion] = asyncio.get_running_loop().create_future()

    def hear(self, message: Message) -> None:
        """Handle an event of this call."""
        if message["event"] == "progress":
            self.progress(message["done"], message["of"], message["text"])
        elif message["event"] == "question" and not self.asked.done():
            schema = message.get("schema") or {}
            self.number = message["id"]
            self.asked.set_result(ServerQuestion(message["text"], message["url"], dict(schema.get("properties") or {})))


class McpServers:
    """All configured servers, and the worker that holds their connections."""

    def __init__(
        self,
        workspace: Path,
        clock: Clock,
        configuration: Configuration | None = None,
        pins: Pins | None = None,
        start_s: float = SERVER_START_S.default,
    ) -> None:
        """`start_s` is how long a server's process may take to start."""
        self._workspace = workspace
        self._start_s = start_s
        self._clock = clock
        self.configuration = configuration or Configuration(workspace)
        self.pins = pins or standard_pins()
        self._hub = Hub(self._hear)
        self._sign_ins = SignIns()
        self._live: dict[str, _Live] = {}

    @property
    def is_any(self) -> bool:
        """Whether a server is configured and not disabled."""
        return any(not entry.is_disabled for entry in self.configuration.read().servers.values())

    def states(self) -> list[ServerState]:
        return [self._state(entry) for entry in self.configuration.read().servers.values()]

    def is_agreed(self, entry: ServerEntry) -> bool:
        """The person's own entries count as agreed to. Blocks."""
        if not self.pins.is_agreed(entry.pin, mark_of(entry, self._workspace)):
            if not entry.is_own:
                return False
            self.agree(entry)
        return True

    def may_start(self, entry: ServerEntry) -> bool:
        """Return whether a server may start without asking the person. Blocks.

        Others write in the workspace, so a server there that reaches beyond the sandbox is asked about at each start.
        """
        reaches_far = entry.kind == "stdio" and entry.reach_kind != "sandboxed"
        is_theirs = reaches_far and not self._is_running(entry) and is_of_workspace(entry, self._workspace)
        return self.is_agreed(entry) and not is_theirs

    def start_of(self, entry: ServerEntry) -> str:
        """Return a server's whole command or address; for a command, also the folder in which it starts."""
        return f"{entry.line} in {folder_of(entry, self._workspace)}" if entry.kind == "stdio" else entry.line

    def _is_running(self, entry: ServerEntry) -> bool:
        live = self._live.get(entry.pin)
        return live is not None and bool(entry.fingerprint) and live.fingerprint == entry.fingerprint

    def agree(self, entry: ServerEntry) -> None:
        """Save that the person agreed to start the server as its entry says."""
        if not self.pins.is_agreed(entry.pin, mark := mark_of(entry, self._workspace)):
            self.pins.agree(entry.pin, mark, entry.reach_kind)

    def accept(self, entry: ServerEntry, tool: ServedTool) -> None:
        """Save that the person agreed to this version of a tool, and to no other. Raises NeedsPerson."""
        others = [one for one in self.pins.accepted(entry.pin) if one.name != tool.name]
        self.pins.accept(entry.pin, [*others, tool])
        self._of(entry).review = None

    async def tools(self, entry: ServerEntry, progress: Progress = lambda *_: None) -> Review:
        """Return the review of a server's tools. Starts the server first, and says so to `progress`.

        Raises ToolFailed and NeedsPerson.

        At the first start, all its tools count as agreed to, together with the server.
        """
        live = self._of(entry)
        async with live.lock:
            if live.fingerprint != entry.fingerprint:
                progress(0, None, f"{entry.name} is still starting.")
                await self._started(entry, live)
            if live.review is None:
                told = await self._asked(entry, live, "tools")
                live.review = await asyncio.to_thread(self._reviewed, entry, told)
            return live.review

    async def sign_in(self, entry: ServerEntry, open_address: OpenAddress) -> bool:
        """Sign in to a server in the person's browser, and keep what it grants. Return whether it wanted that.

        `open_address` shows its page, on a thread. Raises ToolFailed and NeedsPerson.
        """
        if entry.kind == "stdio":
            raise NeedsPerson(f"{entry.name} is a program on this machine: there is nothing to sign in to.")
        self._of(entry).fingerprint = ""  # so that it is connected anew, and may ask this time
        with self._sign_ins.asking(entry.pin, open_address):
            await self.tools(entry)
        await self._sign_ins.settled()
        return self._sign_ins.is_granted(entry.pin)

    def _reviewed(self, entry: ServerEntry, told: Sequence[Mapping[str, Any]]) -> Review:
        """Compare the tools that the server offers with those that the person agreed to. Blocks."""
        offered = [_tool(one) for one in told]
        if not self.pins.knows_tools(entry.pin):
            self.pins.accept(entry.pin, fit_tools(offered))
        return self.pins.review(entry.pin, offered)

    async def resources(self, entry: ServerEntry) -> list[Mapping[str, str]]:
        """Return the server's resources, each as uri, name and description."""
        found: list[Mapping[str, str]] = await self._asked(entry, self._of(entry), "resources")
        return found

    async def prompts(self, entry: ServerEntry) -> tuple[ServedPrompt, ...]:
        """Ask the server for its prompts, and save them. Those without plain names are left out."""
        told = await self._asked(entry, self._of(entry), "prompts")
        found = fit_prompts(told)
        await asyncio.to_thread(self.pins.note_prompts, entry.pin, found)
        return found

    async def prompt(self, entry: ServerEntry, name: str, arguments: Mapping[str, str]) -> ServerAnswer:
        """Return the text of a prompt, filled in with the arguments. Raises ToolFailed."""
        return answer_of(await self._asked(entry, self._of(entry), "prompt", prompt=name, arguments=dict(arguments)))

    async def use(
        self,
        entry: ServerEntry,
        tool: str,
        arguments: Mapping[str, Any],
        progress: Progress,
        *,
        whole: bool = False,
        caller: str = "",
    ) -> ServerAnswer:
        """Call a tool. Returns its result, or the question that the server asks the person. Raises ToolFailed.

        `caller` is "" for the conversation, or a surface's id. The calls of one server run one after the other, because
        a server does not say which call its question belongs to. A new call gives up the caller's own unanswered one.
        """
        live = self._of(entry)
        if live.asking is not None and live.asking.caller == caller:
            self._drop(live)

        async def work(call: _Waiting) -> Any:
            async with live.calls:
                return await self._asked(
                    entry, live, "use", event=call.hear, tool=tool, arguments=arguments, whole=whole
                )

        return await self._outcome(live, _Waiting(tool, caller, progress, work))

    async def reply(
        self, entry: ServerEntry, tool: str, content: Mapping[str, Any] | None, *, caller: str = ""
    ) -> ServerAnswer:
        """Send the person's answer (None: they declined). Raises ToolMisuse if no server waits for one."""
        live = self._of(entry)
        waiting = live.asking
        if waiting is None or (waiting.tool, waiting.caller) != (tool, caller) or not waiting.asked.done():
            raise ToolMisuse("answers: this server asked nothing, or has given up waiting. Call the tool anew.")
        waiting.asked = asyncio.get_running_loop().create_future()
        answer = {"action": "decline"} if content is None else {"action": "accept", "content": dict(content)}
        await self._hub.ask("reply", entry.pin, call=waiting.number, answer=answer)
        return await self._outcome(live, waiting)

    async def read(self, entry: ServerEntry, uri: str) -> ServerAnswer:
        """Raises ToolFailed."""
        return answer_of(await self._asked(entry, self._of(entry), "read", uri=uri))

    async def page(self, entry: ServerEntry, uri: str) -> str:
        """Return the page that the server ships under a `ui://` address; "" if that is no page. Raises ToolFailed."""
        return str(await self._asked(entry, self._of(entry), "page", uri=uri))

    async def stop(self, entry: ServerEntry) -> None:
        """End one server, if it runs."""
        live = self._of(entry)
        self._drop(live)
        live.fingerprint, live.review = "", None
        if live.run is not None:
            await self._hub.ask("close", entry.pin)
            await self._settled(live)

    async def close(self) -> None:
        """End all servers."""
        for live in self._live.values():
            self._drop(live)
        await self._hub.close()
        await self._sign_ins.settled()
        self._end_processes()
        for live in self._live.values():
            await self._settled(live)

    async def _outcome(self, live: _Live, waiting: _Waiting) -> ServerAnswer:
        """Wait, and return the call's result or the server's question, whichever comes first."""
        try:
            await asyncio.wait((waiting.task, waiting.asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            waiting.task.cancel()
            if live.asking is waiting:
                live.asking = None
            raise
        if not waiting.task.done():
            live.asking = waiting
            return ServerAnswer(question=waiting.asked.result())
        if live.asking is waiting:
            live.asking = None
        return answer_of(waiting.task.result())

    def _drop(self, live: _Live) -> None:
        """Cancel the server's call that still waits for the person's answer, if there is one."""
        if live.asking is not None:
            live.asking.task.cancel()
            live.asking = None

    def _of(self, entry: ServerEntry) -> _Live:
        return self._live.setdefault(entry.pin, _Live())

    def _state(self, entry: ServerEntry) -> ServerState:
        live = self._live.get(entry.pin)
        is_same = self.pins.is_agreed(entry.pin, mark_of(entry, self._workspace))
        failure = self.pins.failure(entry.pin) if is_same else ""
        state = "off" if entry.is_disabled else "failed" if failure else "idle" if entry.is_own or is_same else "new"
        if live is not None and live.fingerprint and not entry.is_disabled:
            state = "running"
        elif live is not None and live.ended_at and state != "off" and not failure:
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
            raise explained(entry, fault) from None

    async def _started(self, entry: ServerEntry, live: _Live) -> None:
        self._check_back_off(entry, live)
        if live.run is not None:
            await self._hub.ask("close", entry.pin)
            await self._settled(live)
        try:
            launch, live.run = await asyncio.to_thread(self._launch, entry)
            live.review = None
            live.is_legacy = await self._opened(entry, live, launch)
        except (ServerFault, NeedsPerson) as error:
            failure: ToolFailed | NeedsPerson = error
            if isinstance(error, ServerFault):
                failure = explained(entry, error, self._workspace, self._start_s)
                self._note_end(live, error.said)
            await asyncio.to_thread(self.pins.note_start, entry.pin, without_secrets(failure.for_people()))
            raise failure from None
        await asyncio.to_thread(self.pins.note_start, entry.pin, "")
        live.fingerprint, live.ends = entry.fingerprint, 0

    async def _opened(self, entry: ServerEntry, live: _Live, launch: Mapping[str, Any]) -> bool:
        """Open the connection in the protocol mode that worked last. Returns whether that is the legacy one.

        If the server ends, refuses or sends nonsense, the other one is tried; other faults rise at once.
        """
        modes = ("legacy", "auto") if live.is_legacy else ("auto", "legacy")
        try:
            told = await self._hub.ask("open", entry.pin, launch=launch, mode=modes[0])
        except ServerFault as fault:
            if fault.fault not in ("dead", "refused", "damaged"):
                raise
            live.note(fault.said)
            told = await self._hub.ask("open", entry.pin, launch=launch, mode=modes[1])
        return bool(told["is_legacy"])

    def _check_back_off(self, entry: ServerEntry, live: _Live) -> None:
        """Raise ToolFailed for a server that ended repeatedly, unless it waited long enough for a restart."""
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
        """Handle an event of the worker that belongs to no call."""
        if message["event"] == "lost":
            self._end_processes()
            for live in self._live.values():
                if live.fingerprint:
                    self._note_end(live, "")
        elif known := self._live.get(message["server"]):
            if message["event"] in ("sign_in", "granted"):
                self._sign_ins.hear(message["server"], message)
            elif message["event"] == "changed":
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
        """Kill the servers whose worker was killed and could not end them."""
        for live in self._live.values():
            process, live.process = live.process, 0
            if process and sys.platform != "win32":
                with suppress(ProcessLookupError, PermissionError):  # because it may have ended already
                    os.killpg(process, signal.SIGKILL)

    def _launch(self, entry: ServerEntry) -> tuple[Mapping[str, Any], _Run | None]:
        """Blocks, because the sandbox walks the workspace."""
        fill = partial(expanded, server=entry.name if entry.is_own else "", is_own=entry.is_own)
        folders = tuple(Path(at_home(folder)) for folder in entry.folders)
        # Some servers work in these folders only, and no longer in those that their command names.
        roots = (self._workspace, *(folder for folder in folders if folder.is_absolute() and folder.is_dir()))
        named = [{"uri": root.as_uri(), "name": root.name} for root in roots]
        told: dict[str, Any] = {"kind": entry.kind, "roots": named, "start_s": self._start_s}
        if entry.kind != "stdio":
            headers = {name: fill(value) for name, value in entry.headers.items()}
            told |= {"url": (url := fill(entry.url)), "headers": headers, "local": entry.is_local}
            is_keyed = any(name.lower() == "authorization" for name in headers)
            return told if is_keyed else {**told, "auth": self._sign_ins.launch(entry, url)}, None
        argv = [fill(at_home(word)) for word in (entry.command, *entry.args)]
        own = {name: fill(value) for name, value in entry.env.items()}
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        private = private_folder(entry)
        cwd = folder_of(entry, self._workspace)
        if entry.is_own and cwd.is_relative_to(self._workspace):
            # Otherwise Python would import what others write in the current folder:
            # https://docs.python.org/3/using/cmdline.html#envvar-PYTHONSAFEPATH
            environment["PYTHONSAFEPATH"] = "1"
            own = {"PYTHONSAFEPATH": "1", **own}
        if not entry.sandbox:
            return {**told, "argv": argv, "environment": {**environment, **own}, "cwd": str(cwd)}, None
        python = reach.python_of(Path(argv[0]))
        readable = (*folders, *python.folders)
        wall = bubblewrap.wall(self._workspace, wanted=True, readable=readable, links=python.links, private=private)
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
    """As shell commands. Names need no quotes: the configuration has checked them."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def standard_pins() -> Pins:
    """Return the store of this person's agreements to servers."""
    return Pins(paths.config_dir() / PINS_FILE)


def _tool(told: Mapping[str, Any]) -> ServedTool:
    return ServedTool(told["name"], told["description"], told["schema"], told["only_reads"], told["page"])
