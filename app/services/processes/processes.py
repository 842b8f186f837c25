"""All commands of this person's Wisp: those that run, those that ran, those that outlived an earlier Wisp."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.base.clock import Clock
from app.base.errors import ToolFailed, ToolMisuse
from app.base.ids import unique
from app.services.processes import environment, tree
from app.services.processes.deletions import Deletions
from app.services.processes.run import Record, Run
from app.services.processes.starting import Launch, start
from app.services.sandbox import protection
from app.services.sandbox.classes import Wishes
from app.services.sandbox.enclosure import Enclosure, Period, Settled, Wall

_END_S = 5.0

_SIGNALLED = range(129, 193)
"""How a shell tells that its command was ended by a signal: 128 and the signal's number."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds until a call returns while its command goes on, and what is kept on disk."""

    return_s: float = 60.0
    background_s: float = 15.0
    quiet_s: float = 1.0
    kept_runs: int = 100
    most_bytes: int = 1_000_000_000


class Processes:
    """`folder` holds one folder for each run. Runs of an earlier start are found again by their folders.

    Without a `wall`, or where it says that it is missing, commands run as whatever else the person starts.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        limits: Limits | None = None,
        wall: Wall | None = None,
        deletions: Deletions | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._folder = folder
        self._clock = clock
        self._wall = wall
        self._deletions = deletions
        self._runs: dict[str, Run] = {}
        self._settled_late: list[Run] = []
        self._guards: set[asyncio.Task[None]] = set()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def start(
        self,
        command: str,
        cwd: Path,
        *,
        pty: bool = False,
        timeout_s: float | None = None,
        wishes: Wishes | None = None,
        turn: str = "",
    ) -> Run:
        """Start it through the person's shell, behind the wall. Only `timeout_s` ever ends it.

        `wishes` are granted: who asks for them has been allowed to. What it deletes is kept as a change of the `turn`.
        Raises ToolMisuse, ToolFailed.
        """
        wishes = wishes or Wishes()
        run_id = unique("r")
        record = Record(run_id, command, str(cwd), pty, self._clock.wall(), network=wishes.network, turn=turn)
        run = Run(record, self._folder / run_id)
        run.folder.mkdir(mode=0o700)
        loop = asyncio.get_running_loop()

        def ended(code: int) -> None:
            self._settle(run)
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ended, run, code)

        try:
            enclosure = await asyncio.to_thread(self._enclose, run, wishes)
            launch = self._launch(run, enclosure)
            if self._deletions and self._deletions.may_come_of(command, cwd):
                await asyncio.to_thread(self._deletions.keep, run.folder)
            record.pid, run.terminal = await asyncio.to_thread(start, launch, ended)
        except BaseException:
            shutil.rmtree(run.folder, ignore_errors=True)
            raise
        record.born = tree.born(record.pid)
        record.save(run.folder)
        self._runs[run_id] = run
        self._watch(run, timeout_s)
        self._forget_old()
        return run

    def find(self, run_id: str) -> Run:
        """The run of that id, also of an earlier start. Raises ToolMisuse."""
        if run_id in self._runs:
            return self._runs[run_id]
        found = next((run for run in self._earlier() if run.id == run_id), None)
        if found is None:
            raise ToolMisuse(f"run_id: there is no run {run_id!r}. list_recent_commands shows them.")
        return found

    def recent(self, most: int) -> list[Run]:
        """The newest runs first."""
        runs = [*self._earlier(), *self._runs.values()]
        return sorted(runs, key=lambda run: run.record.started_at, reverse=True)[:most]

    def left_over(self) -> list[Run]:
        """Runs of an earlier start that still go on."""
        return [run for run in self._earlier() if run.is_running]

    def leave(self, run: Run) -> None:
        """The turn waits no longer for it. What appears from now on may be the person's own work."""
        if run.is_running:
            run.record.left_at = self._clock.wall()
            run.record.save(run.folder)

    def settled_late(self) -> list[Run]:
        """Runs of an earlier start that have ended since and left what runs by itself."""
        self._earlier()
        return [run for run in self._settled_late if run.record.set_aside or run.record.unclear]

    def put_back(self, run: Run) -> tuple[list[str], list[str]]:
        """Undo what was set aside of a run: the paths that have their name again, a sentence for each that has not.

        Raises ToolFailed where nothing was set aside.
        """
        if not run.record.set_aside:
            raise ToolFailed(f"Nothing of run {run.id} is set aside.")
        done, problems = protection.put_back(Path(run.record.before.workspace), run.record.set_aside)
        run.record.note(run.folder, Settled(dict.fromkeys(done, "")))
        return done, problems

    async def stop(self, run: Run, reason: str = "it was stopped") -> int:
        """End the command and all that it started: how many had to be killed."""
        if run.is_running:
            run.record.stopped = reason
        killed = await tree.end(run.id, run.record.pid, run.record.born)
        if run.id in self._runs:
            with suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), _END_S)
        else:
            await asyncio.to_thread(self._settle, run)
            self._close(run, None)
        return killed

    async def type(self, run: Run, data: bytes) -> None:
        """Send input to the command's terminal. Raises ToolMisuse where it has none, ToolFailed where it has ended."""
        if not run.record.pty:
            raise ToolMisuse(f"run_id: {run.id} was started without a terminal. Start it again with pty=true.")
        if run.terminal is None or not await asyncio.to_thread(run.terminal.write, data):
            raise ToolFailed(f"run_id: {run.id} has ended; it takes no input any more.")

    def _enclose(self, run: Run, wishes: Wishes) -> Enclosure | None:
        """None where the command runs without a wall: because that was granted, or because there is none here."""
        if self._wall is None or wishes.outside or self._wall.missing():
            return None
        variables = environment.for_command(run.id, pty=run.record.pty)
        enclosure = self._wall.enclose(Path(run.record.cwd), variables, run.folder, network=wishes.network)
        run.record.walled = True
        run.record.before = enclosure.before
        return enclosure

    def _launch(self, run: Run, enclosure: Enclosure | None) -> Launch:
        record = run.record
        variables = enclosure.environment if enclosure else environment.for_command(record.id, pty=record.pty)
        argv = (*environment.shell(), record.command)
        prefix = enclosure.prefix if enclosure else ()
        return Launch(argv, Path(record.cwd), variables, run.folder, record.pty, self.limits.most_bytes, prefix)

    def _settle(self, run: Run) -> None:
        """Blocks until the last process behind the wall is gone."""
        record = run.record
        if self._wall is not None and record.walled:
            self._set_aside(run, self._wall)
        if self._deletions:
            deleted = self._deletions.settle(run.folder, record.turn)
            record.deleted, record.lost = list(deleted.paths), deleted.lost
            record.is_kept_whole = deleted.is_complete

    def _set_aside(self, run: Run, wall: Wall) -> None:
        record = run.record
        now = self._clock.wall()
        left = record.left_at if record.left_at is not None else now
        if run.id not in self._runs and record.left_at is None:
            left = record.started_at
        settled = wall.settle(run.folder, record.before, Period(record.started_at, left, now))
        record.note(run.folder, settled)

    def _earlier(self) -> list[Run]:
        """Runs that this process did not start; whether they go on is asked of the system."""
        found = []
        for folder in self._folder.iterdir():
            record = None if folder.name in self._runs else Record.load(folder)
            if record is None:
                continue
            run = Run(record, folder)
            if run.is_running and not tree.is_alive(record.pid, record.born):
                self._settle(run)
                self._close(run, None)
                self._settled_late.append(run)
            found.append(run)
        return found

    def _ended(self, run: Run, code: int) -> None:
        self._close(run, 128 - code if run.record.walled and code in _SIGNALLED else code)
        run.terminal = None
        run.ended.set()

    def _close(self, run: Run, code: int | None) -> None:
        run.record.exit_code = code
        run.record.ended_at = self._clock.wall()
        with suppress(OSError):
            run.record.save(run.folder)

    def _watch(self, run: Run, timeout_s: float | None) -> None:
        guard = asyncio.create_task(self._guard(run, timeout_s))
        self._guards.add(guard)
        guard.add_done_callback(self._guards.discard)

    async def _guard(self, run: Run, timeout_s: float | None) -> None:
        """End a run that takes longer than its call allowed or writes more than may be kept."""
        until = None if timeout_s is None else self._clock.now() + timeout_s
        while run.is_running:
            left = 2.0 if until is None else min(until - self._clock.now(), 2.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), max(left, 0.0))
                return
            if until is not None and self._clock.now() >= until:
                await self.stop(run, f"it was ended after its {timeout_s:g} seconds")
            elif run.size() > self.limits.most_bytes:
                await self.stop(run, f"it was ended because it wrote more than {self.limits.most_bytes} bytes")

    def _forget_old(self) -> None:
        if len(self._runs) <= self.limits.kept_runs:
            return
        done = [
            run
            for run in self.recent(10**6)[self.limits.kept_runs :]
            if not run.is_running and not run.record.set_aside
        ]
        for run in done:
            self._runs.pop(run.id, None)
            shutil.rmtree(run.folder, ignore_errors=True)
