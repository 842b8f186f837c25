"""How soon everything ends after the stop: from the key's press to the last event that we still sent.

    .venv/bin/python scripts/bench/stop.py [TRIALS] [--busy]

Half of the trials stop long typing, half a long drag with Shift held, on a private desktop. The key comes from a device
that is not ours, as a person's does; both times are the X server's own, taken by another process. With `--busy` every
processor is kept busy by other programs, and the thread that has the event loop (the presence's) runs Python and never
pauses. Afterwards nothing may be held.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.base.errors import Cancelled
from app.base.geometry import Point
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.input import Press
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.fixture_window import FixtureWindow
from tests.support.onlooker import Onlooker, Seen

_BLOCKED_S = 0.6


async def _typing(controller: DesktopController) -> None:
    await controller.input.type_text("The quick brown fox. " * 4000)


async def _dragging(controller: DesktopController) -> None:
    await controller.input.drag([Point(150, 150), Point(650, 450)] * 40, Press(modifiers=("Shift_L",)), 20.0)


@contextmanager
def _load(*, is_busy: bool) -> Iterator[None]:
    count = (os.cpu_count() or 1) if is_busy else 0
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in burning:
            program.kill()
            program.wait()


def _block(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def _trial(desktop: Desktop, onlooker: Onlooker, after_s: float, *, is_drag: bool, is_busy: bool) -> Seen:
    work = asyncio.create_task(desktop.run(_dragging if is_drag else _typing))
    await asyncio.sleep(0)
    onlooker.press_stop_key(after_s)
    if is_busy:
        _block(_BLOCKED_S)
    with suppress(Cancelled):
        await work
    seen = onlooker.seen()
    desktop.resume()
    return seen


def _told(name: str, found: list[Seen]) -> None:
    times = sorted(seen.late_ms for seen in found)
    p95, p99 = (times[int(len(times) * share)] for share in (0.95, 0.99))
    after = max(seen.after for seen in found)
    print(
        f"{name}: {len(times)} trials, median {statistics.median(times):g} ms, p95 {p95} ms, p99 {p99} ms, "
        f"worst {times[-1]} ms; at most {after} events after the key"
    )


async def trials(count: int, *, is_busy: bool) -> dict[bool, list[Seen]]:
    """What was seen of each stop: by False of typing, by True of dragging."""
    dice = random.Random(1)
    found: dict[bool, list[Seen]] = {False: [], True: []}
    with VirtualDesktop() as virtual, Onlooker(virtual.environment) as onlooker:
        desktop = open_desktop(environment=virtual.environment)
        try:
            for is_drag, mode in ((False, "text"), (True, "canvas")):
                with FixtureWindow(mode, environment=virtual.environment) as window, _load(is_busy=is_busy):
                    for _ in range(count // 2):
                        after_s = 0.05 + dice.random() * 0.2
                        seen = await _trial(desktop, onlooker, after_s, is_drag=is_drag, is_busy=is_busy)
                        found[is_drag].append(seen)
                        window.forget()
        finally:
            desktop.close()
    return found


def _main(count: int, *, is_busy: bool) -> int:
    found = asyncio.run(trials(count, is_busy=is_busy))
    for is_drag, name in ((False, "typing"), (True, "dragging")):
        _told(name, found[is_drag])
    every = [seen for seens in found.values() for seen in seens]
    held, idle = sum(seen.held for seen in every), sum(seen.sent == 0 for seen in every)
    print(f"keys or buttons left held: {held}; trials in which nothing was under way: {idle}")
    return int(held > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="?", type=int, default=200)
    parser.add_argument("--busy", action="store_true", help="while every processor is kept busy")
    options = parser.parse_args()
    sys.exit(_main(options.trials, is_busy=options.busy))
