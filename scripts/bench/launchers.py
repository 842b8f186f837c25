"""Play the installed programs of `tests/data/launchers.toml`: are launchers found, and what does a look cost?

Run as `python scripts/bench/launchers.py [NAME…]`. Exit code 1 where a program is not found to be what it is.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import statistics
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from app.desktop.backends import Backend  # noqa: E402
from app.desktop.privacy import Private  # noqa: E402
from app.desktop.takeover import StopFlag  # noqa: E402
from app.desktop.x11 import backend as x11  # noqa: E402
from app.desktop.x11.virtual import VirtualDesktop  # noqa: E402

TABLE = ROOT / "tests" / "data" / "launchers.toml"
_WINDOW_LIMIT_S = 20.0
_SETTLED_S = 1.0
_LOOKS = 20


@dataclass(frozen=True)
class Found:
    """`first_ms` is the first look at a process, `again_ms` the median of those after it."""

    name: str
    is_launcher: bool | None
    wanted: bool
    first_ms: float = 0.0
    again_ms: float = 0.0

    @property
    def is_right(self) -> bool:
        return self.is_launcher is self.wanted


def programs() -> dict[str, dict[str, Any]]:
    """The table's programs that are installed here."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))["program"]
    return {name: one for name, one in table.items() if shutil.which(_tool(one))}


def _tool(program: dict[str, Any]) -> str:
    first = str(program["command"][0])
    return str(program["command"][2].split()[0]) if first == "sh" else first


def play(name: str, program: dict[str, Any]) -> Found:
    """Start it on a desktop of its own and look at what has the keyboard there."""
    with VirtualDesktop() as desk:
        running = subprocess.Popen(
            program["command"],
            env=desk.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return asyncio.run(_look(name, program, desk.environment))
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait()


async def _look(name: str, program: dict[str, Any], environment: dict[str, str]) -> Found:
    made = x11.make_backend(environment, StopFlag(), Private())
    try:
        limit = time.monotonic() + _WINDOW_LIMIT_S
        while (window := _front(made)) is None and time.monotonic() < limit:
            await made.windows.changed(0.2)
        if window is None:
            return Found(name, None, program["launcher"])
        await asyncio.sleep(_SETTLED_S)
        took = []
        for _ in range(_LOOKS):
            began = time.perf_counter()
            is_launcher = made.apps.is_launcher(_front(made), program.get("role", ""))
            took.append((time.perf_counter() - began) * 1000)
        return Found(name, is_launcher, program["launcher"], took[0], statistics.median(took[1:]))
    finally:
        await made.close()


def _front(made: Backend) -> Any:
    menu = next((window for window in made.windows.shown() if window.takes_keys), None)
    return menu or next((window for window in made.windows.all() if window.is_active), None)


def main(names: list[str]) -> int:
    wrong = 0
    for name, program in programs().items():
        if names and name not in names:
            continue
        found = play(name, program)
        wrong += not found.is_right
        mark = "ok   " if found.is_right else "WRONG"
        print(
            f"{mark} {name:22} launcher={found.is_launcher} first {found.first_ms:.1f}, again {found.again_ms:.2f} ms"
        )
    return int(wrong > 0)


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("names", nargs="*", help="of the programs; all")
    sys.exit(main(told.parse_args().names))
