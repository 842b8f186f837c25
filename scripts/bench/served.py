"""What a call costs by `wisp mcp serve` beside the same one by `wisp tool`.

    .venv/bin/python scripts/bench/served.py [--repeat 40]

Both work on one private desktop with galculator, mousepad and Chromium, and take turns call by call: the Python SDK's
client over standard input and output, and `wisp tool` as a co-process. A click by MCP costs more, because the policy
looks at what it hits; the calls of `wisp tool` are the person's own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mcp import Client

from app.desktop.accessibility.atspi import AtSpi
from scripts.bench.scene import ready, scene
from tests.support.co_process import CoProcess
from tests.support.mcp_client import served, text_of

_AIM_MS = 3.0
_REST_S = 0.1
"""So that the window has drawn what the call before did."""
_ALLOWED = ("--allow", "galculator", "--allow", "mousepad", "--allow", "chromium")


async def _calls(tree: AtSpi) -> Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]]:
    """Calls that both can make over and over, by their names in the table: a tool, and its arguments in turn."""
    places = [(await tree.find(name))[0].element.box.center for name in ("7 key", "AC")]
    spots: list[dict[str, Any]] = [{"x": place.x, "y": place.y, "space": "screen"} for place in places]
    return {
        "list the windows": ("list_windows", [{}]),
        "screenshot": ("screen_capture", [{}]),
        "read galculator": ("read_screen", [{"window": "galculator", "view": "full"}]),
        "find a button": ("locate_screen_element", [{"target": "AC"}]),
        "click, blind": ("computer_click", [spot | {"receipt": "none"} for spot in spots]),
        "click with its receipt": ("computer_click", spots),
        "press a key": ("computer_key", [{"keys": "Escape"}]),
    }


async def _compare(
    wisp: CoProcess, client: Client, tool: str, turns: Sequence[Mapping[str, Any]], times: int
) -> list[list[float]]:
    """Milliseconds of each call by `wisp tool` and by MCP; the first of each is left out."""
    took: list[list[float]] = [[], []]
    for number in range(2 * (times + 1)):
        await asyncio.sleep(_REST_S)
        arguments = turns[number // 2 % len(turns)]
        began = time.perf_counter()
        if is_served := (number + number // 2) % 2 == 1:  # so that each is first as often as second
            result = await client.call_tool(tool, dict(arguments))
            assert not result.is_error, text_of(result)
        else:
            wisp(tool, arguments)
        if number >= 2:
            took[is_served].append((time.perf_counter() - began) * 1000)
    return took


def _p95(took: Sequence[float]) -> float:
    return sorted(took)[int(len(took) * 0.95)]


async def _table(environment: Mapping[str, str], home: Path, times: int) -> None:
    tree = AtSpi(environment)
    await ready(tree)
    over = []
    # Folders of their own, or the one would wait a minute until the other gives the desktop away.
    apart = [{**environment, "WISP_DATA_DIR": str(home / name)} for name in ("tool", "served")]
    with CoProcess(apart[0], options=("--pictures", "inline")) as wisp:
        async with served(apart[1], *_ALLOWED) as client:
            wisp("focus_window", title="galculator")
            for name, (tool, turns) in (await _calls(tree)).items():
                by_tool, by_mcp = await _compare(wisp, client, tool, turns, times)
                more = statistics.median(by_mcp) - statistics.median(by_tool)
                over.append(more)
                columns = (statistics.median(by_tool), _p95(by_tool), statistics.median(by_mcp), _p95(by_mcp), more)
                print(f"{name:<26}" + "".join(f"{value:>10.1f}" for value in columns), flush=True)
    await tree.close()
    median = statistics.median(over)
    print(f"{'median':<66}{median:>10.1f}  <= {_AIM_MS:g}{' MISSED' if median > _AIM_MS else ''}")


def _main(repeat: int) -> None:
    heads = ("wisp tool", "p95", "wisp mcp", "p95", "more, ms")
    print(f"{'':<26}" + "".join(f"{head:>10}" for head in heads), flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
        with scene() as environment:
            asyncio.run(_table(environment, Path(home), repeat))


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--repeat", type=int, default=40, help="trials of each call in each way; 40")
    _main(**vars(told.parse_args()))
