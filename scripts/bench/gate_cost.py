"""What the gate costs: the first look at an act, and the look again before each step of a sequence, median and p99.

scripts/bench/gate_cost.py [STEPS]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.agent.inspection import DesktopInspector
from app.agent.policy import Policy, Provenance
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import ToolCall
from app.protocol.spec import ScreenAim
from app.tools.acts import Move, Steps
from app.tools.computer import COMPUTER
from app.tools.registry import admitted

_STEPS = 200
_PROGRAMS = (("mousepad",), ("zenity", "--entry"), ("xterm",))
_STARTS_S = 3.0
_LINES = 100


async def _measured(count: int, act: Callable[[], Awaitable[object]]) -> str:
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        await act()
        taken.append((time.perf_counter() - began) * 1000)
    return f"median {statistics.median(taken):6.2f} ms   p99 {sorted(taken)[int(count * 0.99) - 1]:6.2f} ms"


async def _bench(environment: dict[str, str], count: int) -> None:
    desktop = open_desktop(environment=environment)
    onlooker, policy = DesktopInspector(desktop), Policy(Path.cwd())
    spec = next(spec for spec in COMPUTER.tools if spec.name == "computer_key")
    call = ToolCall("1", "computer_key", {"keys": "a"})

    async def judge() -> None:
        policy.decide(call, spec, tuple(await onlooker.seen(call, ScreenAim.FOCUS)), Provenance())

    async def steps(controller: DesktopController) -> str:
        asked = Steps(controller, call, admitted)
        return await _measured(count, lambda: asked.before(call, Move.NOWHERE))

    async def lines(controller: DesktopController) -> float:
        asked = Steps(controller, call, admitted)
        began = time.perf_counter()
        await controller.input.type_text("0123456789\n" * _LINES, lambda _left: asked.before(call, Move.NOWHERE))
        return (time.perf_counter() - began) * 1000 / _LINES

    try:
        for command in _PROGRAMS:
            program = await asyncio.create_subprocess_exec(
                *command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            await asyncio.sleep(_STARTS_S)
            print(f"{command[0]:10} first look and verdict   {await _measured(count // 4, judge)}")
            await judge()
            print(f"{command[0]:10} look again before a step {await desktop.run(steps)}")
            if command[0] == "mousepad":
                print(f"{command[0]:10} a typed line and its break: {await desktop.run(lines):.2f} ms")
            program.kill()
            await program.wait()
    finally:
        desktop.close()


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("steps", nargs="?", type=int, default=_STEPS, help=f"steps of a sequence; {_STEPS}")
    options = told.parse_args()
    with VirtualDesktop() as virtual:
        os.environ.update(virtual.environment)
        asyncio.run(_bench(dict(virtual.environment), options.steps))
