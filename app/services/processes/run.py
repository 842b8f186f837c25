"""One command that was started: what is known about it now and after a restart."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from app.services.processes.output import Output
from app.services.processes.starting import Terminal
from app.services.sandbox.enclosure import Before, Settled

_RECORD = "run.json"
_SETTLED = "settled.jsonl"


@dataclass(slots=True)
class Record:
    """What is kept on disk. Times are seconds since 1970; `born` is the kernel's, it tells a reused pid apart.

    `stopped` says why it was ended by us: a sentence without a full stop, or empty. `walled` tells that it runs behind
    the wall, `network` that it was granted the network, `before` what its workspace held then. `left_at` is when the
    turn stopped waiting for it. `set_aside` and `unclear` say what it left that could run by itself (see `Settled`),
    `deleted` and `lost` which files of the workspace are gone (see `Deleted`).
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
    walled: bool = False
    network: bool = False
    before: Before = field(default_factory=Before)
    left_at: float | None = None
    set_aside: dict[str, str] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)
    turn: str = ""
    deleted: list[str] = field(default_factory=list)
    lost: int = 0
    is_kept_whole: bool = True

    def save(self, folder: Path) -> None:
        beside = folder / "run.new"
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        os.replace(beside, folder / _RECORD)

    def note(self, folder: Path, settled: Settled) -> None:
        """Write down what was set aside, or with an empty name what was put back.

        A line each, because two Wisps may settle the same run: neither may lose what the other has renamed.
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
    def load(folder: Path) -> Record | None:
        """The record of a run's folder; None where it has none that can be read."""
        try:
            found = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
            known = {name: value for name, value in found.items() if name in {each.name for each in fields(Record)}}
            before = known["before"]
            held = Before(before["workspace"], tuple(before["absent"]), tuple(before["repositories"]))
            record = Record(**{**known, "before": held})
            record._take_settled(folder)
            return record
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


@dataclass(slots=True)
class Run:
    """`ended` is set when the command itself has ended (its children may go on). `terminal` takes its input."""

    record: Record
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
        return Output(self.folder / "stdout")

    @property
    def stderr(self) -> Output:
        return Output(self.folder / "stderr")

    def size(self) -> int:
        """Bytes written so far, both streams."""
        return self.stdout.size() + self.stderr.size()
