"""How soon everything ends after the stop: from the key's press to the last event that we still sent.

    .venv/bin/python scripts/bench/stop.py [TRIALS]

Half of the trials stop long typing, half a long drag, on a private desktop. The key comes from another connection,
as a person's does; the last event is the last one that the server told us about. Afterwards nothing may be held.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from Xlib import XK, X
from Xlib.display import Display
from Xlib.ext import xtest

from app.base.errors import Cancelled
from app.base.geometry import Point
from app.desktop.choose import open_desktop
from app.desktop.desk import Desktop
from app.desktop.hands import Press
from app.desktop.seat import Seat
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.fixture_window import FixtureWindow

_CHORD = (XK.XK_Control_L, XK.XK_Alt_L, XK.XK_Escape)


async def _typing(seat: Seat) -> None:
    await seat.hands.type_text("The quick brown fox. " * 4000)


async def _dragging(seat: Seat) -> None:
    await seat.hands.drag([Point(150, 150), Point(650, 450)] * 40, Press(), 20.0)


class Person:
    """Presses the stop key, and looks what is held."""

    def __init__(self, display: str) -> None:
        self.display = Display(display)
        self._codes = [self.display.keysym_to_keycode(symbol) for symbol in _CHORD]

    def press(self) -> float:
        for code in self._codes:
            xtest.fake_input(self.display, X.KeyPress, code)
        self.display.sync()
        pressed = time.perf_counter()
        for code in reversed(self._codes):
            xtest.fake_input(self.display, X.KeyRelease, code)
        self.display.sync()
        return pressed

    def held(self) -> int:
        buttons = self.display.screen().root.query_pointer().mask & (X.Button1Mask | X.Button2Mask | X.Button3Mask)
        return sum(bin(byte).count("1") for byte in self.display.query_keymap()) + bin(buttons).count("1")


async def _trial(desktop: Desktop, person: Person, dice: random.Random, *, is_drag: bool) -> float:
    last = 0.0

    async def watched(seat: Seat) -> None:
        nonlocal last
        acting = seat.reins.acting

        def noted() -> None:
            nonlocal last
            last = time.perf_counter()
            acting()

        seat.reins.acting = noted  # type: ignore[method-assign]
        try:
            await (_dragging if is_drag else _typing)(seat)
        finally:
            seat.reins.acting = acting  # type: ignore[method-assign]

    work = asyncio.create_task(desktop.run(watched))
    await asyncio.sleep(0.05 + dice.random() * 0.2)
    pressed = await asyncio.to_thread(person.press)
    with suppress(Cancelled):
        await work
    ended = time.perf_counter()
    desktop.resume()
    return max(last - pressed, 0.0) * 1000 if last else (ended - pressed) * 1000


async def _main(trials: int) -> int:
    dice = random.Random(1)
    took: dict[bool, list[float]] = {False: [], True: []}
    left_held = 0
    with VirtualDesktop() as virtual:
        desktop = open_desktop(environment=virtual.environment)
        person = Person(virtual.environment["DISPLAY"])
        try:
            for trial in range(trials):
                is_drag = bool(trial % 2)
                mode = "canvas" if is_drag else "text"
                with FixtureWindow(mode, environment=virtual.environment):
                    took[is_drag].append(await _trial(desktop, person, dice, is_drag=is_drag))
                left_held += person.held()
        finally:
            desktop.close()
    for is_drag, name in ((False, "typing"), (True, "dragging")):
        times = sorted(took[is_drag])
        print(
            f"{name}: {len(times)} trials, median {statistics.median(times):.1f} ms, "
            f"p95 {times[int(len(times) * 0.95)]:.1f} ms, worst {times[-1]:.1f} ms"
        )
    print(f"keys or buttons left held: {left_held}")
    return int(left_held > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)))
