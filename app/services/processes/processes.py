"""All commands of this person's Wisp: those that run, those that ran, those that outlived an earlier Wisp."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.base.clock import Clock
from app.base.errors import ToolFailed, ToolMisuse
from app.base.ids import unique
from app.services.processes import environment, tree
from app.services.processes.run import Record, Run
from app.services.processes.starting import Launch, start

_END_S = 5.0

Confine = Callable[[Sequence[str], Path], Sequence[str]]
"""Wraps a command's argv in a sandbox that may work in the given folder."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds until a call returns while its command goes on, and what is kept on disk."""

    return_s: float = 60.0
    background_s: float = 15.0
    quiet_s: float = 1.0
    kept_runs: int = 100
    most_bytes: int = 1_000_000_000


def _unconfined(argv: Sequence[str], _cwd: Path) -> Sequence[str]:
    return argv


class Processes:
    """`folder` holds one folder for each run. Runs of an earlier start are found again by their folders."""

    def __init__(
        self, folder: Path, clock: Clock, limits: Limits | None = None, confine: Confine = _unconfined
    ) -> None:
        self.limits = limits or Limits()
        self._folder = folder
        self._clock = clock
        self._confine = confine
        self._runs: dict[str, Run] = {}
        self._guards: set[asyncio.Task[None]] = set()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def start(self, command: str, cwd: Path, *, pty: bool = False, timeout_s: float | None = None) -> Run:
        """Start it through the person's shell. Only `timeout_s` ever ends it. Raises ToolMisuse, ToolFailed."""
        run_id = unique("r")
        record = Record(run_id, command, str(cwd), pty, self._clock.wall())
        run = Run(record, self._folder / run_id)
        run.folder.mkdir(mode=0o700)
        loop = asyncio.get_running_loop()

        def ended(code: int) -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ended, run, code)

        argv = self._confine((*environment.shell(), command), cwd)
        variables = environment.for_command(run_id, pty=pty)
        launch = Launch(argv, cwd, variables, run.folder, pty, self.limits.most_bytes)
        try:
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

    async def stop(self, run: Run, reason: str = "it was stopped") -> int:
        """End the command and all that it started: how many had to be killed."""
        if run.is_running:
            run.record.stopped = reason
        killed = await tree.end(run.id, run.record.pid, run.record.born)
        if run.id in self._runs:
            with suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), _END_S)
        else:
            self._close(run, None)
        return killed

    async def type(self, run: Run, data: bytes) -> None:
        """Send input to the command's terminal. Raises ToolMisuse where it has none, ToolFailed where it has ended."""
        if not run.record.pty:
            raise ToolMisuse(f"run_id: {run.id} was started without a terminal. Start it again with pty=true.")
        if run.terminal is None or not await asyncio.to_thread(run.terminal.write, data):
            raise ToolFailed(f"run_id: {run.id} has ended; it takes no input any more.")

    def _earlier(self) -> list[Run]:
        """Runs that this process did not start; whether they go on is asked of the system."""
        found = []
        for folder in self._folder.iterdir():
            record = None if folder.name in self._runs else Record.load(folder)
            if record is None:
                continue
            run = Run(record, folder)
            if run.is_running and not tree.is_alive(record.pid, record.born):
                self._close(run, None)
            found.append(run)
        return found

    def _ended(self, run: Run, code: int) -> None:
        self._close(run, code)
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
        done = [run for run in self.recent(10**6)[self.limits.kept_runs :] if not run.is_running]
        for run in done:
            self._runs.pop(run.id, None)
            shutil.rmtree(run.folder, ignore_errors=True)
