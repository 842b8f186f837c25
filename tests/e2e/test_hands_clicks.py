"""Clicks land where they were meant, on one screen or two, whatever the size of the picture that was shown."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from Xlib.display import Display
from Xlib.ext import randr
from Xlib.protocol import rq

from app.desktop.api import Button
from app.desktop.capture import Budget
from app.desktop.choose import open_desktop
from app.desktop.eyes import Spot
from app.desktop.hands import Press
from app.desktop.seat import Seat
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.fixture_window import FixtureWindow
from tests.support.hands import Tools

_CLICKS = 125
_SIZES = ((1280, 800), (1920, 1080), (3840, 2160), (1001, 701))


@contextmanager
def _screen(width: int, height: int, **extra: str) -> Iterator[dict[str, str]]:
    with VirtualDesktop(width, height) as virtual:
        yield virtual.environment | extra


class _SetMonitor(rq.Request):
    """python-xlib's own `set_monitor` cannot pack its nested structure."""

    _request = rq.Struct(
        rq.Card8("opcode"),
        rq.Opcode(43),
        rq.RequestLength(),
        rq.Card32("window"),
        rq.Card32("name"),
        rq.Bool("primary"),
        rq.Bool("automatic"),
        rq.LengthOf("outputs", 2),
        rq.Int16("x"),
        rq.Int16("y"),
        rq.Card16("width"),
        rq.Card16("height"),
        rq.Card32("width_mm"),
        rq.Card32("height_mm"),
        rq.List("outputs", rq.Card32Obj),
    )


def _split(display_name: str) -> None:
    """Make two monitors of 800 pixels each of one wide screen."""
    display = Display(display_name)
    outputs = list(display.screen().root.xrandr_get_screen_resources().outputs)
    for number in range(2):
        name = display.intern_atom(f"monitor{number}")
        _SetMonitor(
            display=display.display, opcode=display.display.get_extension_major(randr.extname),
            window=display.screen().root.id, name=name, primary=number == 0, automatic=False,
            outputs=[] if number else outputs,
            x=800 * number, y=0, width=800, height=600, width_mm=200, height_mm=150,
        )  # fmt: skip
    display.sync()
    display.close()


async def _click(seat: Seat, spot: Spot) -> None:
    await seat.hands.click(seat.eyes.resolve(spot), Press(Button.LEFT))


async def _look(seat: Seat, monitor: int) -> tuple[str, int, int]:
    capture = await seat.eyes.capture(seat.region_of(monitor, ""), "screen", Budget())
    return capture.id, capture.geometry.sent.width, capture.geometry.sent.height


@pytest.mark.parametrize(("width", "height"), _SIZES)
async def test_random_points_of_a_capture_are_hit_within_a_pixel(width: int, height: int) -> None:
    with _screen(width, height) as environment:
        desktop = open_desktop(environment=environment)
        options = ("--at", "0,0", "--size", f"{width}x{height}", "--bare", "yes")
        try:
            with FixtureWindow("canvas", *options, environment=environment) as window:
                name, sent_width, sent_height = await desktop.run(_look, 0)
                dice, wanted = random.Random(width), []
                for _ in range(_CLICKS):
                    spot = Spot(dice.randrange(sent_width), dice.randrange(sent_height), capture=name)
                    wanted.append(((spot.x + 0.5) * width / sent_width, (spot.y + 0.5) * height / sent_height))
                    await desktop.run(_click, spot)
                    window.wait(lambda event: event["event"] == "release")
                hit = [(e["x"], e["y"]) for e in window.told if e["event"] in ("press", "double")]
        finally:
            desktop.close()
    assert len(hit) == _CLICKS
    far = [(w, h) for w, h in zip(wanted, hit, strict=True) if abs(w[0] - h[0]) > 1 or abs(w[1] - h[1]) > 1]
    assert far == []


@pytest.mark.parametrize("factor", ["1", "1.25", "2"])
async def test_a_program_that_scales_itself_is_hit_all_the_same(factor: str) -> None:
    with _screen(1280, 800, QT_SCALE_FACTOR=factor) as environment:
        desktop = open_desktop(environment=environment)
        try:
            with FixtureWindow("canvas", "--size", "400x300", "--at", "10,10", environment=environment) as window:
                dice = random.Random(7)
                left, top = window.ready["x"], window.ready["y"]
                for _ in range(20):
                    x = int(left + 5 + dice.random() * (window.ready["width"] - 12))
                    y = int(top + 5 + dice.random() * (window.ready["height"] - 12))
                    await desktop.run(_click, Spot(x, y, space="screen"))
                    hit = window.wait(lambda event: event["event"] in ("press", "double"))
                    assert (abs(hit["x"] - x) <= 1, abs(hit["y"] - y) <= 1) == (True, True)
                    window.wait(lambda event: event["event"] == "release")
        finally:
            desktop.close()


async def test_each_of_two_monitors_has_its_own_capture_and_points() -> None:
    with _screen(1600, 600) as environment:
        _split(environment["DISPLAY"])
        desktop = open_desktop(environment=environment)
        tools = Tools(desktop)
        try:
            with FixtureWindow("canvas", "--at", "900,100", "--size", "500x400", environment=environment) as window:
                shown = await tools("screen_capture", monitor=2)
                assert shown.payload["region"] == [800, 0, 800, 600]
                assert (shown.payload["width"], shown.payload["height"]) == (800, 600)
                await tools("computer_click", x=300, y=250)
                hit = window.wait(lambda event: event["event"] == "press")
                assert (hit["x"], hit["y"]) == (1100.0, 250.0)
        finally:
            desktop.close()
