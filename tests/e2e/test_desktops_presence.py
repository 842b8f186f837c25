"""The presence on GNOME and KDE, through XWayland: it answers at its key, gives the keyboard back, and hides."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.base.geometry import Point
from tests.e2e.conftest import ROOT, Screen
from tests.support.compositors import composited, inside, is_installed, with_extension
from tests.support.consent import answering
from tests.support.desktop_person import DesktopPerson, person_at_desktop
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

_SUMMON, _STOP = ("Control_L", "Alt_L", "space"), ("Control_L", "Alt_L", "Escape")
_ORB, _EDITOR = Point(1240, 756), Point(500, 500)
_CALLS, _LINES = 4, 200
_STOPPED_S = 5.0
_HANDED_OVER_S = 0.5
_LIMIT_S = 90.0


def _desktop(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.skipif(not is_installed(name), reason=f"{name} is not installed"))


@pytest.fixture(params=[_desktop("gnome"), _desktop("kwin")])
def screen(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    for name in ("WISP_DATA_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    with composited(request.param, home, prepare=with_extension) as environment:
        (home / ".config" / "wisp").mkdir(parents=True, exist_ok=True)
        (home / ".config" / "wisp" / "welcomed").touch()
        yield Screen(environment, home)


@pytest.fixture
def person(screen: Screen) -> Iterator[DesktopPerson]:
    with person_at_desktop(screen.environment) as found:
        yield found


@contextmanager
def _running(screen: Screen, *command: str) -> Iterator[None]:
    program = subprocess.Popen(command, env=screen.environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        program.terminate()
        program.wait()


@pytest.fixture
def editor(screen: Screen) -> Iterator[None]:
    with _running(screen, *inside("mousepad")):
        assert eventually(
            lambda: any(one.role == "frame" for one in observe("mousepad", screen.environment, deepest=1))
        )
        time.sleep(_HANDED_OVER_S)
        yield


def _text(screen: Screen) -> str:
    return text_of("mousepad", environment=screen.environment)


def _types(screen: Screen, person: DesktopPerson, text: str) -> bool:
    """Type, and return whether the editor gets it."""
    person.type(text)
    return eventually(lambda: _text(screen).endswith(text), limit_s=10)


def _has_keyboard(screen: Screen) -> bool:
    """Return whether the bubble has the keyboard, by its own note for every Wisp on the display."""
    asked = ["xprop", "-root", "_WISP_KEYBOARD"]
    told = subprocess.run(asked, env=screen.environment, capture_output=True, text=True, check=False).stdout
    return "0x" in told and not told.strip().endswith("0x0")


def _is_called(screen: Screen, person: DesktopPerson) -> bool:
    """Press the key and wait: a presence that has only just painted its orb does not hear of it yet."""
    for _ in range(_CALLS):
        person.press(*_SUMMON)
        if eventually(lambda: _has_keyboard(screen), limit_s=10):
            time.sleep(_HANDED_OVER_S)
            return True
    return False


def _calculator_shows(screen: Screen, number: str) -> bool:
    return any((one.text or "") == number for one in observe("galculator", screen.environment))


def test_the_presence_answers_at_its_key_and_gives_the_keyboard_back(
    screen: Screen, person: DesktopPerson, editor: None
) -> None:
    assert _types(screen, person, "Mine")
    person.press("F11")  # fills the screen
    time.sleep(1)
    bare = person.sees(_ORB)
    with _running(screen, sys.executable, "-m", "app"):
        assert eventually(lambda: person.sees(_ORB) != bare), "no orb lies above a fullscreen program"
        assert _types(screen, person, " still")
        assert _is_called(screen, person)
        person.press("Escape")
        assert eventually(lambda: not _has_keyboard(screen))
        time.sleep(_HANDED_OVER_S)
        assert _types(screen, person, " mine")
        person.press("F11")
        assert _is_called(screen, person)
        person.click(_EDITOR)
        assert eventually(lambda: not _has_keyboard(screen)), "the bubble keeps the keys of a program that is pressed"
        assert _types(screen, person, " again")
        assert _is_called(screen, person)
        with answering(screen.environment, allow=True):
            person.type("open the calculator and type 12*7=")
            person.press("Return")
            assert eventually(lambda: _calculator_shows(screen, "84"), limit_s=_LIMIT_S)
        assert _text(screen) == "Mine still mine again"


def test_no_picture_of_wisp_shows_its_presence(screen: Screen) -> None:
    command = [sys.executable, "-m", "tests.support.unseen_orb"]
    pipe = subprocess.PIPE
    orb = subprocess.Popen(command, env=screen.environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        with answering(screen.environment, allow=True):
            told, _ = orb.communicate("look\n", timeout=_LIMIT_S)
    finally:
        orb.kill()
    assert told.splitlines()[1:] == ["0"]


def test_the_stop_key_stops_a_typing(screen: Screen, person: DesktopPerson, editor: None) -> None:
    lines = "".join(f"<computer_type>line {number} </computer_type>" for number in range(_LINES))
    typing = screen.start("tool", lines)
    try:
        with answering(screen.environment, allow=True):
            assert eventually(lambda: "line 1 " in _text(screen), limit_s=_LIMIT_S)
        person.press(*_STOP)
        assert typing.wait(timeout=_STOPPED_S) == 130
        assert f"line {_LINES - 1}" not in _text(screen)
    finally:
        typing.kill()
    assert screen.wisp("stop").stdout == "Nothing was stopped: no Wisp works on this display.\n"
