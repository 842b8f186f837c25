"""What seeing and acting cost, as a program that drives `wisp tool` pays for it: `.venv/bin/python scripts/bench`.

One run on a private desktop of 1920x1080 with galculator, mousepad and Chromium with a page of 300 elements. Each row
is a median and a 95th percentile, beside what the same machine needs at the very least (`floor`), measured in the same
run, and the aim. `shown` and `exact` say how often the picture showed the effect and the text was there when the call
was back. Exit code 1 where one did not. The name of another measurement as first argument runs that one: `scripts/bench
presence --help`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import compileall
import io
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from PIL import Image, ImageChops, ImageStat
from Xlib import X
from Xlib.display import Display
from Xlib.ext import damage, xtest

from app.base.geometry import Rect
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.atspi import AtSpi
from app.desktop.accessibility.bus import Bus
from app.desktop.elements import Element
from scripts.bench import parser, stop
from scripts.bench.scene import ready, scene
from tests.support.co_process import CoProcess
from tests.support.fixture_window import FixtureWindow

_PARTS = ("acts", "typing", "looks", "start", "memory", "idle", "parser", "stop")
_ROOT = Path(__file__).resolve().parents[2]
_ASCII = ("The quick <brown> fox & 12 jumps; over {the} lazy dog! " * 4)[:200]
_SCRIPTS = ("é ü ß привет Ωμέγα 日本語 שלום مرحبا 🚀 한국 " * 2)[:40]
_PAGE_KINDS = ("Link number", "Button", "Check")
_ELEMENTS = 300
_TREES = (
    ("galculator", 15, "full", "7 key"),
    ("mousepad", 20, "full", "Search menu"),
    ("Three hundred", 120, "page", "Link number 3"),
)
"""Windows, what reading one may take, the view, and what is in it."""
_LOOKS = 200
_STARTS = 9
_REST_S = 0.3
_IDLE_S = 60.0
_ALIKE = 3.0
"""Of 255, the mean difference between two JPEGs of one sight."""
_JUDGED = "The policy looks at the control under the point and the press is hit-tested, which no receipt can spare."
_KEPT = "Two pictures stay unpacked to compare with. Freed ones stay for the next: giving them back costs it 35 ms."
_READ_BACK = "The policy reads the field first, and the receipt reads it back: about 70 calls of the accessibility bus."
_BOXES = "The cache of a program holds no boxes: each control that is listed is asked for its own."
_HANDLED = "After each part the program must have handled its keys, or the rest could land elsewhere."
_WALKED = "Python looks once through each chunk for what may begin a call; the floor only keeps it."
_LOADED = "Wisp's own modules, the X server's and the accessibility bus's connections; Pillow for the first picture."
_FAR = 3.0
"""A row that takes more than so many times its floor says why."""
_CHUNK = 16
_MIB = 2**20
_MB = 4


@dataclass
class Row:
    """Milliseconds unless `unit` says otherwise; `good` of `of` trials did what they were for."""

    name: str
    took: list[float] = field(default_factory=list)
    aim: float = 0.0
    floor: float = 0.0
    unit: str = "ms"
    good: int = 0
    of: int = 0
    word: str = ""
    is_at_least: bool = False
    why: str = ""
    """What a row that takes more than its aim, or more than three times its floor, spends the time on."""

    def __str__(self) -> str:
        took = sorted(self.took)
        worst = took[min(int(len(took) * 0.95), len(took) - 1)]
        median = statistics.median(took)
        times = self.floor / median if self.is_at_least else median / (self.floor or 1)
        floor = f"{self.floor:8.1f} {times:5.1f}x" if self.floor else f"{'':8} {'':6}"
        is_met = not self.aim or (median >= self.aim if self.is_at_least else median <= self.aim)
        aim = f"{'>=' if self.is_at_least else '<='} {self.aim:g}{'' if is_met else ' MISSED'}" if self.aim else ""
        shown = f"  {self.good} of {self.of} {self.word}" if self.of else ""
        is_far = bool(self.floor) and times > _FAR
        why = f"\n    {self.why}" if self.why and (is_far or not is_met) else ""
        return f"{self.name:<46}{median:9.1f}{worst:9.1f} {self.unit:<5}{floor}  {aim}{shown}{why}"


class Table:
    """The desktop of the scene, `wisp tool` on it, and what judges them; prints each row as it is measured."""

    def __init__(self, environment: Mapping[str, str], times: int) -> None:
        self.environment = environment
        self.times = times
        self.tree = AtSpi(environment)
        self.bus = Bus(environment)
        self.display = Display(environment["DISPLAY"])
        self.has_failed = False

    def say(self, row: Row) -> None:
        self.has_failed |= row.good < row.of
        print(row, flush=True)

    async def element(self, name: str) -> Element:
        return (await self.tree.find(name))[0].element

    def grab(self) -> Image.Image:
        root = self.display.screen().root
        raw = root.get_image(0, 0, 1920, 1080, X.ZPixmap, 0xFFFFFFFF)
        return Image.frombuffer("RGB", (1920, 1080), raw.data, "raw", "BGRX", 0, 1)

    # --- floors

    def click_floor(self, box: Rect) -> float:
        """From a button's press and release by XTEST to the first thing drawn for it."""
        display, root = self.display, self.display.screen().root
        display.damage_query_version()
        watching = root.damage_create(damage.DamageReportRawRectangles)
        took = []
        for _ in range(self.times):
            xtest.fake_input(display, X.MotionNotify, x=box.center.x, y=box.center.y)
            display.sync()
            time.sleep(_REST_S)
            while display.pending_events():
                display.next_event()
            began = time.perf_counter()
            xtest.fake_input(display, X.ButtonPress, 1)
            xtest.fake_input(display, X.ButtonRelease, 1)
            display.sync()
            display.next_event()
            took.append((time.perf_counter() - began) * 1000)
        display.damage_destroy(watching)
        display.sync()
        while display.pending_events():
            display.next_event()
        return statistics.median(took)

    def keys_floor(self, window: FixtureWindow) -> float:
        """200 keys by XTEST until a field holds as many characters."""
        display = self.display
        code = display.keysym_to_keycode(ord("a"))
        took = []
        for _ in range(5):
            window.forget()
            began = time.perf_counter()
            for _ in range(200):
                xtest.fake_input(display, X.KeyPress, code)
                xtest.fake_input(display, X.KeyRelease, code)
            display.sync()
            window.wait(lambda event: event["event"] == "text" and len(event["text"]) == 200)
            took.append((time.perf_counter() - began) * 1000)
        return statistics.median(took)

    async def items_floor(self, pid: int) -> float:
        """One Cache.GetItems of a process's program."""
        name = next(iter(self.tree._surveyor.names_of(pid)))
        took = []
        for _ in range(self.times):
            began = time.perf_counter()
            await self.bus.call(name, "/org/a11y/atspi/cache", "org.a11y.atspi.Cache", "GetItems")
            took.append((time.perf_counter() - began) * 1000)
        return statistics.median(took)

    async def insert_floor(self, text: str) -> float:
        """One SetTextContents of a field, and its text."""
        key = self.tree._refs.key_of((await self.field()).ref)
        took = []
        for _ in range(self.times):
            began = time.perf_counter()
            await self.bus.call(*key, spi.EDITABLE, "SetTextContents", "s", text)
            await self.bus.call(*key, spi.TEXT, "GetText", "ii", 0, len(text))
            took.append((time.perf_counter() - began) * 1000)
        return statistics.median(took)

    async def field(self) -> Element:
        found = await self.tree.focused()
        assert found, "nothing has the keyboard"
        return found

    # --- rows

    async def acts(self, wisp: CoProcess) -> None:
        wisp("focus_window", title="galculator")
        seven, clear = await self.element("7 key"), await self.element("AC")
        floor = self.click_floor(seven.box)
        wisp("screen_capture")  # what is there now counts as seen
        spots = (seven.box.center, clear.box.center)
        at = [{"x": spot.x, "y": spot.y, "space": "screen"} for spot in spots]
        row = Row("click at x,y with its receipt", aim=30, floor=floor, word="confirmed", why=_JUDGED)
        self._clicked(row, wisp, at)
        self._clicked(
            Row("the same, blind", aim=6, floor=floor, why=_JUDGED), wisp, [one | {"receipt": "none"} for one in at]
        )
        row = Row(
            "find by name and click, one call",
            aim=50,
            floor=floor,
            word="confirmed",
            why=f"{_JUDGED} The name is looked up.",
        )
        self._clicked(row, wisp, [{"target": "7"}, {"target": "AC"}])
        same = Row(
            "click at x,y, the same spot again at once",
            floor=floor,
            word="confirmed",
            why="It waits out the toolkit's time for a double click, so that two clicks stay two.",
        )
        self._clicked(same, wisp, at[:1], before=(at[1], at[0]))  # cleared, because the display takes 12 digits
        wisp("computer_click", at[1])
        self._stepped(wisp, at, seven.box, floor)

    def _clicked(
        self, row: Row, wisp: CoProcess, at: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        for number in range(self.times + 1):
            for one in before:
                wisp("computer_click", one)
            began = time.perf_counter()
            answer = wisp("computer_click", at[number % len(at)])
            if number:
                row.took.append((time.perf_counter() - began) * 1000)
                row.of += bool(row.word)
                row.good += bool(row.word) and answer["payload"]["proof"] == "confirmed"
        self.say(row)

    def _stepped(self, wisp: CoProcess, at: Sequence[Mapping[str, Any]], seven: Rect, floor: float) -> None:
        """A click, and a picture in which the calculator shows what it did: as it shows a while later."""
        row = Row(
            "step: click, and the picture of its effect",
            aim=70,
            floor=floor,
            word="shown",
            why="The calculator draws for 40 ms after its effect, and the picture waits until it rests.",
        )
        window = next(w for w in wisp("list_windows")["payload"]["windows"] if "alculator" in w["title"])
        shows = Rect(window["x"], window["y"], window["width"], seven.y - window["y"])
        before = self._part(_picture(wisp("screen_capture")), shows)
        for number in range(self.times + 1):
            began = time.perf_counter()
            wisp("computer_click", at[number % 2])
            seen = wisp("screen_capture")
            took = (time.perf_counter() - began) * 1000
            time.sleep(_REST_S)
            now, later = self._part(_picture(seen), shows), self._part(_picture(wisp("screen_capture")), shows)
            if number:
                row.took.append(took)
                row.of += 1
                row.good += _differ(now, later) * 4 < _differ(before, later)
            before = later
        self.say(row)

    def _part(self, picture: Image.Image, area: Rect) -> Image.Image:
        factor = picture.width / 1920
        return picture.crop(tuple(round(edge * factor) for edge in (area.x, area.y, area.right, area.bottom)))

    async def typing(self, wisp: CoProcess) -> None:
        wisp("focus_window", title="mousepad")
        await self._typed(wisp, Row("200 ASCII characters into a known field", aim=30), _ASCII)
        await self._typed(wisp, Row("40 characters of six scripts", aim=35), _SCRIPTS)
        bare = {name: value for name, value in self.environment.items() if not name.startswith(("DBUS", "AT_SPI"))}
        with FixtureWindow("text", environment=bare) as window:
            row = Row(
                "200 ASCII characters by keys", aim=120, floor=self.keys_floor(window), word="exact", why=_HANDLED
            )
            for number in range(self.times + 1):
                window.forget()
                began = time.perf_counter()
                wisp("computer_type", text=_ASCII)
                took = (time.perf_counter() - began) * 1000
                told = [event["text"] for event in window.quiet() if event["event"] == "text"]
                if number:
                    row.took.append(took)
                    row.of += 1
                    row.good += told[-1:] == [_ASCII]
            self.say(row)

    async def _typed(self, wisp: CoProcess, row: Row, text: str) -> None:
        row.word, row.floor, row.why = "exact", await self.insert_floor(text), _READ_BACK
        ref = (await self.field()).ref
        for number in range(self.times + 1):
            await self.tree.set_value(ref, "")
            await asyncio.sleep(_REST_S)
            began = time.perf_counter()
            wisp("computer_type", text=text)
            took = (time.perf_counter() - began) * 1000
            if number:
                row.took.append(took)
                row.of += 1
                row.good += await self.tree.text_of(ref) == text
        self.say(row)

    async def looks(self, wisp: CoProcess) -> None:
        shot = Row("screenshot to base64", aim=15, floor=self._grab_floor())
        for number in range(self.times + 1):
            began = time.perf_counter()
            wisp("screen_capture")
            if number:
                shot.took.append((time.perf_counter() - began) * 1000)
        self.say(shot)
        for title, aim, view, inside in _TREES:
            floor = await self.items_floor((await self.element(inside)).pid)
            row = Row(f"tree of {title}", aim=aim, floor=floor, why=_BOXES)
            for number in range(self.times + 1):
                began = time.perf_counter()
                answer = wisp("read_screen", window=title, view=view, budget=20_000)
                if number:
                    row.took.append((time.perf_counter() - began) * 1000)
            if view == "page":
                row.of, row.word = _ELEMENTS, "listed"
                row.good = sum(f'"{kind} {n}"' in answer["echo"] for kind in _PAGE_KINDS for n in range(100))
            self.say(row)

    def _grab_floor(self) -> float:
        took = []
        for _ in range(self.times):
            began = time.perf_counter()
            self.grab()
            took.append((time.perf_counter() - began) * 1000)
        return statistics.median(took)

    def start(self) -> None:
        # As `scripts/setup` does: what was changed since would be compiled anew at each start.
        compileall.compile_dir(_ROOT / "app", quiet=1, workers=0)
        first, seen = (
            Row("start to the first answer", aim=350, why=_LOADED),
            Row("start to the first picture", aim=500, why=_LOADED),
        )
        bare = []
        for number in range(_STARTS + 1):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import asyncio, json"], check=True)
            bare.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            with CoProcess(self.environment, options=("--pictures", "inline")) as wisp:
                wisp("list_windows")
                answered = (time.perf_counter() - began) * 1000
                wisp("screen_capture")
                pictured = (time.perf_counter() - began) * 1000
            if number:
                first.took.append(answered)
                seen.took.append(pictured)
        first.floor = seen.floor = statistics.median(bare)
        self.say(first)
        self.say(seen)

    def memory(self, wisp: CoProcess) -> None:
        """What a process holds that only looked, and the one that has done the whole scene."""
        with _wisp(self.environment) as looker:
            for _ in range(_LOOKS):
                looker("screen_capture")
            held = psutil.Process(looker.pid).memory_full_info()
        name = f"memory after {_LOOKS} looks"
        self.say(Row(name, [held.rss / _MIB], aim=110, unit="MB", why=_KEPT))
        self.say(Row(f"{name}, without shared pages", [held.uss / _MIB], unit="MB"))
        self.say(Row("memory after the whole scene", [psutil.Process(wisp.pid).memory_info().rss / _MIB], unit="MB"))

    def idle(self, wisp: CoProcess) -> None:
        before = _cpu_s(wisp.pid)
        time.sleep(_IDLE_S)
        share = (_cpu_s(wisp.pid) - before) / _IDLE_S * 100
        self.say(Row(f"processor while idle for {_IDLE_S:g} s", [share], aim=0.1, unit="%"))


def _picture(answer: Mapping[str, Any]) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(answer["media"][0]["data"]))).convert("L")


def _differ(one: Image.Image, other: Image.Image) -> float:
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).sum) / (one.width * one.height)


def _cpu_s(pid: int) -> float:
    """Processor time in seconds, with that of threads that ended: proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Kept(list[str]):
    """The least that a reader can do: keep each chunk and join them in the end."""

    def feed(self, text: str) -> None:
        self.append(text)

    def flush(self) -> str:
        return "".join(self)


def _parse() -> Iterator[Row]:
    for name, (text, make) in parser.MESSAGES.items():
        message = text(_MB * 1_000_000)
        speeds = [_MB / parser.seconds(make, message, _CHUNK) for _ in range(5)]
        floor = max(_MB / parser.seconds(_Kept, message, _CHUNK) for _ in range(5))
        yield Row(f"{name}, {_CHUNK} characters a chunk", speeds, 20, floor, "MB/s", is_at_least=True, why=_WALKED)


def _stops(trials: int) -> Iterator[Row]:
    for is_busy in (False, True):
        seen = asyncio.run(stop.trials(trials, is_busy=is_busy))
        late = sorted(float(one.late_ms) for kind in seen.values() for one in kind)
        state = "loaded" if is_busy else "idle"
        yield Row(f"stop key, median of {len(late)}, {state}", late, aim=50)
        yield Row(f"stop key, p99, {state}", [late[int(len(late) * 0.99)]], aim=50)
        yield Row(f"stop key, worst, {state}", [late[-1]], aim=50)


@contextmanager
def _wisp(environment: Mapping[str, str]) -> Iterator[CoProcess]:
    with CoProcess(environment, options=("--pictures", "inline")) as wisp:
        wisp("screen_capture")
        yield wisp


async def _on_the_scene(parts: Sequence[str], environment: Mapping[str, str], times: int) -> bool:
    table = Table(environment, times)
    await ready(table.tree)
    with ExitStack() as stack:
        wisp = stack.enter_context(_wisp(environment))
        for part in parts:
            if part in ("acts", "typing", "looks"):
                await getattr(table, part)(wisp)
            elif part == "start":
                table.start()
            elif part in ("memory", "idle"):
                getattr(table, part)(wisp)
    await table.tree.close()
    await table.bus.close()
    return table.has_failed


def _main() -> int:
    if len(sys.argv) > 1 and sys.argv[1].isidentifier():
        runpy.run_module(f"scripts.bench.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
        return 0
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS, help=f"of {' '.join(_PARTS)}")
    told.add_argument("--repeat", type=int, default=25, help="trials of each row; 25")
    told.add_argument("--stops", type=int, default=200, help="trials of the stop key, idle and loaded; 200 each")
    options = told.parse_args()
    print(f"{'':<46}{'median':>9}{'p95':>9} {'':<5}{'floor':>8} {'':>6}  aim", flush=True)
    has_failed = False
    on_scene = [part for part in _PARTS[:6] if part in options.only]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ.update({"HOME": home, "WISP_DATA_DIR": home})
        if on_scene:
            with scene() as environment:
                has_failed = asyncio.run(_on_the_scene(on_scene, environment, options.repeat))
        for part, rows in (("parser", _parse), ("stop", lambda: _stops(options.stops))):
            for row in rows() if part in options.only else ():  # type: ignore[operator]
                print(row, flush=True)
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(_main())
