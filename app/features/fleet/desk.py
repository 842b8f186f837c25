"""`wisp desk`: one private desktop with a home folder and a clipboard of its own, for another program.

That program writes requests to standard input and reads answers from standard output, one JSON object a line, and ends
the desktop by closing standard input. `client.py` is that program's side of it. Requests are done one after the other;
a `stop` ends the one that runs. The keys of models are read before the home folder is left, and no program on the
desktop gets them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import logging
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import IO, TYPE_CHECKING, Any

from app import options as shared
from app.agent.agent_events import (
    AgentEvent,
    Outcome,
    SayDelta,
    TagStart,
    ThoughtDelta,
    ToolFinished,
    ToolRunning,
    UsageChanged,
)
from app.agent.gate import Approvals
from app.agent.policy import grants, rules
from app.base import ids, logs, paths
from app.base.errors import NeedsPerson, ToolMisuse, WispError
from app.base.resources import system_language
from app.base.startup import stop_on_signals
from app.base.translation import words_in
from app.base.version import version
from app.base.withheld import without_secrets
from app.desktop.apart import end_group, end_with_parent
from app.desktop.capture import lossless
from app.history import trace
from app.history.archive import read_journal
from app.options import on_a_display
from app.protocol.call import Block, Media, ToolCall, ToolResult
from app.protocol.spec import HARMLESS, Effect
from app.providers import profiles
from app.providers.offline.wording import language_of
from app.services.files.workspace import own_workspace
from app.services.journal import rows
from app.settings import catalog, store
from app.settings.providers import key_variables, providers
from app.ui.presenter.cards import has_failed
from app.ui.presenter.receipts import receipt_of

if TYPE_CHECKING:
    from app.features.feature import Unattended
    from app.settings.store import Settings

_log = logging.getLogger(__name__)
_LEFT_BEHIND = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DESKTOP_DIR"),
    *("WISP_DATA_DIR", paths.PRESENCE),
)
"""Variables that point into the home folder that the process leaves."""
_OUTPUT_CHARS = 4_000
_READ_SCREEN, _LIST_WINDOWS = "read_screen", "list_windows"
_WINDOW_LIMIT_S = 10.0
_LOOK_AGAIN_S = 0.1
_LINE_BYTES = 64_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size", type=_size, default=(1280, 800), metavar="WIDTHxHEIGHT", help="the screen's size in pixels"
    )
    parser.add_argument("--record", action="store_true", help="send a picture of the screen after each step")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME", help="as for `wisp do`; may be given several times"
    )
    shared.add_provider_options(parser)
    shared.add_mode_option(parser)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return shared.count(width), shared.count(height)


def run(options: argparse.Namespace) -> int:
    if not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        raise NeedsPerson("Another program starts this command and talks to it. To do many tasks: wisp run-all")
    end_with_parent()
    settings = shared.settings_of(options)
    store.take_keys_along()
    logs.to_file()  # now, because the home folder that follows is deleted
    home = Path(tempfile.mkdtemp(prefix="wisp-home-"))
    _move_to(home)
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # so that nothing else is written between the answers
    try:
        with on_a_display(apart=True, size=options.size, home=home):
            return asyncio.run(_Desk(options, settings, channel).serve())
    except WispError as error:
        shutil.rmtree(home, ignore_errors=True)
        _write(channel, {"event": "failed", "why": str(error)})
        return 1


def _move_to(home: Path) -> None:
    """Make `home` this process's home folder, with the person's settings and rules but nothing else of theirs."""
    kept = [one for one in (store.settings_file(), rules.persons_file(), grants.grants_file()) if one.exists()]
    for name in (*_LEFT_BEHIND, *key_variables()):
        os.environ.pop(name, None)
    os.environ["HOME"] = str(home)
    for path in kept:
        shutil.copy(path, paths.config_dir() / path.name)
    folder = own_workspace()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)


def _write(channel: IO[str], line: Mapping[str, Any]) -> None:
    channel.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n")
    channel.flush()


class _Desk:
    """Answers requests until standard input ends. Used on the event loop's thread."""

    def __init__(self, options: argparse.Namespace, settings: Settings, channel: IO[str]) -> None:
        self._options = options
        self._settings = settings.with_values(files__workspace=str(own_workspace()))
        self._channel = channel
        self._opened = AsyncExitStack()
        self._assistant: Unattended | None = None
        self._answering: Mapping[str, str] = {}
        self._is_stopped = False
        self._last_shell, self._is_in_shell = 0, False
        self._answers: Mapping[str, Callable[..., Awaitable[Mapping[str, Any]]]] = {
            "play": self._play,
            "act": self._act,
            "observe": self._observe,
            "run": self._run,
            "settle": self._settle,
            "trace": self._trace,
            "pointer": self._pointer,
        }

    async def serve(self) -> int:
        self._write({"event": "ready", "folder": str(Path.cwd()), "sockets": os.environ["XDG_RUNTIME_DIR"]})
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReader(_LINE_BYTES)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        asked: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        working = asyncio.ensure_future(self._work(asked))
        stop_on_signals(self._stop)
        async with self._opened:
            while line := await lines.readline():
                request = json.loads(line)
                if request["ask"] == "stop":
                    self._stop()
                else:
                    asked.put_nowait(request)
            asked.put_nowait(None)
            self._stop()
            await working
        return 0

    async def _work(self, asked: asyncio.Queue[Mapping[str, Any] | None]) -> None:
        while request := await asked.get():
            given = {name: value for name, value in request.items() if name != "ask"}
            try:
                answer = await self._answers[request["ask"]](**given)
            except WispError as error:
                answer = {"failed": str(error)}
            except Exception as error:  # because the other program waits for an answer, whatever has gone wrong
                _log.exception("The request %s failed.", request["ask"])
                answer = {"failed": f"It cannot be done ({type(error).__name__}: {error})."}
            self._is_stopped = False
            self._write({"event": "answer", **answer})

    def _stop(self) -> None:
        """End what runs, also if it has not come to its turn."""
        self._is_stopped = True
        if self._is_in_shell:
            end_group(self._last_shell)
        if self._assistant:
            self._assistant.stop()

    async def _play(self, words: str, script: list[Any] | None = None) -> Mapping[str, Any]:
        """Let Wisp do a task. Its receipts are sent as they come."""
        language = language_of(words) or self._settings[catalog.LANGUAGE] or system_language()
        assistant = await self._assistant_for(language, script)
        told = _Telling(self, assistant, language, is_recording=self._options.record)
        if self._options.record:
            await told.show("")
        if self._is_stopped:
            return {"outcome": Outcome.STOPPED.value, "answer": "", "has_answered": False}
        forget = assistant.subscribe(told)
        try:
            # A script is the person's as well, so what it names is allowed as if they had said it.
            own = f"{words}\n{json.dumps(script, ensure_ascii=False)}" if script else words
            ended = await assistant.send(words or "Do what the script says.", own=own)
            await assistant.worked_off()
        finally:
            forget()
            await told.shown()
        return {
            "outcome": outcome_name(ended.outcome),
            "answer": without_secrets(ended.text),
            "has_answered": told.has_answered,
            **self._answering,
        }

    async def _act(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run a call of the other program. Its places mean the screen as it is now, whatever was captured before."""
        assistant = await self._assistant_for()
        assistant.resume()  # because a task that was stopped has stopped all input
        await assistant.capture()
        try:
            result = await self._call(tool, arguments)
        except ToolMisuse as error:
            return {"ok": False, "text": str(error)}
        return {"ok": result.ok, "text": result.llm_echo}

    async def _observe(self) -> Mapping[str, Any]:
        """A picture of the whole screen, and what it shows in words: names, roles, places, values."""
        capture = await (await self._assistant_for()).capture()
        size = capture.geometry.region
        picture = Media(await asyncio.to_thread(lossless, capture.pixels), "image/png", size.width, size.height)
        return {**_packed(picture), "tree": (await self._call(_READ_SCREEN, {})).llm_echo}

    async def _pointer(self) -> Mapping[str, Any]:
        at = (await (await self._assistant_for()).capture()).cursor
        if at is None:
            raise ToolMisuse("Nobody knows where the pointer is. Give a place, or move the pointer first.")
        return {"x": at[0], "y": at[1]}

    async def _settle(self) -> Mapping[str, Any]:
        """Wait until programs have handled their input, judged by what the screen shows.

        While the last command has left a program running, a window is waited for first: programs take long to start.
        """
        limit = time.monotonic() + _WINDOW_LIMIT_S
        while self._is_starting() and not await self._has_windows():
            if time.monotonic() >= limit:
                break
            await asyncio.sleep(_LOOK_AGAIN_S)
        await (await self._assistant_for()).worked_off()
        return {}

    def _is_starting(self) -> bool:
        if self._last_shell:
            with suppress(ProcessLookupError):
                os.kill(-self._last_shell, 0)  # asks whether there is one in its process group
                return True
        return False

    async def _has_windows(self) -> bool:
        return bool((await self._call(_LIST_WINDOWS, {})).payload["windows"])

    async def _trace(self) -> Mapping[str, Any]:
        """What was done last, as `wisp export-trace` prints it."""

        def newest(journal: Connection) -> list[str]:
            return trace.lines(journal, rows.newest_turn(journal), version())

        return {"lines": await asyncio.to_thread(read_journal, newest)}

    async def _run(self, command: str, limit_s: float, variables: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        """Run a command of the person's by `sh`. Programs that it leaves running stay, but not after its time limit."""
        environment = {**os.environ, "WISP_PYTHON": sys.executable, **(variables or {})}
        with tempfile.TemporaryFile() as output:  # no pipe, because programs that it leaves running would hold it open
            shell = await asyncio.create_subprocess_exec(
                *("sh", "-c", command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
            self._last_shell, self._is_in_shell = shell.pid, True
            is_late = False
            try:
                await asyncio.wait_for(shell.wait(), limit_s)
            except TimeoutError:
                is_late = True
                end_group(shell.pid)
                await shell.wait()
            self._is_in_shell = False
            output.seek(0)
            said = output.read(_OUTPUT_CHARS * 4).decode("utf-8", "replace")[:_OUTPUT_CHARS].strip()
        return {"exit_code": shell.returncode, "output": said, "is_late": is_late}

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a call: what only reaches this desktop as an act of the person who runs the other program.

        They sit at their own private desktop, where nobody else could answer: a click on "Delete", or typing in a
        terminal, would otherwise be refused. Any other call (files, commands, the network) passes the gate.
        """
        assistant = await self._assistant_for()
        spec = assistant.registry.find(tool)
        if spec is None:
            raise ToolMisuse(f"There is no tool {tool!r}. To list them all: wisp tools")
        block = Block(ids.unique("call_"), tool, args=arguments)
        if spec.effects_of(ToolCall(block.call_id, spec.name, arguments)) == {Effect.DESKTOP}:
            return await assistant.run(block)
        guest = assistant.guest("the harness", Approvals(ids.counter("approval"), attended=False))
        return await guest.run(block, lambda _event: None)

    async def _assistant_for(self, language: str = "", script: list[Any] | None = None) -> Unattended:
        """The desktop's assistant. It is made when it is needed, and anew for a script, which is its provider's."""
        if self._assistant and not script:
            return self._assistant
        self._assistant = None
        await self._opened.aclose()
        given: dict[str, Any] = {"presence__language": language} if language in catalog.LANGUAGE.choices else {}
        if script:
            path = paths.state_dir() / "script.json"
            path.write_text(json.dumps({"replies": script}), encoding="utf-8")
            given |= {"model__script": str(path), "model__provider": "scripted"}
        settings = self._settings.with_values(**given)
        provider = settings[catalog.PROVIDER] or profiles.default_name()
        self._answering = {"provider": provider, "model": settings[catalog.MODEL] or providers()[provider].model}
        making = self._options.assemble(settings, allowed=self._options.allow, is_own_desktop=True)
        opened: Unattended = await self._opened.enter_async_context(making)
        self._assistant = opened
        return opened

    def send(self, event: str, **told: Any) -> None:
        self._write({"event": event, **told})

    def _write(self, line: Mapping[str, Any]) -> None:
        with suppress(BrokenPipeError):  # because the other side has ended; this one then ends, too
            _write(self._channel, line)


def outcome_name(outcome: Outcome) -> str:
    """The outcome as results have it."""
    return {Outcome.FINISHED: "done", Outcome.FAILED: "not done"}.get(outcome, outcome.value)


class _Telling:
    """Sends what a turn does as it does it: receipts, usage, and pictures if they are recorded."""

    def __init__(self, desk: _Desk, assistant: Unattended, language: str, *, is_recording: bool) -> None:
        self._desk = desk
        self._assistant = assistant
        self._words = words_in(language)
        self._is_recording = is_recording
        self._asked: dict[str, Mapping[str, Any]] = {}
        self._showing: set[asyncio.Future[None]] = set()
        self._began = time.monotonic()
        self.has_acted = False
        self.has_answered = False

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case SayDelta() | ThoughtDelta() | TagStart():
                self.has_answered = True
            case ToolRunning():
                self._asked[event.call_id] = event.arguments
                if not self.has_acted and self._has_effect(event):
                    self.has_acted = True
                    self._desk.send("acted")
            case ToolFinished():
                self._finished(event)
            case UsageChanged():
                used = {"input_tokens": event.input_tokens, "output_tokens": event.output_tokens}
                self._desk.send("usage", **used, cost_usd=event.cost_usd)

    def _has_effect(self, event: ToolRunning) -> bool:
        spec = self._assistant.registry.find(event.tool)
        if spec is None:
            return True
        return not spec.effects_of(ToolCall(event.call_id, spec.name, event.arguments)) <= HARMLESS

    def _finished(self, event: ToolFinished) -> None:
        spec = self._assistant.registry.find(event.tool)
        if spec and spec.voiced and event.ok:
            return
        text = receipt_of(event, self._asked.pop(event.call_id, {}), self._words)
        self._desk.send(
            "receipt",
            at_s=self._elapsed(),
            tool=event.tool,
            ok=not has_failed(event),
            text=without_secrets(text),
            seconds=round(event.elapsed_s, 3),
        )
        if self._is_recording:
            showing = asyncio.ensure_future(self.show(text))
            self._showing.add(showing)
            showing.add_done_callback(self._showing.discard)

    async def show(self, label: str) -> None:
        with suppress(WispError):  # because a picture that cannot be taken must not end the task
            picture = await self._assistant.picture()
            self._desk.send("picture", at_s=self._elapsed(), label=without_secrets(label), **_packed(picture))

    async def shown(self) -> None:
        """Wait for the pictures that are still being taken."""
        await asyncio.gather(*self._showing)

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._began, 3)


def _packed(picture: Media) -> Mapping[str, Any]:
    return {"media_type": picture.media_type, "data": base64.b64encode(picture.data).decode()}
