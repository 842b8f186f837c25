"""What the presence's pages list and change: what is planned, what is remembered, and the tool servers."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
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
from app.commands.mcp import remove_server
from app.services import timer
from app.services.mcp.configuration import WORKSPACE_FILE
from app.services.mcp.servers import McpServers, ServerState, standard_pins
from app.services.memory import Fact
from app.services.schedule import DAYS, Job, When, in_words
from app.ui.machine import CollectionEntry

T = TypeVar("T")
_MOST = 200
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
        """Start it in a Wisp of its own, and wait until that has begun it, or has found that it cannot."""
        if await asyncio.to_thread(self._agenda.is_at_work):
            return "busy"
        last = await asyncio.to_thread(self._agenda.newest_run, int(key))
        started = await asyncio.to_thread(timer.start_run, "schedule", "run", key)
        try:
            async with asyncio.timeout(_BEGIN_LIMIT_S):
                while started.poll() is None:
                    if await asyncio.to_thread(self._agenda.newest_run, int(key)) != last:
                        return "run"
                    await asyncio.sleep(_LOOK_AGAIN_S)
        except TimeoutError:
            started.kill()
            return "unbegun"
        return "unbegun" if started.returncode else "run"


def _planned(job: Job) -> CollectionEntry:
    zone = ZoneInfo(job.when.zone)
    at = [datetime.fromtimestamp(job.next_at, zone).strftime("%Y-%m-%d %H:%M")] if job.next_at is not None else []
    rules = "; ".join(map(_rule, job.allowed))
    may = [Phrase("It may do without asking: {rules}.", {"rules": rules})] if rules else []
    return CollectionEntry(str(job.id), job.title, (_phrase_of(job.when), *at), (f"{job.task}.", *may), ("run",))


def _phrase_of(when: When) -> Phrase:
    """Return the schedule for the presence to translate; in English where it is no common one."""
    if when.kind == "once":
        at = datetime.fromisoformat(when.text).astimezone(ZoneInfo(when.zone))
        return Phrase("once, on {day} at {time}", {"day": at.strftime("%Y-%m-%d"), "time": at.strftime("%H:%M")})
    if when.kind == "every":
        number, unit = when.text.split()
        several = Phrase("every {count} {unit}", {"count": number, "unit": (f"{unit}s",)})
        return Phrase(f"every {unit}") if number == "1" else several
    minute, hour, *date, days = when.text.split()
    if date != ["*", "*"] or not (minute.isdigit() and hour.isdigit()):
        return Phrase(in_words(when))
    given = {"time": f"{int(hour):02}:{int(minute):02}"}
    if days == "*":
        return Phrase("daily at {time}", given)
    numbers = {"1-5": "1,2,3,4,5", "0,6": "6,0"}.get(days, days).split(",")
    if not set(numbers) <= set("0123456"):
        return Phrase(in_words(when))
    return Phrase("{days} at {time}", {**given, "days": tuple(DAYS[int(number)].title() for number in numbers)})


def _rule(rule: str) -> str:
    """Return `tool=write_file path=*.md` as `write_file (path: *.md)`."""
    parts = [part.partition("=") for part in shlex.split(rule)]
    bounds = ", ".join(f"{name}: {value}" for name, _, value in parts if name != "tool")
    return ", ".join(value for name, _, value in parts if name == "tool") + (f" ({bounds})" if bounds else "")


class RememberedFacts:
    """The facts and rules of the memory, the newest first, or those that fit the words best."""

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
    """The tool servers (MCP) of this workspace."""

    def __init__(self, workspace: Path) -> None:
        self._servers = McpServers(workspace, SystemClock())

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        states = await asyncio.to_thread(self._servers.states)
        return [_server(state) for state in states if search.casefold() in state.entry.line.casefold()]

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        match action:
            case "delete":
                await asyncio.to_thread(remove_server, self._servers, key)
            case "trust" | "ask":
                pin = (await asyncio.to_thread(self._servers.configuration.named, key)).pin
                await asyncio.to_thread(partial(standard_pins().trust, pin, is_trusted=action == "trust"))
            case _:
                raise _unknown(action)
        return action


def _server(state: ServerState) -> CollectionEntry:
    entry = state.entry
    states = {"off": Phrase("switched off"), "failed": Phrase("could not be started")}
    parts = [
        *([states[state.state]] if state.state in states else []),
        *([Phrase("trusted")] if state.is_trusted else []),
        *([] if entry.is_own else [Phrase("of this workspace")]),
        Phrase("{count} tools", {"count": str(state.tools)}) if state.tools else Phrase("no known tools"),
        entry.reach_in_words,
    ]
    whole = (entry.line, *([state.failure] if state.failure else []))
    actions = ("ask" if state.is_trusted else "trust",)
    file = "" if entry.is_own else str(Path(entry.home, WORKSPACE_FILE))
    return CollectionEntry(entry.name, entry.name, tuple(parts), whole, actions, file)


def _unknown(action: str) -> WispError:
    return WispError(f"There is no action {action!r} here.")


def collection(name: str, workspace: Path) -> PlannedTasks | RememberedFacts | ToolServers:
    """Make the collection of that name: `planned`, `memory` or `servers`."""
    match name:
        case "planned":
            return PlannedTasks()
        case "memory":
            return RememberedFacts()
        case "servers":
            return ToolServers(workspace)
    raise WispError(f"There is no collection {name!r}.")
