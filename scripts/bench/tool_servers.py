"""Tool servers: how long the event loop stands still while four connect, and what a call costs.

    .venv/bin/python scripts/bench/tool_servers.py [ROUNDS]

Prints the longest gap of a loop that wants to run every millisecond: alone, while four servers connect at once with the
worker started anew, while each answers a hundred calls, and while one sends an answer of 4 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.base.clock import SystemClock
from app.features.mcp.configuration import ServerEntry
from app.features.mcp.servers import McpServers

_SERVER = Path(__file__).resolve().parents[2] / "tests" / "support" / "tool_server.py"
_TOLD = {
    "tools": [{"name": "echo"}, {"name": "big"}],
    "calls": {"echo": [{"echo": True}], "big": [{"big": 4_000_000}]},
}
_COUNT = 4
_CALLS = 100
_TICK_S = 0.001


class Gaps:
    """The gaps of the running loop, in milliseconds, beyond the tick it waits for; and of each what this process spent
    on a processor meanwhile, on all its threads: on a busy machine the rest is the others' doing.
    """

    async def __aenter__(self) -> list[tuple[float, float]]:
        self._found: list[tuple[float, float]] = []
        self._task = asyncio.ensure_future(self._tick())
        await asyncio.sleep(0.05)
        self._found.clear()
        return self._found

    async def __aexit__(self, *error: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _tick(self) -> None:
        last, spent = time.perf_counter(), time.process_time()
        while True:
            await asyncio.sleep(_TICK_S)
            now, used = time.perf_counter(), time.process_time()
            gap_ms = max(0.0, (now - last - _TICK_S) * 1000)
            self._found.append((gap_ms, min(gap_ms, (used - spent) * 1000)))
            last, spent = now, used


async def _measured(name: str, work: Awaitable[object]) -> None:
    began = time.perf_counter()
    async with Gaps() as gaps:
        await work
    took = time.perf_counter() - began
    all_, own = (sorted(column) for column in zip(*gaps, strict=True))
    p99 = int(len(all_) * 0.99)
    told = f"gap p50 {statistics.median(all_):6.2f}  p99 {all_[p99]:6.2f}  max {all_[-1]:6.2f} ms"
    print(f"{name:<20} {told}   of this process p99 {own[p99]:6.2f}  max {own[-1]:6.2f} ms   {took:.2f} s")


async def _round(folder: Path) -> None:
    servers = McpServers(folder, SystemClock())
    entries: list[ServerEntry] = []
    for number in range(_COUNT):
        name = f"server{number}"
        # An own server starts in a folder of its own, so its program is named whole and shown to it.
        told = {"command": "python3", "args": [str(folder / "tool_server.py"), json.dumps(_TOLD)]}
        servers.configuration.add(name, {**told, "folders": [str(folder)]})
        entries.append(servers.configuration.named(name))
        servers.is_agreed(entries[-1])

    async def calls() -> None:
        for entry in entries:
            for _ in range(_CALLS):
                await servers.use(entry, "echo", {"text": "hello"}, lambda *_: None)

    await _measured("nothing", asyncio.sleep(2))
    await _measured("four connect", asyncio.gather(*(servers.tools(entry) for entry in entries)))
    await _measured(f"{_COUNT * _CALLS} calls", calls())
    await _measured("an answer of 4 MB", servers.use(entries[0], "big", {}, lambda *_: None))
    await _measured("all close", servers.close())


def main() -> None:
    parser = argparse.ArgumentParser(description="The gaps of the event loop while tool servers are used.")
    parser.add_argument("rounds", nargs="?", type=int, default=3, help="how often it is measured")
    rounds = parser.parse_args().rounds
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["WISP_DATA_DIR"] = str(Path(folder) / "wisp")
            workspace = Path(folder) / "workspace"
            workspace.mkdir()
            (workspace / "tool_server.py").write_bytes(_SERVER.read_bytes())
            print(f"round {number + 1}")
            asyncio.run(_round(workspace))


if __name__ == "__main__":
    main()
