"""Mouse and windows on GNOME and KDE, by the real command; the program and the desktop's own picture say what came."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.base.geometry import Point
from tests.contract.test_desktop_backends import patch_in
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.compositors import DESKTOPS, composited, is_installed, picture_of, with_extension
from tests.support.consent import answering
from tests.support.waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

_PATCH = Point(20, 30)
_LIMIT_S = 20.0
_BOARDS = Path(__file__).parents[1] / "support" / "boards.py"


@pytest.fixture(params=list(DESKTOPS))
def kind(request: pytest.FixtureRequest) -> str:
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed; scripts/setup portals brings it")
    return str(request.param)


@pytest.fixture
def screen(kind: str, tmp_path: Path) -> Iterator[Screen]:
    with composited(kind, tmp_path / "home", prepare=with_extension) as environment:
        yield Screen(environment, tmp_path / "home")


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    """Wisp, which the person lets see and use the screen."""
    with CoProcess(screen.environment) as process:
        with answering(screen.environment, allow=True):
            process("screen_capture")
        yield process


class Canvas:
    """A window that draws its own frame, and tells what reaches its content."""

    def __init__(self, screen: Screen, kind: str) -> None:
        self._screen, self._kind = screen, kind
        self._log, self._read = screen.home / "canvas.log", 0

    def told(self, count: int) -> list[str]:
        """Return the next events."""
        assert eventually(lambda: len(self._lines()) >= self._read + count, limit_s=_LIMIT_S), self._lines()
        self._read += count
        return self._lines()[self._read - count : self._read]

    def _lines(self) -> list[str]:
        return self._log.read_text().splitlines()

    def is_seen(self) -> bool:
        return patch_in(picture_of(self._kind, self._screen.environment)) is not None

    def origin(self) -> Point:
        """Return where its content begins on the screen."""
        assert eventually(self.is_seen)
        patch = patch_in(picture_of(self._kind, self._screen.environment))
        assert patch
        return Point(patch.x - _PATCH.x, patch.y - _PATCH.y)

    @contextmanager
    def shown(self) -> Iterator[None]:
        command = ["/usr/bin/python3", str(_BOARDS), "gtk3_canvas"]
        with self._log.open("w") as log, subprocess.Popen(command, env=self._screen.environment, stdout=log) as program:
            yield
            program.kill()


@pytest.fixture
def canvas(screen: Screen, kind: str) -> Iterator[Canvas]:
    made = Canvas(screen, kind)
    with made.shown():
        yield made


def test_presses_reach_the_place_that_is_seen(wisp: CoProcess, canvas: Canvas) -> None:
    dice = random.Random(1)
    left, top = canvas.origin().x, canvas.origin().y
    wisp("screen_capture")
    for _ in range(20):
        x, y = dice.randrange(500), dice.randrange(300)
        wisp("computer_click", x=left + x, y=top + y, space="screen")
        assert canvas.told(2) == [f"press 1 {x} {y}", f"release 1 {x} {y}"]
    wisp("computer_click", x=left + 250, y=top + 150, space="screen", button="right")
    assert canvas.told(2) == ["press 3 250 150", "release 3 250 150"]
    wisp("computer_click", x=left + 50, y=top + 150, space="screen", count=2)
    assert [one.split()[0] for one in canvas.told(5)] == ["press", "release", "press", "double", "release"]
    wisp("computer_drag", path=f"{left + 200},{top + 200} {left + 300},{top + 260}", space="screen")
    assert canvas.told(2) == ["press 1 200 200", "release 1 300 260"]
    wisp("computer_scroll", x=left + 250, y=top + 150, space="screen", dy=3)
    assert canvas.told(3) == ["scroll down 250 150"] * 3


def test_a_window_is_moved_put_away_brought_back_and_closed(wisp: CoProcess, canvas: Canvas) -> None:
    before = canvas.origin()
    wisp("move_window", title="Canvas", x=60, y=90)
    assert eventually(lambda: canvas.origin() != before)
    after = canvas.origin()
    wisp("minimise_window", title="Canvas")
    assert eventually(lambda: not canvas.is_seen())
    wisp("focus_window", title="Canvas")
    assert eventually(lambda: canvas.origin() == after)
    wisp("close_window", title="Canvas")
    assert eventually(lambda: not canvas.is_seen())
