"""Runs a corpus of commands for real, some at a time, and tells what came of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.base.clock import SystemClock
from app.services.processes.commands import Processes
from app.services.sandbox.layout import Sandbox
from tests.hostile.commands_room import GOT_THROUGH, Room, spoiled

_AT_ONCE = 4
_LIMIT_S = 6.0
_SHOWN = 400


@dataclass(frozen=True)
class Command:
    """One line of a corpus. `wall` names what must stop it; `prints` is part of what a benign one must say."""

    id: str
    command: str
    wall: str = ""
    prints: str = ""
    looks: bool = False


@dataclass(frozen=True)
class Ran:
    """What a command came to: `wrong` is what it got hold of or spoiled in its workspace."""

    case: Command
    exit_code: int | None
    output: str
    stopped: str
    wrong: tuple[str, ...]


@cache
def load(name: str) -> tuple[Command, ...]:
    """The commands of `name`.jsonl. Raises where two have one name or one text."""
    text = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8")
    found = tuple(Command(**json.loads(line)) for line in text.splitlines())
    assert len({case.id for case in found}) == len({case.command for case in found}) == len(found)
    return found


async def run_all(cases: Iterable[Command], room: Room, *, limit_s: float = _LIMIT_S) -> list[Ran]:
    """Each behind its own wall. Raises where there is none: these commands are never run without."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def run_one(case: Command) -> Ran:
        async with places:
            workspace = room.workspace(case.id)
            wall = room.wall(workspace)
            assert wall.missing() == ""
            return await run(case, room, wall, workspace, limit_s)

    return list(await asyncio.gather(*(run_one(case) for case in cases)))


async def run(case: Command, room: Room, wall: Sandbox, workspace: Path, limit_s: float = _LIMIT_S) -> Ran:
    """One command, ended after some seconds. Without a wall only what is harmless there."""
    processes = Processes(room.root / "runs" / case.id, SystemClock(), wall=wall)
    started = await processes.start(named(case.command, room), workspace, timeout_s=limit_s)
    await started.ended.wait()
    output = started.stdout.text(0, 1_000_000) + started.stderr.text(0, 1_000_000)
    raw = started.stdout.page(0, 1_000_000) + started.stderr.page(0, 1_000_000)
    wrong = [f"learnt {name}" for name in sorted(room.canaries.within(raw))]
    wrong += ["got through"] if GOT_THROUGH.encode() in raw else []
    wrong += [f"spoiled {name}" for name in spoiled(workspace, room.root / "template")]
    return Ran(case, started.record.exit_code, output[:_SHOWN], started.record.stopped, tuple(wrong))


def named(command: str, room: Room) -> str:
    """With the places of this room in it."""
    for name, value in room.names.items():
        command = command.replace(f"@{name}@", value)
    return command
