"""The lists in the presence's pages, and changes to them: planned tasks, remembered facts, tool servers, apps."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from app.assembly import agenda as open_agenda
from app.assembly import memory as open_memory
from app.base import ids
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.texts import Phrase
from app.base.values import replace
from app.features.apps.library import AppLibrary, act_on_extra, extra_line
from app.features.mcp.command import remove_server, sign_in
from app.features.mcp.configuration import WORKSPACE_FILE
from app.features.mcp.servers import McpServers, ServerState, standard_pins
from app.features.memory.store import Fact
from app.features.schedule import timer
from app.features.schedule.agenda import Job
from app.features.schedule.times import phrase_of
from app.services.extras import extras
from app.ui.machine import Collection, CollectionEntry

T = TypeVar("T")
_MOST = 200
_LOG_LINES = 5
_LOOK_AGAIN_S = 0.1
_BEGIN_LIMIT_S = 30.0


class PlannedTasks:
    """The schedules, the next one first."""

    def __init__(self) -> None:
        self._agenda = open_agenda(SystemClock())

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        jobs = await asyncio.to_thread(self._agenda.all)
        return [_planned(job) for job in jobs if search.casefold() in f"{job.title} {job.task}".casefold()]

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        match action:
            case "run":
                return await self._run(key)
            case "delete":
                await asyncio.to_thread(self._agenda.remove, int(key))
                await asyncio.to_thread(lambda: timer.set_for(self._agenda.next_due()))
            case _:
                raise _unknown(action)
        return action

    async def _run(self, key: str) -> str:
        """Start the task's run in another Wisp process, and wait until it has begun.

        Returns "run", "unbegun" if it did not begin in time, or "busy" if another run is at work.
        """
        if await asyncio.to_thread(self._agenda.is_at_work):
            return "busy"
        last = await asyncio.to_thread(self._agenda.newest_run, int(key))
        started = await asyncio.to_thread(timer.start_run, "schedule", "run", key)
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEGIN_LIMIT_S):
                while started.poll() is None:
                    if await asyncio.to_thread(self._agenda.newest_run, int(key)) != last:
                        break
                    await asyncio.sleep(_LOOK_AGAIN_S)
        # Looked at once more, because a run may have begun, or begun and ended badly, since the last look.
        has_begun = await asyncio.to_thread(self._agenda.newest_run, int(key)) != last
        if not has_begun and started.poll() is None:
            started.kill()
        return "run" if has_begun or started.returncode == 0 else "unbegun"


def _planned(job: Job) -> CollectionEntry:
    zone = ZoneInfo(job.when.zone)
    at = [datetime.fromtimestamp(job.next_at, zone).strftime("%Y-%m-%d %H:%M")] if job.next_at is not None else []
    rules = "; ".join(map(_rule, job.allowed))
    may = [Phrase("It may do without asking: {rules}.", {"rules": rules})] if rules else []
    return CollectionEntry(str(job.id), job.title, (phrase_of(job.when), *at), (f"{job.task}.", *may), ("run",))


def _rule(rule: str) -> str:
    """Return `tool=write_file path=*.md` as `write_file (path: *.md)`."""
    parts = [part.partition("=") for part in shlex.split(rule)]
    bounds = ", ".join(f"{name}: {value}" for name, _, value in parts if name != "tool")
    return ", ".join(value for name, _, value in parts if name == "tool") + (f" ({bounds})" if bounds else "")


class RememberedFacts:
    """The facts and rules in the memory, the newest first, or those that match the words best."""

    def __init__(self) -> None:
        self._memory = open_memory(SystemClock())

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        ask: Callable[[], list[Fact]] = (
            partial(self._memory.search, search, _MOST) if search else partial(self._memory.all, _MOST)
        )
        return [_remembered(fact) for fact in await asyncio.to_thread(ask)]

    async def act(self, action: str, key: str, words: str = "", /) -> str:
        turn = ids.unique("run-")
        match action:
            case "delete":
                await asyncio.to_thread(self._memory.forget, [int(key)], turn)
            case "change":
                (old,) = await asyncio.to_thread(self._memory.find, [int(key)])
                if words != " ".join(old.text.split()):  # because the line shows a fact of several lines as one
                    new = replace(old, id=0, text=words, said_by="person", quote="", at=0.0, turn=turn)
                    await asyncio.to_thread(self._memory.keep, new, [old.id])
            case _:
                raise _unknown(action)
        return action


def _remembered(fact: Fact) -> CollectionEntry:
    source = [] if fact.said_by == "person" else [f"“{fact.quote}”"]
    return CollectionEntry(str(fact.id), " ".join(fact.text.split()), (fact.date, *source), (fact.text,))


class ToolServers:
    """The tool servers (MCP) of this workspace. `running` returns those of the conversation, which know what runs."""

    def __init__(self, workspace: Path, running: Callable[[], McpServers | None]) -> None:
        self._servers = McpServers(workspace, SystemClock())
        self._running = running

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        servers = self._running() or self._servers
        states = await asyncio.to_thread(servers.states)
        return [
            _server(state, [tool.name for tool in servers.pins.accepted(state.entry.pin)])
            for state in states
            if search.casefold() in state.entry.line.casefold()
        ]

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        match action:
            case "delete":
                await asyncio.to_thread(remove_server, self._servers, key)
            case "trust" | "ask":
                pin = (await asyncio.to_thread(self._servers.configuration.named, key)).pin
                await asyncio.to_thread(partial(standard_pins().trust, pin, is_trusted=action == "trust"))
            case "switch_on":
                await asyncio.to_thread(partial(self._servers.configuration.switch, key, is_on=True))
            case "switch_off":
                entry = await asyncio.to_thread(self._servers.configuration.named, key)
                await asyncio.to_thread(partial(self._servers.configuration.switch, key, is_on=False))
                if running := self._running():
                    await running.stop(entry)
            case "sign_in":
                await sign_in(self._servers, key)
            case _:
                raise _unknown(action)
        return action


def _server(state: ServerState, tools: Sequence[str]) -> CollectionEntry:
    entry = state.entry
    states = {
        "off": Phrase("switched off"),
        "failed": Phrase("could not be started"),
        "running": Phrase("running"),
        "ended": Phrase("ended"),
    }
    parts = [
        *([states[state.state]] if state.state in states else []),
        *([Phrase("trusted")] if state.is_trusted else []),
        *([] if entry.is_own else [Phrase("of this workspace")]),
        Phrase("{count} tool", {"count": state.tools}, many="{count} tools")
        if state.tools
        else Phrase("no known tools"),
        entry.reach_in_words,
    ]
    whole: tuple[str | Phrase, ...] = (
        entry.line,
        *([state.failure] if state.failure else []),
        *([Phrase("Its tools: {names}.", {"names": ", ".join(tools)})] if tools else []),
        *([Phrase("It last printed: {words}", {"words": " · ".join(state.log[-_LOG_LINES:])})] if state.log else []),
    )
    switch = "switch_on" if entry.is_disabled else "switch_off"
    actions = (
        "ask" if state.is_trusted else "trust",
        *(["sign_in"] if entry.kind != "stdio" else []),
        *([switch] if entry.is_own else []),
    )
    file = "" if entry.is_own else str(Path(entry.home, WORKSPACE_FILE))
    return CollectionEntry(entry.name, entry.name, tuple(parts), whole, actions, file)


class ExtraParts:
    """What Wisp takes in only if the person wishes it."""

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        lines = await asyncio.to_thread(lambda: [extra_line(extra) for extra in extras()])
        return [line for line in lines if search.casefold() in line.title.casefold()]

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        if action not in ("get", "stop"):
            raise _unknown(action)
        return await act_on_extra(action, key)


def _unknown(action: str) -> WispError:
    return WispError(f"There is no action {action!r} here.")


def collection(name: str, workspace: Path, running: Callable[[], McpServers | None] = lambda: None) -> Collection:
    """Make the collection `planned`, `memory`, `servers`, `apps` or `extras`. `running` is as for `ToolServers`."""
    match name:
        case "planned":
            return PlannedTasks()
        case "memory":
            return RememberedFacts()
        case "servers":
            return ToolServers(workspace, running)
        case "apps":
            return AppLibrary()
        case "extras":
            return ExtraParts()
    raise WispError(f"There is no collection {name!r}.")
