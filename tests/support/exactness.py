"""Random clicks and random texts told to the real `wisp tool`, judged by the fixture window that got them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.co_process import CoProcess
from tests.support.fixture_window import FixtureWindow
from tests.support.monitors import split

_TYPED_LIMIT_S = 45.0
_POOLS = (
    "abcdefgXYZ 0123456789!@#$%^&*()_+-=[]{}|;:'\",./<>?\\`~",
    "éèüößñçåøłžşğı€£§",
    "привет мир ЁЖЩъ",
    "日本語漢字テスト한국어",
    "שלום עולם مرحبا",
    "🚀👩‍👩‍👧🏽🇩🇪é̈✓→—“”…",
    "\n\t",
)


@dataclass(frozen=True)
class Field:
    """A screen to click on: `monitors` of `width` x `height` pixels side by side, its program scaled by `factor`."""

    width: int
    height: int
    factor: float = 1
    monitors: int = 1

    def __str__(self) -> str:
        beside = f"{self.monitors} monitors of " if self.monitors > 1 else ""
        return f"{beside}{self.width}x{self.height}, scale {self.factor:g}"


@dataclass(frozen=True)
class Shot:
    """Where a click was meant to land and where it did, in screen pixels."""

    wanted: tuple[float, float]
    hit: tuple[float, float]

    @property
    def miss_px(self) -> float:
        return max(abs(self.wanted[0] - self.hit[0]), abs(self.wanted[1] - self.hit[1]))


FIELDS = (
    Field(1280, 800), Field(1920, 1080), Field(3840, 2160), Field(1001, 701),
    Field(1280, 800, factor=1.25), Field(1280, 800, factor=2), Field(1920, 1080, factor=2),
    Field(800, 600, monitors=2), Field(1000, 700, factor=1.25, monitors=2),
)  # fmt: skip


def shots(field: Field, count: int) -> Iterator[Shot]:
    """Random points of the newest capture, of each monitor in turn, and what the window that fills the screen got."""
    dice = random.Random(f"{field} {count}")
    whole = field.width * field.monitors
    with VirtualDesktop(whole, field.height) as virtual:
        if field.monitors > 1:
            split(virtual.environment["DISPLAY"], field.width, field.height)
        scaled = virtual.environment | {"QT_SCALE_FACTOR": f"{field.factor:g}"}
        size = f"{round(whole / field.factor)}x{round(field.height / field.factor)}"
        window_options = ("--at", "0,0", "--size", size, "--bare", "yes")
        with (
            FixtureWindow("canvas", *window_options, environment=scaled) as window,
            CoProcess(virtual.environment) as wisp,
        ):
            for number in range(count):
                yield _shot(wisp, window, dice, number % field.monitors + 1 if field.monitors > 1 else 0)


def _shot(wisp: CoProcess, window: FixtureWindow, dice: random.Random, monitor: int) -> Shot:
    seen = wisp("screen_capture", monitor=monitor)["payload"]
    left, top, width, height = seen["region"]
    x, y = dice.randrange(seen["width"]), dice.randrange(seen["height"])
    wisp("computer_click", x=x, y=y)
    hit = window.wait(lambda event: event["event"] in ("press", "double"))
    window.wait(lambda event: event["event"] == "release")
    wanted = (left + (x + 0.5) * width / seen["width"], top + (y + 0.5) * height / seen["height"])
    return Shot(wanted, (hit["x"] + 0.5, hit["y"] + 0.5))


@contextmanager
def page(environment: Mapping[str, str], layout: str) -> Iterator[tuple[CoProcess, FixtureWindow]]:
    """An empty text field that has the keyboard, under a keyboard layout, and the command to write into it."""
    subprocess.run(["setxkbmap", layout], env=dict(environment), check=True, timeout=10)
    with FixtureWindow("text", environment=environment) as window, CoProcess(environment) as wisp:
        yield wisp, window


def toggle_caps(environment: Mapping[str, str]) -> None:
    """Caps lock, pressed by the person."""
    subprocess.run(["xdotool", "key", "Caps_Lock"], env=dict(environment), check=True, timeout=10)


def random_text(seed: int) -> str:
    """Up to 40 characters of every script, with emoji, combining marks, line breaks and tabs."""
    dice = random.Random(seed)
    return "".join(dice.choice(dice.choice(_POOLS)) for _ in range(dice.randint(1, 40)))


def is_exact(wisp: CoProcess, window: FixtureWindow, text: str) -> bool:
    """Type into the emptied field, and see whether it holds just that."""
    window.forget()
    wisp("computer_type", text=text)
    try:
        window.wait(lambda event: event["event"] == "text" and event["text"] == text, limit_s=_TYPED_LIMIT_S)
    except AssertionError:
        return False
    return True
