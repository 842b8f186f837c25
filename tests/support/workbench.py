"""A workspace, commands and a conversation in a folder of their own, driven through the real executor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from app.base.clock import SystemClock
from app.protocol.call import Block, JsonValue, ToolCall, ToolResult
from app.protocol.dialects.xml import XmlDialect
from app.protocol.message import CallClosed
from app.protocol.spec import ToolSpec
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.moving import Moves
from app.services.files.packing import Packing
from app.services.files.places import Workspace
from app.services.files.safe_open import Folder
from app.services.processes.commands import CommandLimits, Processes
from app.services.processes.deletions import Deletions
from app.services.sandbox import bubblewrap
from app.services.tasks import Checklist
from app.services.themes import Appearance
from app.tools.archives import ARCHIVES, Archives
from app.tools.conversation import TASKS, Tasks
from app.tools.edit import EDITS, Edits
from app.tools.exec import COMMANDS, WAITS, Commands, Waits
from app.tools.executor import Executor
from app.tools.file import ARRANGEMENTS, FILES, Arrangements, Files
from app.tools.registry import Registry, TurnContext, admitted
from app.tools.search import CODE, SEARCH, Code, Searches

WORK = Registry(FILES, EDITS, ARRANGEMENTS, ARCHIVES, SEARCH, COMMANDS, WAITS, CODE, TASKS)
QUICK = CommandLimits(return_s=1.0, background_s=3.0, quiet_s=0.3)


class Talk:
    """A conversation that writes down what was asked of it."""

    def __init__(self) -> None:
        self.planning = False
        self.yolo = False
        self.done: list[str] = []

    def is_planning(self) -> bool:
        return self.planning

    def is_yolo(self) -> bool:
        return self.yolo

    async def hand_over(self, summary: str) -> None:
        self.done.append(f"handed over: {summary}")

    async def reset(self) -> None:
        self.done.append("reset")

    async def rename(self, name: str) -> None:
        self.done.append(f"named {name}")


class SaidYes:
    """A person who agrees to each call."""

    async def admit(self, _call: ToolCall, _spec: ToolSpec) -> str:
        return ""


class Bench:
    """`root` is the workspace; `home` and `trash` lie beside it; `told` collects what cards were fed."""

    def __init__(self, folder: Path, limits: CommandLimits = QUICK, *, sandboxed: bool = False) -> None:
        self.root, self.home, self.trash = folder / "project", folder / "home", folder / "trash"
        for made in (self.root, self.home, self.trash):
            made.mkdir(exist_ok=True)
        self.workspace = Workspace(self.root, home=self.home, temp=folder / "tmp")
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.changes = Changes(self.workspace, self.checkpoints, self._to_trash)
        self.wall = bubblewrap.wall(self.root, wanted=sandboxed, readable=(Path(sys.prefix), Path(sys.base_prefix)))
        self.processes = Processes(
            folder / "runs", SystemClock(), limits, self.wall, Deletions(self.root, self.checkpoints)
        )
        self.talk = Talk()
        self.checklist = Checklist(folder / "task.md")
        self.told: list[tuple[str, Mapping[str, JsonValue]]] = []
        self.audited: list[str] = []
        self.cancelled = asyncio.Event()
        self.began_at = 0.0
        self.executor = Executor(WORK, self.handlers(), SystemClock(), seed=1)

    async def xml(self, text: str, turn: str = "t1") -> ToolResult:
        """The result of the one call that `text` writes."""
        events = (reader := XmlDialect().reader(WORK.specs)).feed(text) + reader.flush()
        [block] = [event.block for event in events if isinstance(event, CallClosed)]
        return await self.run(block, turn)

    async def call(self, tool: str, /, **arguments: JsonValue) -> ToolResult:
        """The result of a call written as JSON."""
        return await self.run(Block("c1", tool, args=arguments))

    async def run(self, block: Block, turn: str = "t1", turns: Collection[str] | None = None) -> ToolResult:
        context = TurnContext(admitted, "c1", self._emit, self._audit, self.cancelled, turn, self.began_at, turns=turns)
        return (await self.executor.run(block, SaidYes(), context)).result

    async def stop_all(self) -> None:
        """End what the test started."""
        runs = self.processes.recent(1000)
        await asyncio.gather(*(self.processes.stop(run) for run in runs if run.is_running))

    def handlers(self) -> list[object]:
        space, clock = self.workspace, SystemClock()
        commands = Commands(space, self.processes, clock, self.talk.is_yolo)
        waits = Waits(space, self.processes, clock)
        tasks = Tasks(self.talk, self.checklist, Appearance())
        arranged = Arrangements(Moves(space, self.checkpoints))
        packing = Archives(Packing(space, self.changes, self.checkpoints))
        files = [Files(space), Edits(space, self.changes, [Appearance()]), arranged, packing, Searches(space)]
        return [*files, commands, waits, Code(space), tasks]

    def _emit(self, event: str, payload: Mapping[str, JsonValue]) -> None:
        self.told.append((event, payload))

    async def _audit(self, kind: str, _details: Mapping[str, JsonValue]) -> None:
        self.audited.append(kind)

    def _to_trash(self, folder: Folder, name: str) -> bool:
        folder.move(name, self.trash / name)
        return True
