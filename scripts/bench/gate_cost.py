"""What the gate costs: a decision with its look at the target, and the look again before each step of a sequence.

scripts/bench/gate_cost.py [DECISIONS]

Prints the median and the 95th percentile for a key and a click in each program.
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
from app.agent.policy import Policy, Trust
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import JsonValue, ToolCall
from app.tools.acts import Move, Steps
from app.tools.computer import COMPUTER
from app.tools.registry import admitted

_DECISIONS = 100
_PROGRAMS = (("mousepad",), ("zenity", "--entry"), ("xterm",))
_STARTS_S = 3.0
_ACTS: dict[str, dict[str, JsonValue]] = {
    "computer_key": {"keys": "a"},
    "computer_click": {"x": 640, "y": 400, "space": "screen"},
}


async def _measured(count: int, act: Callable[[int], Awaitable[object]]) -> str:
    taken = []
    for number in range(count):
        began = time.perf_counter()
        await act(number)
        taken.append((time.perf_counter() - began) * 1000)
    return f"median {statistics.median(taken):6.2f} ms   p95 {sorted(taken)[int(count * 0.95) - 1]:6.2f} ms"


async def _bench(environment: dict[str, str], count: int) -> None:
    desktop = open_desktop(environment=environment)
    inspector, policy = DesktopInspector(desktop), Policy(Path.cwd())

    async def judge(tool: str, number: int) -> None:
        spec = next(spec for spec in COMPUTER.tools if spec.name == tool)
        assert spec.aim
        call = ToolCall(f"c{number}", tool, _ACTS[tool])
        policy.decide(call, spec, tuple(await inspector.seen(call, spec.aim)), Trust())

    async def steps(controller: DesktopController) -> str:
        call = ToolCall("c0", "computer_key", _ACTS["computer_key"])
        asked = Steps(controller, call, admitted)
        return await _measured(count, lambda _: asked.before(call, Move.NOWHERE))

    try:
        for command in _PROGRAMS:
            program = await asyncio.create_subprocess_exec(
                *command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            await asyncio.sleep(_STARTS_S)
            for tool in _ACTS:
                told = await _measured(count, lambda number, tool=tool: judge(tool, number))  # type: ignore[misc]
                print(f"{command[0]:10} decision on {tool:18} {told}", flush=True)
            await judge("computer_key", 0)
            print(f"{command[0]:10} look again before a step        {await desktop.run(steps)}", flush=True)
            program.kill()
            await program.wait()
    finally:
        desktop.close()


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("decisions", nargs="?", type=int, default=_DECISIONS, help=f"of each kind; {_DECISIONS}")
    options = told.parse_args()
    with VirtualDesktop() as virtual:
        os.environ.update(virtual.environment)
        asyncio.run(_bench(dict(virtual.environment), options.decisions))
