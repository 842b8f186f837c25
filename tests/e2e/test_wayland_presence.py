"""The presence on sway, through XWayland: it shows above everything, answers at the compositor's keys, and hides."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.base.geometry import Point
from tests.e2e.conftest import ROOT, Screen
from tests.support.compositors import composited, is_installed
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually
from tests.support.wayland_person import WaylandPerson, person_at

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_installed("sway"), reason="sway is not installed; scripts/setup all brings it"),
]
_WISP = shlex.join(["env", "-C", str(ROOT), sys.executable, "-m", "app"])
_KEYS = f"bindsym Ctrl+Alt+space exec {_WISP} presence toggle\nbindsym Ctrl+Alt+Escape exec {_WISP} stop\n"
_SUMMON, _STOP = ("Control_L", "Alt_L", "space"), ("Control_L", "Alt_L", "Escape")
_ORB = Point(1240, 756)
"""Where the orb lies at a first start: at the lower right of the screen."""
_STOPPED_S = 5.0
_CALLS, _LINES = 4, 200
_HANDED_OVER_S = 0.5
"""So long sway may take to give the bubble the keys: it tells nobody when it has."""


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    for name in ("WISP_DATA_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)  # because the compositor starts Wisp as well, with what it has
    home = tmp_path / "home"
    with composited("sway", home, sway=_KEYS) as environment:
        (home / ".config" / "wisp").mkdir(parents=True)
        (home / ".config" / "wisp" / "welcomed").touch()
        yield Screen(environment, home)


@pytest.fixture
def person(screen: Screen) -> Iterator[WaylandPerson]:
    with person_at(screen.environment) as found:
        yield found


@contextmanager
def _running(screen: Screen, *command: str) -> Iterator[None]:
    program = subprocess.Popen(command, env=screen.environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        program.terminate()
        program.wait()


@contextmanager
def _editor(screen: Screen) -> Iterator[None]:
    with _running(screen, "mousepad"):
        assert eventually(lambda: observe("mousepad", screen.environment, deepest=1))
        yield


def _fill_screen(screen: Screen, how: str) -> None:
    subprocess.run(["swaymsg", "-q", "fullscreen", how], env=screen.environment, check=True)


def _has_keyboard(screen: Screen) -> bool:
    """Return whether the bubble has the keyboard, by its own note for every Wisp on the display."""
    asked = ["xprop", "-root", "_WISP_KEYBOARD"]
    told = subprocess.run(asked, env=screen.environment, capture_output=True, text=True, check=False).stdout
    return "0x" in told and not told.strip().endswith("0x0")


def _types(screen: Screen, person: WaylandPerson, text: str) -> bool:
    """Type, and return whether the editor gets it."""
    person.type(text)
    return eventually(lambda: text_of("mousepad", environment=screen.environment).endswith(text))


def _is_called(screen: Screen, person: WaylandPerson) -> bool:
    """Press the key and wait: a presence that has only just painted its orb does not hear of it yet."""
    for _ in range(_CALLS):
        person.press(*_SUMMON)
        if eventually(lambda: _has_keyboard(screen), limit_s=10):
            time.sleep(_HANDED_OVER_S)
            return True
    return False


def _calculator_shows(screen: Screen, number: str) -> bool:
    return eventually(lambda: any((one.text or "") == number for one in observe("galculator", screen.environment)))


def test_the_presence_answers_at_its_key_and_gives_the_keyboard_back(screen: Screen, person: WaylandPerson) -> None:
    with _editor(screen):
        assert _types(screen, person, "Mine")
        _fill_screen(screen, "enable")
        bare = person.sees(_ORB)
        with _running(screen, sys.executable, "-m", "app"):
            assert eventually(lambda: person.sees(_ORB) != bare), "no orb lies above a fullscreen program"
            assert _types(screen, person, " still")
            assert _is_called(screen, person)
            person.press("Escape")
            assert eventually(lambda: not _has_keyboard(screen))
            assert _types(screen, person, " mine")
            _fill_screen(screen, "disable")
            assert _is_called(screen, person)
            person.type("open the calculator and type 12*7=")
            person.press("Return")
            assert _calculator_shows(screen, "84")
            assert text_of("mousepad", environment=screen.environment).rstrip("\n") == "Mine still mine"


def test_no_picture_shows_the_presence_while_it_is_drawn_back(screen: Screen, person: WaylandPerson) -> None:
    command = [sys.executable, "-m", "tests.support.hidden_orb"]
    pipe, bare = subprocess.PIPE, person.sees(_ORB)
    with subprocess.Popen(
        command, env=screen.environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1
    ) as orb:
        assert orb.stdin and orb.stdout
        try:
            at = Point(*map(int, orb.stdout.readline().split()))
            assert eventually(lambda: person.sees(at) != bare)
            orb.stdin.write("hide\n")
            assert (orb.stdout.readline().split(), person.sees(at)) == (["hidden", "True"], bare)
            orb.stdin.write("show\n")
            assert orb.stdout.readline() and eventually(lambda: person.sees(at) != bare)
            orb.stdin.write("end\n")
        finally:
            orb.stdin.close()


def test_the_stop_key_of_the_compositor_stops_a_typing(screen: Screen, person: WaylandPerson) -> None:
    def text() -> str:
        return text_of("mousepad", environment=screen.environment)

    lines = "".join(f"<computer_type>line {number} </computer_type>" for number in range(_LINES))
    with _editor(screen), screen.start("tool", lines) as typing:
        try:
            assert eventually(lambda: "line 3" in text())
            person.press(*_STOP)
            assert typing.wait(timeout=_STOPPED_S) == 130
            assert f"line {_LINES - 1}" not in text()
        finally:
            typing.kill()
    assert screen.wisp("stop").stdout == "Nothing was stopped: no Wisp works on this display.\n"
