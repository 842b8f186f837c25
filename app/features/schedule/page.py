"""The list of planned tasks on its page, and changes to it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

from app.base.clock import SystemClock
from app.base.phrases import Phrase
from app.base.startup import start_wisp
from app.features.schedule import timer
from app.features.schedule.agenda import Job, standard_agenda
from app.features.schedule.times import phrase_of
from app.ui.machine import CollectionEntry, no_such_action

_LOOK_AGAIN_S = 0.1
_BEGIN_LIMIT_S = 30.0


class PlannedTasks:
    """The schedules, the next one first."""

    def __init__(self) -> None:
        self._agenda = standard_agenda(SystemClock())

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
                raise no_such_action(action)
        return action

    async def _run(self, key: str) -> str:
        """Start the task's run in another Wisp process, and wait until it has begun.

        Returns "run", "unbegun" if it did not begin in time, or "busy" if another run is at work.
        """
        if await asyncio.to_thread(self._agenda.is_at_work):
            return "busy"
        last = await asyncio.to_thread(self._agenda.newest_run, int(key))
        started = await asyncio.to_thread(start_wisp, "schedule", "run", key)
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
    may = [Phrase("It may do this without asking you: {rules}.", {"rules": rules})] if rules else []
    return CollectionEntry(str(job.id), job.title, (phrase_of(job.when), *at), (f"{job.task}.", *may), ("run",))


def _rule(rule: str) -> str:
    """`tool=write_file path=*.md` becomes `write_file (path: *.md)`."""
    parts = [part.partition("=") for part in shlex.split(rule)]
    bounds = ", ".join(f"{name}: {value}" for name, _, value in parts if name != "tool")
    return ", ".join(value for name, _, value in parts if name == "tool") + (f" ({bounds})" if bounds else "")
