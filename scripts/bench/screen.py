"""How fast the screen is understood: `python -m scripts.bench.screen [--repeat 25]`.

The scene: galculator, mousepad and Chromium with a page of 300 elements, on a private desktop of 1920x1080. Beside our
reading stands a walk with libatspi of the same desktop in the same run. Milliseconds, median and 95th percentile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from app.desktop.accessibility.atspi import AtSpi
from app.desktop.elements import OutlineRequest, OutlineView
from app.desktop.x11.virtual import VirtualDesktop

_WALKER = Path(__file__).with_name("libatspi_walk.py")
_WALKS = 5
_READY_LIMIT_S = 60.0
_ROWS = "".join(
    f'<p><a href="#{n}">Link number {n}</a> <button>Button {n}</button> <label><input type=checkbox>Check {n}</label>'
    for n in range(100)
)
_CHROMIUM = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")
_WINDOWS = {"galculator": "galculator", "mousepad": "mousepad", "Chromium": "Three hundred"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=25)
    repeat = parser.parse_args().repeat
    with scene() as (environment, calculator):
        asyncio.run(measure(environment, calculator, repeat))


@contextmanager
def scene() -> Iterator[tuple[Mapping[str, str], int]]:
    """The desktop with its programs; gives its environment and the calculator's process id."""
    with ExitStack() as stack:
        desktop = stack.enter_context(VirtualDesktop(1920, 1080))
        home = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        page = Path(home) / "page.html"
        page.write_text(f"<!doctype html><title>Three hundred</title>{_ROWS}")
        environment = {**desktop.environment, "HOME": home, "ACCESSIBILITY_ENABLED": "1"}
        chromium = (*_CHROMIUM, "--window-size=1000,900", page.as_uri())
        started = [
            stack.enter_context(running(command, environment))
            for command in (chromium, ("mousepad", "--disable-server"), ("galculator",))
        ]
        yield desktop.environment, started[-1].pid


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    quiet = subprocess.DEVNULL
    program = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield program
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


async def measure(environment: Mapping[str, str], calculator: int, repeat: int) -> None:
    eyes = AtSpi(environment)
    await ready(eyes)
    walks = [walk(environment) for _ in range(_WALKS)]
    print(f"{'':34}{'ours':>16}{'libatspi, showing':>20}{'libatspi, whole':>18}  times faster")
    for app, title in _WINDOWS.items():
        request = OutlineRequest(OutlineView.FULL, window=title, budget=100_000)
        ours = await timed(lambda request=request: eyes.outline(request), repeat)
        compare(f"outline {app}", ours, [w[app]["showing"][0] for w in walks], [w[app]["whole"][0] for w in walks])
    everything = OutlineRequest(OutlineView.FULL, budget=100_000)
    ours = await timed(lambda: eyes.outline(everything), repeat)
    sums = [[sum(app[kind][0] for app in w.values()) for w in walks] for kind in ("showing", "whole")]
    compare("outline of the desktop", ours, *sums)
    await singles(eyes, repeat)
    os.kill(calculator, signal.SIGSTOP)
    show("outline, calculator frozen, first", await timed(lambda: eyes.outline(everything), 1))
    show("outline, calculator frozen, then", await timed(lambda: eyes.outline(everything), repeat))
    os.kill(calculator, signal.SIGCONT)
    await eyes.close()


async def singles(eyes: AtSpi, repeat: int) -> None:
    """What a click needs: one element."""
    show("find '7' (not in the active window)", await timed(lambda: eyes.find("7 key"), repeat))
    show("find 'Link number 3'", await timed(lambda: eyes.find("Link number 3"), repeat))
    show("focused", await timed(eyes.focused, repeat))
    ref = (await eyes.find("7 key"))[0].element.ref
    show("press '7' by ref", await timed(lambda: eyes.press(ref), repeat))


async def ready(eyes: AtSpi) -> None:
    """Return when all three show what they will show."""
    limit = time.monotonic() + _READY_LIMIT_S
    while not all([await eyes.find(name) for name in ("Link number 3", "7 key", "Search menu")]):
        if time.monotonic() > limit:
            raise SystemExit("The programs of the scene did not come up.")
        await asyncio.sleep(0.2)


def walk(environment: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        ["/usr/bin/python3", "-W", "ignore", str(_WALKER)], env=environment, capture_output=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def timed(do: Callable[[], Awaitable[object]], repeat: int) -> list[float]:
    spent = []
    for _ in range(repeat):
        begun = time.perf_counter()
        await do()
        spent.append((time.perf_counter() - begun) * 1000)
    return spent


def compare(what: str, ours: Sequence[float], showing: Sequence[float], whole: Sequence[float]) -> None:
    ratios = "  ".join(f"{statistics.median(theirs) / statistics.median(ours):.1f}" for theirs in (showing, whole))
    print(f"{what:34}{told(ours):>16}{told(showing):>20}{told(whole):>18}  {ratios}")


def show(what: str, spent: Sequence[float]) -> None:
    print(f"{what:34}{told(spent):>16}")


def told(spent: Sequence[float]) -> str:
    worst = sorted(spent)[min(int(len(spent) * 0.95), len(spent) - 1)]
    return f"{statistics.median(spent):.1f} ({worst:.1f})"


if __name__ == "__main__":
    main()
