"""One command that was started: what is known about it now and after a restart."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from app.services.processes.output import Output
from app.services.processes.starting import Terminal

_RECORD = "run.json"


@dataclass(slots=True)
class Record:
    """What is kept on disk. Times are seconds since 1970; `born` is the kernel's, it tells a reused pid apart.

    `stopped` says why it was ended by us: a sentence without a full stop, or empty. `walled` tells that it runs behind
    the wall, `network` that it was granted the network. Of `watched` the wall makes `set_aside` at the end: paths of
    what the command left that could run by itself.
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
    watched: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        beside = folder / "run.new"
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        os.replace(beside, folder / _RECORD)

    @staticmethod
    def load(folder: Path) -> Record | None:
        """The record of a run's folder; None where it has none that can be read."""
        try:
            return Record(**json.loads((folder / _RECORD).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
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
