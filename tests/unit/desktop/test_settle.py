"""Coming to rest, with a screen that is played from a script and a clock that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from app.base.facts import Came, Fact, Named, Remark
from app.base.geometry import Rect
from app.base.values import replace
from app.desktop.backends import Frame, Window
from app.desktop.capture import bounds_of, changed_tiles, part_of
from app.desktop.ocr.evidence import PixelEvidence
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
        watch = SettleWatch(lambda _: play(clock.seconds), _AREA, clock, is_mine)
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


class Reported:
    """Drawing that the system reports: at these seconds, in these areas."""

    def __init__(self, clock: PlayedTime, *drawn: tuple[float, Rect]) -> None:
        self._clock = clock
        self._drawn = list(drawn)
        self.at = 0.0

    def follow(self) -> Reported:
        return self

    async def more(self, limit_s: float) -> bool:
        until = self._clock.seconds + limit_s
        comes = self._drawn[0][0] if self._drawn else until
        self._clock.seconds = max(min(comes, until), self._clock.seconds)
        return comes < until

    def area(self) -> Rect | None:
        now = [drawn for drawn in self._drawn if drawn[0] <= self._clock.seconds]
        self._drawn = self._drawn[len(now) :]
        self.at = now[-1][0] if now else self.at
        return bounds_of([area for _, area in now])


@pytest.mark.parametrize(
    ("drawn", "looked_at", "until"),
    [
        ([(0.03, Rect(40, 4, 8, 8))], [Rect(32, 0, 16, 12)], 0.075),
        ([(0.03, Rect(40, 4, 8, 8)), (0.05, Rect(40, 4, 8, 8))], [Rect(32, 0, 16, 12)] * 2, 0.095),
        ([(0.03, Rect(40, 4, 2, 8))], [Rect(32, 0, 10, 12)], 0.12),
        ([], [_AREA], 0.12),
    ],
    ids=["once", "twice", "a caret", "nothing"],
)
def test_only_what_was_drawn_is_looked_at_and_quiet_counts_from_then(
    drawn: list[tuple[float, Rect]], looked_at: list[Rect], until: float
) -> None:
    clock, looks = PlayedTime(), []

    def grab(area: Rect) -> Frame:
        looks.append(area)
        shown = [
            Rect(place.x, place.y, place.width, 1 + int(clock.seconds * 100))
            for at, place in drawn
            if at <= clock.seconds
        ]
        return part_of(_picture(*shown), area)

    settled = asyncio.run(SettleWatch(grab, _AREA, clock, lambda _: False, Reported(clock, *drawn)).settle(_PATIENCE))
    assert (looks, round(clock.seconds, 3), settled.is_calm) == ([_AREA, *looked_at], until, True)
    assert settled.frame == grab(_AREA) or settled.changed


def test_a_screen_that_never_rests_is_left_at_the_limit(settle: Callable[..., tuple[Settled, float]]) -> None:
    def wild(at: float) -> Frame:
        step = int(at * 100)
        return Frame(_AREA, bytes((step * 37 + n // 64) % 256 for n in range(_AREA.size.area * 4)))

    settled, took = settle(wild)
    assert took <= 2.1
    assert settled.changed


_WINDOW = Window("w1", "Draw", "draw", _AREA, 7, is_active=True)
_NEW = Came((Named("", "b"),))
_TICK, _RING, _CURSOR = Rect(40, 20, 12, 12), Rect(30, 10, 26, 26), (Rect(4, 10, 6, 12), Rect(4, 24, 6, 12))
_RING_LINES = (Rect(30, 10, 26, 1), Rect(30, 35, 26, 1), Rect(30, 10, 1, 26), Rect(55, 10, 1, 26))


@pytest.mark.parametrize(
    ("blocks", "place", "is_terminal", "read", "told"),
    [
        ((_TICK,), Rect(60, 20, 30, 12), False, (), (Remark("A mark there changed."),)),
        ((_TICK,), Rect(60, 20, 30, 12), False, (_NEW,), (_NEW,)),
        ((_TICK, Rect(40, 44, 12, 12)), Rect(60, 20, 30, 12), False, (), (Remark("A mark there changed."),)),
        ((Rect(40, 2, 4, 4), Rect(40, 26, 4, 4)), Rect(60, 20, 30, 12), False, (), (Remark("A mark there changed."),)),
        # A frame around something only shows that it has the focus; typing has no place.
        (_RING_LINES, Rect(34, 14, 18, 18), False, (), ()),
        ((_TICK,), None, False, (), ()),
        (_CURSOR, None, True, (), (Remark("The cursor went to another line."),)),
        (_CURSOR[:1], None, True, (), ()),
        (_CURSOR, None, False, (), ()),
    ],
)
@pytest.mark.parametrize("is_restless", [False, True])
async def test_pixels_prove_no_more_than_they_show_and_nothing_where_they_change_by_themselves(
    blocks: tuple[Rect, ...],
    place: Rect | None,
    is_terminal: bool,
    read: tuple[Fact, ...],
    told: tuple[Fact, ...],
    is_restless: bool,
) -> None:
    async def texts_changed(*_: object) -> list[Fact]:
        return list(read)

    before, after = _picture(), _picture(*blocks)
    pixels = PixelEvidence(texts_changed, PlayedTime())
    pixels.note(Frame(Rect(0, 0, 200, 100), bytes(80_000)))
    pixels.begin(Frame(Rect(0, 0, 200, 100), bytes(80_000)))
    if is_restless:
        wide = Frame(Rect(0, 0, 128, 128), after.bgrx * 2)
        pixels.note(wide)
        pixels.begin(Frame(wide.area, before.bgrx * 2))
    changed = changed_tiles(before, after)
    window = replace(_WINDOW, app="xterm" if is_terminal else "editor")
    found = await pixels.of(window, before, after, changed, place)
    assert found == (() if is_restless else told)
    is_caret = is_terminal and len(changed) == 1  # which a terminal fills when it gets the keyboard
    assert pixels.may_tell(window, changed) is (is_caret or not is_restless)


@pytest.mark.parametrize(
    ("digit", "top", "height", "may_tell"),
    [
        (Rect(192, 64, 32, 32), 64, 32, False),
        (Rect(192, 64, 32, 32), 0, 32, True),
        (Rect(196, 72, 6, 6), 66, 13, False),
        (Rect(196, 72, 6, 6), 64, 30, True),
    ],
    ids=["its line", "another line", "a digit that changed in part", "more than a line"],
)
def test_a_clock_whose_text_gets_longer_is_one_still(digit: Rect, top: int, height: int, *, may_tell: bool) -> None:
    def tile(x: int, y: int) -> Rect:
        return Rect(x, y, 32, height)

    async def texts_changed(*_: object) -> list[Fact]:
        return []

    def picture(*tiles: Rect) -> Frame:
        shade = {(x, y) for one in tiles for x in range(one.x, one.right) for y in range(one.y, one.bottom)}
        rows = (b"\xff" * 4 if (x, y) in shade else bytes(4) for y in range(128) for x in range(256))
        return Frame(Rect(0, 0, 256, 128), b"".join(rows))

    pixels = PixelEvidence(texts_changed, PlayedTime())
    pixels.note(picture())
    pixels.begin(picture(digit))
    line = [tile(x, top) for x in (0, 32, 64, 96, 128, 160, 192)]
    assert pixels.may_tell(replace(_WINDOW, area=Rect(0, 0, 256, 128)), line) is may_tell


async def test_what_showed_before_a_new_beginning_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, frames = PlayedTime(), iter([_picture()])
    monkeypatch.setattr("app.desktop.verification.asyncio.sleep", clock.sleep)
    watch = SettleWatch(lambda _: next(frames, _picture(_TICK)), _AREA, clock, lambda _: False)
    await watch.begin_anew(_PATIENCE)
    assert (await watch.settle(_PATIENCE)).changed == ()
