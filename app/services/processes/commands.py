"""All commands of this person's Wisp: running ones, ended ones, and those that outlived an earlier Wisp."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import psutil

from app.base import own_files
from app.base.clock import Clock
from app.base.errors import ToolFailed, ToolMisuse, WispError
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.values import dataclass, field, fields
from app.base.withheld import without_secrets
from app.services.processes import forwarding, starting
from app.services.processes.deletions import Deletions
from app.services.processes.output import Output
from app.services.processes.output_recorder import KEPT_BYTES, STREAMS, segments
from app.services.processes.starting import Launch, Terminal, start
from app.services.sandbox import protection
from app.services.sandbox.layout import Before, Period, Sandbox, SandboxedCommand, SandboxRequest, SettledRun

_RECORD = "run.json"
_SETTLED = "settled.jsonl"
_OLD_NAMES = {"walled": "sandboxed"}
"""Names that records of earlier versions have."""
_LEFT = "left"


@dataclass(slots=True)
class RunRecord:
    """What is saved about a run. Times are in seconds since 1970.

    `born` is the kernel's start time, which identifies a reused pid. `stopped` says why Wisp ended it, as a sentence
    without a full stop, or "". `sandboxed`: it runs in the sandbox; `network`: it may use the network; `before`: what
    its workspace contained at the start. `left_at` is when the turn stopped waiting for it, by the clock of file times;
    `booted` is when the machine started, which moves if its clock is set. `set_aside` and `unclear` say
    what it left that could run by itself (see `SettledRun`). `deleted`, `lost` and `asks` say which files are gone (see
    `Deleted`). `unsettled` is a sentence if an error or the size of the workspace hid this. `turn_began` is when its
    turn began. `keep`: it goes on when Wisp ends.
    """

    id: str
    command: str
    cwd: str
    pty: bool
    started_at: float
    pid: int = 0
    born: float = 0.0
    ended_at: float | None = None
    exit_code: int | None = None
    stopped: str = ""
    sandboxed: bool = False
    network: bool = False
    before: Before = field(default_factory=Before)
    left_at: float | None = None
    booted: float = 0.0
    set_aside: dict[str, str] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)
    turn: str = ""
    turn_began: float = 0.0
    deleted: list[str] = field(default_factory=list)
    lost: int = 0
    is_kept_whole: bool = True
    asks: bool = False
    unsettled: str = ""
    keep: bool = False

    def save(self, folder: Path) -> None:
        kept = asdict(self) | {"command": without_secrets(self.command)}
        own_files.write(folder / _RECORD, json.dumps(kept))

    def note(self, folder: Path, settled: SettledRun) -> None:
        """Save which files were renamed, or (with an empty new name) given back their names.

        It is one line in a file, because two Wisps may settle the same run, and neither may lose the other's entries.
        """
        with (folder / _SETTLED).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(settled)) + "\n")
        self._take_settled(folder)

    def _take_settled(self, folder: Path) -> None:
        with suppress(FileNotFoundError):
            for line in (folder / _SETTLED).read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self.set_aside |= found["set_aside"]
                self.unclear = list(dict.fromkeys([*self.unclear, *found["unclear"]]))
        self.set_aside = {name: now for name, now in self.set_aside.items() if now}

    @staticmethod
    def load(folder: Path) -> RunRecord | None:
        """None if the run's folder holds no readable record."""
        try:
            found = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
            found = {_OLD_NAMES.get(name, name): value for name, value in found.items()}
            known = {name: value for name, value in found.items() if name in {each.name for each in fields(RunRecord)}}
            before = known["before"]
            paths = tuple(before["absent"]), tuple(before["repositories"])
            is_whole, starting = before.get("is_whole", True), tuple(before.get("starting", ()))
            held = Before(before["workspace"], *paths, is_whole=is_whole, starting=starting)
            record = RunRecord(**{**known, "before": held})
            record._take_settled(folder)
            return record
        # Skip the record, because another version or a crash may have written the file.
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


@dataclass(slots=True)
class Run:
    """A command's run. `ended` is set when the command itself ended; its children may go on. `terminal` takes input."""

    record: RunRecord
    folder: Path
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    terminal: Terminal | None = None

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def is_running(self) -> bool:
        return self.record.ended_at is None

    @property
    def stdout(self) -> Output:
        return Output(self.folder, "stdout")

    @property
    def stderr(self) -> Output:
        return Output(self.folder, "stderr")

    def size(self) -> int:
        """Return the number of bytes written so far, to both streams together."""
        return self.stdout.size() + self.stderr.size()


_END_S = 5.0
_WISP_ENDED = "Wisp ended"
_STARTING_S = 600.0
"""A run's folder without a record that is older than this belongs to no run that is just starting."""

_SIGNALLED = range(129, 193)
"""A shell's exit codes for a command that a signal ended: 128 plus the signal's number."""


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """After how many seconds a call returns although its command goes on, and how many bytes of output are kept."""

    return_s: float = 60.0
    background_s: float = 15.0
    quiet_s: float = 1.0
    kept_runs: int = 100
    kept_bytes: int = KEPT_BYTES
    kept_bytes_in_all: int = 1_000_000_000


class Processes:
    """All runs. `folder` contains one folder for each run, by which runs of an earlier Wisp are found again.

    Without a working `wall` (sandbox), commands run with all rights of the person.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        limits: CommandLimits | None = None,
        wall: Sandbox | None = None,
        deletions: Deletions | None = None,
    ) -> None:
        self.limits = limits or CommandLimits()
        self._folder, self._clock, self._wall, self._deletions = folder, clock, wall, deletions
        self._runs: dict[str, Run] = {}
        self._settled_late: list[Run] = []
        self._settling = threading.Lock()
        self._guards: set[asyncio.Task[None]] = set()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def start(
        self,
        command: str,
        cwd: Path,
        *,
        pty: bool = False,
        timeout_s: float | None = None,
        wishes: SandboxRequest | None = None,
        turn: str = "",
        turn_began: float = 0.0,
        serves: bool = False,
        keep: bool = False,
    ) -> Run:
        """Start a command through the person's shell, in the sandbox. Only `timeout_s` ends it, if it is given.

        `wishes` are granted: the policy or the person allowed them. Deleted files are saved as changes of `turn`. With
        `serves`, this machine can reach the ports that it listens on. It ends with Wisp, unless it is to `keep` on.
        Raises ToolMisuse and ToolFailed.
        """
        wishes = wishes or SandboxRequest()
        run_id = unique("r")
        record = RunRecord(run_id, command, str(cwd), pty, self._clock.wall(), network=wishes.network, turn=turn)
        record.turn_began, record.booted, record.keep = turn_began, psutil.boot_time(), keep
        run = Run(record, self._folder / run_id)
        run.folder.mkdir(mode=0o700)
        loop = asyncio.get_running_loop()

        def ended(code: int) -> None:
            try:
                self._settle(run)
            finally:
                with suppress(RuntimeError):  # because the loop may be closed when the process ends
                    loop.call_soon_threadsafe(self._ended, run, code)

        try:
            for forgotten in await asyncio.to_thread(self._make_room):
                self._runs.pop(forgotten, None)
            enclosure = await asyncio.to_thread(self._enclose, run, wishes)
            launch = self._launch(run, enclosure)
            if self._deletions and self._deletions.may_come_of(command, cwd):
                await asyncio.to_thread(self._deletions.keep, run.folder)
            record.pid, run.terminal = await asyncio.to_thread(start, launch, ended)
        except BaseException:  # so that a failed start leaves no folder that looks like a run
            shutil.rmtree(run.folder, ignore_errors=True)
            raise
        record.born = starting.born(record.pid)
        self._runs[run_id] = run  # before it is saved, so that no thread takes it for one of an earlier start
        record.save(run.folder)
        if serves and enclosure and enclosure.info and not record.network:
            await asyncio.to_thread(forwarding.forward, enclosure.info, {starting.RUN_MARK: run_id})
        if timeout_s is not None:
            self._watch(run, timeout_s)
        return run

    def open_ports(self) -> frozenset[int]:
        """Return the ports of this machine at which servers of running commands can be reached."""
        runs = [run for run in self._runs.values() if run.is_running]
        return frozenset(port for run in runs for port in (forwarding.ports(run.folder) or {}).values())

    def record(self, run_id: str) -> RunRecord:
        """Finds runs of an earlier Wisp, too. Raises ToolMisuse if there is none."""
        run = self._runs.get(run_id)
        found = run.record if run else RunRecord.load(self._folder / run_id) if run_id.isalnum() else None
        if found is None:
            raise ToolMisuse(f"run_id: there is no run {run_id!r}. list_recent_commands shows them.")
        return found

    def find(self, run_id: str) -> Run:
        """Return a run, even one of an earlier Wisp. Raises ToolMisuse if there is none.

        Blocks while Wisp checks what a run that has ended left and deleted.
        """
        record = self.record(run_id)
        return self._runs.get(run_id) or self._found(self._folder / run_id) or Run(record, self._folder / run_id)

    def recent(self, most: int) -> list[Run]:
        """Return the newest runs first. Blocks as `find` does."""
        runs = [*self._earlier(), *list(self._runs.values())]
        return sorted(runs, key=lambda run: run.record.started_at, reverse=True)[:most]

    def left_over(self) -> list[Run]:
        """Return the runs of an earlier Wisp that are still running. Blocks as `find` does."""
        return [run for run in self._earlier() if run.is_running]

    def leave(self, run: Run) -> None:
        """Note that the turn stops waiting for a run. Files that appear from now on may be the person's own."""
        if run.is_running:
            run.record.left_at = _file_time(run.folder / _LEFT)
            run.record.save(run.folder)

    def settled_late(self) -> list[Run]:
        """Return runs of an earlier Wisp that have ended since, and left files that run by themselves."""
        self._earlier()
        return [run for run in self._settled_late if run.record.set_aside or run.record.unclear]

    def put_back(self, run: Run) -> tuple[list[str], list[str]]:
        """Restore the names of files that were set aside. Returns those paths, and a sentence for each failure.

        Raises ToolFailed if nothing was set aside.
        """
        if not run.record.set_aside:
            raise ToolFailed(f"Nothing of run {run.id} is set aside.")
        done, problems = protection.put_back(Path(run.record.before.workspace), run.record.set_aside)
        run.record.note(run.folder, SettledRun(dict.fromkeys(done, "")))
        return done, problems

    async def close(self) -> None:
        """End the runs that Wisp started, except those that go on when it ends."""
        ending = [run for run in self._runs.values() if run.is_running and not run.record.keep]
        await asyncio.gather(*(self.stop(run, _WISP_ENDED) for run in ending))

    async def stop(self, run: Run, reason: str = "it was stopped") -> int:
        """End the command and all its children. Returns how many had to be killed."""
        if run.is_running:
            run.record.stopped = reason
        killed = await starting.end(run.id, run.record.pid, run.record.born)
        if run.id in self._runs:
            with suppress(TimeoutError):  # because the process is killed, but its end is only reported by its watcher
                await asyncio.wait_for(run.ended.wait(), _END_S)
        else:
            await asyncio.to_thread(self._settle, run)  # on a thread, because settling reads the disk
            self._close(run, None)
        return killed

    async def type(self, run: Run, data: bytes) -> None:
        """Send input to the command's terminal. Raises ToolMisuse if it has none, ToolFailed if it has ended."""
        if not run.record.pty:
            raise ToolMisuse(f"run_id: {run.id} was started without a terminal. Start it again with pty=true.")
        if run.terminal is None or not await asyncio.to_thread(run.terminal.write, data):
            what = Phrase("{run} has ended; it takes no input any more.", {"run": run.id})
            raise ToolFailed(what, argument="run_id")

    def _enclose(self, run: Run, wishes: SandboxRequest) -> SandboxedCommand | None:
        """None if the command may run outside, or if there is no sandbox."""
        if self._wall is None or wishes.outside or self._wall.missing():
            return None
        variables = starting.for_command(run.id, pty=run.record.pty)
        enclosure = self._wall.enclose(Path(run.record.cwd), variables, run.folder, network=wishes.network)
        run.record.sandboxed, run.record.before = True, enclosure.before
        return enclosure

    def _launch(self, run: Run, enclosure: SandboxedCommand | None) -> Launch:
        record = run.record
        variables = enclosure.environment if enclosure else starting.for_command(record.id, pty=record.pty)
        argv, prefix = (*starting.shell(), record.command), enclosure.prefix if enclosure else ()
        return Launch(argv, Path(record.cwd), variables, run.folder, record.pty, self.limits.kept_bytes, prefix)

    def _settle(self, run: Run, *, is_earlier: bool = False) -> None:
        """Rename and record files that the run left. Waits for the last process in the sandbox. Blocks."""
        record = run.record
        if self._wall is not None and record.sandboxed:
            with _noting_errors(record):
                self._set_aside(run, self._wall, is_earlier=is_earlier)
        if self._deletions:
            with _noting_errors(record):
                deleted = self._deletions.settle(run.folder, record.turn, record.turn_began)
                record.deleted, record.lost = list(deleted.paths), deleted.lost
                record.is_kept_whole, record.asks = deleted.is_complete, deleted.asks

    def _set_aside(self, run: Run, wall: Sandbox, *, is_earlier: bool) -> None:
        record = run.record
        now = self._clock.wall()
        left = record.left_at if record.left_at is not None else record.started_at if is_earlier else now
        if not record.before.is_whole:
            record.unsettled = _UNSEARCHED
        period = Period(record.started_at, left, now, is_clock_set_back=psutil.boot_time() < record.booted)
        record.note(run.folder, wall.settle(run.folder, record.before, period))

    def _earlier(self) -> list[Run]:
        return [run for folder in self._folder.iterdir() if (run := self._found(folder))]

    def _found(self, folder: Path) -> Run | None:
        """Load a run of an earlier Wisp, and record its end if it has ended meanwhile; one thread at a time does."""
        with self._settling:
            record = RunRecord.load(folder)
            if record is None or folder.name in self._runs:
                return None
            run = Run(record, folder)
            if run.is_running and not starting.is_alive(record.pid, record.born):
                self._settle(run, is_earlier=True)
                self._close(run, None)
                self._settled_late.append(run)
            return run

    def _ended(self, run: Run, code: int) -> None:
        self._close(run, 128 - code if run.record.sandboxed and code in _SIGNALLED else code)
        run.terminal = None
        run.ended.set()

    def _close(self, run: Run, code: int | None) -> None:
        run.record.exit_code = code
        run.record.ended_at = self._clock.wall()
        with suppress(OSError):  # because the folder may be deleted or the disk full, and the run is over anyway
            run.record.save(run.folder)

    def _watch(self, run: Run, timeout_s: float) -> None:
        self._guards.add(guard := asyncio.create_task(self._guard(run, timeout_s)))
        guard.add_done_callback(self._guards.discard)

    async def _guard(self, run: Run, timeout_s: float) -> None:
        """Wait for the call's time limit, then end the run."""
        until = self._clock.now() + timeout_s
        while run.is_running:
            with suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), max(min(until - self._clock.now(), 2.0), 0.0))
                return
            if self._clock.now() >= until:
                await self.stop(run, f"it was ended after its {timeout_s:g} seconds")

    def _make_room(self) -> list[str]:
        """Delete the output of the runs that ended longest ago. Returns the ids of runs that were deleted wholly."""
        stored = {folder: _stored_bytes(folder) for folder in sorted(self._folder.iterdir(), key=_changed_at)}
        running = {run.folder for run in list(self._runs.values()) if run.is_running}
        left = self.limits.kept_bytes_in_all - self.limits.kept_bytes * (len(running) + 1)
        over = sum(size for folder, size in stored.items() if folder not in running) - left
        for folder, size in stored.items():
            if (over > 0 and size) or any((folder / stream).exists() for stream in STREAMS):
                record = None if folder in running else RunRecord.load(folder)
                if record and (record.ended_at is not None or not starting.is_alive(record.pid, record.born)):
                    over -= size
                    _drop_output(Run(record, folder))
        for folder in stored:
            if _never_began(folder, self._clock.wall()):
                shutil.rmtree(folder, ignore_errors=True)
        return [folder.name for folder in [*stored][: -self.limits.kept_runs] if _is_forgotten(folder)]


def _never_began(folder: Path, now: float) -> bool:
    """True if Wisp was killed between creating a run's folder and its record."""
    made = _stat(folder)
    return made is not None and not (folder / _RECORD).exists() and now - made.st_mtime > _STARTING_S


def _is_forgotten(folder: Path) -> bool:
    """Delete a run's folder and return True, unless the run has not ended or has renamed files."""
    record = RunRecord.load(folder)
    if record is None or record.ended_at is None or record.set_aside:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def run(arguments: Sequence[str]) -> int:
    """End the run of a folder, whose Wisp has gone, unless it goes on then. The next Wisp looks at what it left."""
    folder = Path(arguments[0])
    record = RunRecord.load(folder)
    if record and (record.keep or record.ended_at is not None):
        return 0
    if record:
        record.stopped = _WISP_ENDED
        record.save(folder)
    # Without a record, Wisp was killed while it started the command. The mark in its environment finds it.
    pid, born = (record.pid, record.born) if record else (0, 0.0)
    asyncio.run(starting.end(folder.name, pid, born))
    return 0


_UNSEARCHED = (
    " The workspace has more entries than are searched: start-up files, secrets and git's hooks in the others were not "
    "protected from it."
)


@contextmanager
def _noting_errors(record: RunRecord) -> Iterator[None]:
    """Records disk errors, so that the end of a run is reported anyway."""
    try:
        yield
    except (OSError, WispError) as error:
        record.unsettled = f" What it deleted or left is not known ({error}): tell the person to look."


def _file_time(mark: Path) -> float:
    """Touch a file and return its time. By this clock, unlike the system's, no file's time is in the future."""
    mark.touch()
    return mark.stat().st_mtime


def _stored_bytes(folder: Path) -> int:
    found = (_stat(path) for stream in STREAMS for _, path in segments(str(folder), stream))
    return sum(one.st_size for one in found if one)


def _changed_at(folder: Path) -> float:
    found = _stat(folder / _RECORD)
    return found.st_mtime if found else 0.0


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:  # because its recorder or another Wisp may have dropped it
        return None


def _drop_output(run: Run) -> None:
    """Delete the output and keep only its size. Also deletes the one file that earlier versions used."""
    with suppress(OSError):  # because the run may be forgotten by now
        for stream, output in (("stdout", run.stdout), ("stderr", run.stderr)):
            size, found = output.size(), segments(str(run.folder), stream)
            if size:
                (run.folder / f"{stream}.{size}").touch(mode=0o600)
            for place, path in found:
                if place != size:
                    Path(path).unlink()
            (run.folder / stream).unlink(missing_ok=True)
