"""Coming to rest, with a screen that is played from a script and a clock that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.verification import Patience, Settled, SettleWatch

_AREA = Rect(0, 0, 128, 64)
_PATIENCE = Patience(first_s=0.12, quiet_s=0.045, limit_s=2.0, poll_s=0.01)


class PlayedTime:
    """Sleeping moves this clock on instead."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def _picture(*blocks: Rect) -> Frame:
    pixels = bytearray(_AREA.size.area * 4)
    for block in blocks:
        for y in range(block.y, block.bottom):
            at = (y * _AREA.width + block.x) * 4
            pixels[at : at + block.width * 4] = b"\xff\xff\xff\x00" * block.width
    return Frame(_AREA, bytes(pixels))


@pytest.fixture
def settle(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[float], Frame]], tuple[Settled, float]]:
    def run(play: Callable[[float], Frame], is_mine: Callable[[Rect], bool] = lambda _: False) -> tuple[Settled, float]:
        clock = PlayedTime()
        monkeypatch.setattr("app.desktop.verification.asyncio.sleep", clock.sleep)
        watch = SettleWatch(lambda: play(clock.seconds), clock, is_mine)
        return asyncio.run(watch.settle(_PATIENCE)), clock.seconds

    return run


def test_a_screen_on_which_nothing_happens_is_left_soon(settle: Callable[..., tuple[Settled, float]]) -> None:
    settled, took = settle(lambda _: _picture())
    assert (settled.changed, settled.is_calm) == ((), True)
    assert took < 0.15


def test_a_change_is_waited_for_until_it_is_over(settle: Callable[..., tuple[Settled, float]]) -> None:
    def growing(at: float) -> Frame:
        return _picture(Rect(0, 0, 8 + min(int(at * 1000 + 0.5), 100), 40))

    settled, took = settle(growing)
    assert settled.frame == _picture(Rect(0, 0, 108, 40))
    assert settled.is_calm
    assert 0.1 <= took < 0.2


def test_a_blinking_caret_does_not_hold_it(settle: Callable[..., tuple[Settled, float]]) -> None:
    settled, took = settle(lambda at: _picture(Rect(10, 10, 2, 16)) if int(at * 50) % 2 else _picture())
    assert settled.is_calm
    assert took < 0.15


def test_a_spinner_does_not_hold_it_to_the_limit(settle: Callable[..., tuple[Settled, float]]) -> None:
    settled, took = settle(lambda at: _picture(Rect(40 + int(at * 100) % 16, 10, 12, 12)))
    assert settled.is_calm
    assert took < 0.5


def test_our_own_windows_are_no_change(settle: Callable[..., tuple[Settled, float]]) -> None:
    settled, took = settle(lambda at: _picture(Rect(int(at * 100), 0, 20, 20)), lambda tile: tile.y < 32)
    assert (settled.changed, settled.is_calm) == ((), True)
    assert took < 0.15


def test_a_screen_that_never_rests_is_left_at_the_limit(settle: Callable[..., tuple[Settled, float]]) -> None:
    def wild(at: float) -> Frame:
        step = int(at * 100)
        return Frame(_AREA, bytes((step * 37 + n // 64) % 256 for n in range(_AREA.size.area * 4)))

    settled, took = settle(wild)
    assert took <= 2.1
    assert settled.changed
