"""What eyes and hands cost: captures, outlines, locating, clicking, typing, and a whole step.

    .venv/bin/python scripts/bench/desktop.py [REPETITIONS]

On a private 1920x1080 desktop with galculator, mousepad and (where it is installed) Chromium on a page of 300
elements: the scene of the measured peers. Each row is a median and a 95th percentile in milliseconds; beside ours, in
the same run, Pillow's LANCZOS with PNG, and a step that waits a fixed two seconds as Anthropic's demo does.
"""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.base.geometry import Rect
from app.desktop.capture import PictureBudget, encoded, fitted
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.elements import OutlineRequest
from app.desktop.input import Press
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.repainting import repainting

_PAGE = "".join(
    f'<p><a href="#{n}">Link {n}</a> <button>Button {n}</button> <label><input type=checkbox> Box {n}</label></p>'
    for n in range(100)
)
_FIXED_WAIT_S = 2.0
_PAGE_LIMIT_S = 20.0
_CHROMIUM = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")
_ASCII = "\nThe quick <brown> fox & co; " * 7 + "over"
_UNICODE = "é ü 日本語 שלום 🚀 é ü 日本語 שלום 🚀 é ü 日本語 שלום"
Work = Callable[[], Awaitable[object]]


async def _timed(name: str, work: Work, times: int) -> float:
    """Print a row; returns the median."""
    await work()
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    median = statistics.median(took)
    print(f"{name:<58} {median:9.1f} {took[min(int(len(took) * 0.95), len(took) - 1)]:9.1f}", flush=True)
    return median


class Scene:
    """The rows, on the desktop thread."""

    def __init__(self, seat: DesktopController, times: int) -> None:
        self.seat = seat
        self.times = times
        self.extent = seat.backend.screen.extent()

    async def row(self, name: str, work: Work, times: int = 0) -> float:
        return await _timed(name, work, times or self.times)

    async def eyes(self) -> None:
        grab = self.seat.backend.screen.grab
        sent = fitted(self.extent.size, PictureBudget())

        async def grabbed() -> None:
            grab(self.extent)

        async def wired() -> None:
            base64.b64encode(encoded(grab(self.extent), sent))

        async def pillow() -> None:
            from PIL import Image

            frame = grab(self.extent)
            size = (self.extent.width, self.extent.height)
            picture = Image.frombuffer("RGB", size, frame.bgrx, "raw", "BGRX", 0, 1)
            file = io.BytesIO()
            picture.resize((sent.width, sent.height), Image.Resampling.LANCZOS).save(file, "PNG")
            base64.b64encode(file.getvalue())

        await self.row("grab, 1920x1080", grabbed)
        ours = await self.row(f"grab, scale to {sent.width}x{sent.height}, JPEG, base64", wired)
        theirs = await self.row("the same with Pillow's LANCZOS and PNG", pillow, max(self.times // 3, 3))
        print(f"{'':<58} {theirs / ours:8.1f}x")

    async def screen_reading(self) -> None:
        reading = self.seat.backend.accessibility
        for window in ("galculator", "Mousepad", "Chromium"):
            if any(window.lower() in (w.title + w.app).lower() for w in self.seat.backend.windows.all()):
                await self.row(f"outline of {window}", lambda w=window: reading.outline(OutlineRequest(window=w)))  # type: ignore[misc]

    async def hands(self) -> None:
        seat = self.seat
        await seat.backend.windows.focus(seat.find_window("galculator").ref)
        await self.row("locate '7' by its name", lambda: seat.marksman.at_name("7"))
        seven = (await seat.marksman.at_name("7")).point
        corner = seven.moved(0, 300)
        in_turn = itertools.cycle((seven, (await seat.marksman.at_name("AC")).point))
        await self._clicked_at((await seat.marksman.at_name("AC")).point)

        async def found_and_clicked() -> None:
            aim = await seat.marksman.at_name("7")
            await self._clicked_at(aim.point)
            await seat.hands.move(corner)

        async def clicked() -> None:
            await self._clicked_at(seven)
            await seat.hands.move(corner)

        async def step() -> None:
            """Each changes what the calculator shows."""
            receipt = await seat.act(lambda: self._clicked_at(next(in_turn)))
            assert receipt.verdict == "changed", receipt.sentence
            await seat.eyes.capture(self.extent, "screen", PictureBudget())

        async def step_with_a_fixed_wait() -> None:
            await self._clicked_at(seven)
            await asyncio.sleep(_FIXED_WAIT_S)
            await seat.eyes.capture(self.extent, "screen", PictureBudget())

        await self.row("step: click, settle, receipt, capture", step)
        await self.row("click at a known point", clicked)
        await self.row("locate '7' and click it", found_and_clicked)
        await self.row("step with a fixed wait of two seconds", step_with_a_fixed_wait, 3)

    async def _clicked_at(self, point: object) -> None:
        """Never twice on one spot as far as the hands know: keeping clicks apart is not what is measured."""
        self.seat.hands.forget_last_click()
        await self.seat.hands.click(point, Press())  # type: ignore[arg-type]

    async def settling(self) -> None:
        """From a click to a settled picture, on programs that paint a known time after it."""
        for options in (("--after", "20"), ("--after", "100"), ("--busy", "400"), ("--still",)):
            with repainting(*options, "--at", "1400,500", environment=os.environ):
                await self._settled(" ".join(options).replace("-", ""))

    async def _settled(self, program: str) -> None:
        seat = self.seat
        inside = seat.find_window("Repainting").area.center
        spot = Rect(inside.x, inside.y, 1, 1)

        async def step() -> None:
            await seat.act(lambda: self._clicked_at(inside), spot)
            await seat.eyes.capture(self.extent, "screen", PictureBudget())

        await self.row(f"step on a program: {program} ms", step, max(self.times // 2, 5))

    async def typing(self) -> None:
        seat = self.seat
        window = await seat.backend.windows.focus(seat.find_window("Mousepad").ref)

        async def typed(text: str) -> None:
            await seat.hands.type_text(text)
            await seat.backend.windows.answers(window.ref, 5.0)

        await self.row(
            "type 200 ASCII characters, all taken in", lambda: typed("The quick <brown> fox. jumps" * 7 + "over")
        )
        await self.row("type 40 mixed Unicode characters, all taken in", lambda: typed("\n" + _UNICODE[:40]))


def _browse(page: Path) -> None:
    command = [*_CHROMIUM, f"--user-data-dir={page.parent}/profile", page.as_uri()]
    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def _all(seat: DesktopController, times: int, page: Path) -> None:
    await seat.opener.open("galculator")
    await seat.opener.open("mousepad")
    if shutil.which(_CHROMIUM[0]):
        _browse(page)
        limit = seat.clock.now() + _PAGE_LIMIT_S
        while not any("bench" in window.title for window in seat.backend.windows.all()):
            if seat.clock.now() > limit:
                print("Chromium did not show the page; the scene goes on without it.")
                break
            await seat.backend.windows.changed(0.2)
    scene = Scene(seat, times)
    print(f"{'':<58} {'median':>9} {'p95':>9}")
    for part in (scene.eyes, scene.screen_reading, scene.hands, scene.settling, scene.typing):
        await part()


async def _main(times: int) -> int:
    with VirtualDesktop(1920, 1080) as virtual, tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        page = Path(home) / "page.html"
        page.write_text(f"<title>bench</title>{_PAGE}", encoding="utf-8")
        environment = virtual.environment | {"HOME": home}
        os.environ.update(environment)
        began = time.perf_counter()
        desktop = open_desktop(environment=environment)
        try:
            print(f"{'open the desktop':<58} {(time.perf_counter() - began) * 1000:9.1f}")
            await desktop.run(_all, times, page)
        finally:
            desktop.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)))
