"""Each window manager of Debian: programs are opened, used and closed under it, and the presence answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.device import PersonsDevices
from tests.e2e.conftest import ROOT, Screen
from tests.support.co_process import CoProcess
from tests.support.managers import COMMANDS, is_installed, managed
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually

_CORE = ("xfwm4", "i3")
"""The two that differ most: one that frames and composites, one that tiles."""
_SUMMON = (0xFFE3, 0xFFE9, 0x77)  # ctrl, alt, w: icewm has the usual one, ctrl+alt+space, for itself
_ESCAPE = 0xFF1B
_CALLS = 4


def _each(*, core: tuple[str, ...] = ()) -> list[object]:
    marks = {name: [] if name in core else [pytest.mark.long] for name in COMMANDS}
    return [pytest.param(name, id=name, marks=marks[name]) for name in COMMANDS]


@pytest.fixture
def screen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Screen]:
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed; scripts/setup all brings it")
    home = tmp_path / "home"
    with managed(request.param, home) as environment:
        yield Screen(environment, home)


def _calculator_shows(screen: Screen, number: str) -> bool:
    def shows() -> bool:
        return any((node.text or "").strip() == number for node in observe("galculator", screen.environment))

    return eventually(shows)


@pytest.mark.parametrize("screen", _each(core=_CORE), indirect=True)
def test_the_main_job(screen: Screen) -> None:
    done = screen.wisp("do", "open the calculator and type 12*7=")
    assert (done.returncode, _calculator_shows(screen, "84")) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("screen", _each(), indirect=True)
def test_a_text_a_menu_a_dialog_and_windows(screen: Screen) -> None:
    def holds(text: str) -> bool:
        return eventually(lambda: text_of("mousepad", environment=screen.environment).rstrip("\n") == text)

    with CoProcess(screen.environment) as wisp:
        wisp("open_app", name="calculator")
        wisp("open_app", name="text editor")
        wisp("computer_type", text="Zwölf Äpfel")
        assert holds("Zwölf Äpfel")
        wisp("choose_menu", path="Edit > Select All")
        wisp("computer_key", keys="Delete")
        assert holds("")
        wisp("focus_window", title="calculator")
        wisp("computer_type", text="12*7=")
        assert _calculator_shows(screen, "84")
        wisp.attempt("minimise_window", title="calculator")  # tiling managers put no window away
        wisp("focus_window", title="calculator")
        wisp("focus_window", title="Mousepad")
        wisp("computer_type", text="unsaved")
        wisp.attempt("close_window", title="Mousepad")
        wisp("computer_click", target="Don't Save")
        assert eventually(lambda: observe("mousepad", screen.environment, deepest=1) == [])
        wisp("close_window", title="calculator")
        assert eventually(lambda: observe("galculator", screen.environment, deepest=1) == [])


@pytest.mark.parametrize("screen", _each(core=_CORE), indirect=True)
def test_what_the_manager_lets_programs_do_with_windows_is_done_and_all_else_refused(screen: Screen) -> None:
    with CoProcess(screen.environment) as wisp:
        wisp("open_app", name="text editor")
        window = _told(screen, "xdotool", "search", "--onlyvisible", "--name", "Mousepad").split()[-1]
        for state, atom in (("above", "_NET_WM_STATE_ABOVE"), ("full_screen", "_NET_WM_STATE_FULLSCREEN")):
            is_offered = atom in _told(screen, "xprop", "-root", "_NET_SUPPORTED")
            outcome = wisp.attempt("set_window_state", title="Mousepad", state=state)
            has_it = atom in _told(screen, "xprop", "-id", window, "_NET_WM_STATE")
            assert (outcome["ok"], has_it) == (is_offered, is_offered), outcome
            wisp.attempt("set_window_state", title="Mousepad", state="not_above" if state == "above" else "normal")
            assert atom not in _told(screen, "xprop", "-id", window, "_NET_WM_STATE")
        outcome = wisp.attempt("minimise_window", title="all")
        assert outcome["ok"] == ("HIDDEN" in _told(screen, "xprop", "-id", window, "_NET_WM_STATE")), outcome
        wisp.attempt("set_window_state", title="all", state="normal")
        assert "HIDDEN" not in _told(screen, "xprop", "-id", window, "_NET_WM_STATE")
        count = _told(screen, "xprop", "-root", "_NET_NUMBER_OF_DESKTOPS").rpartition("= ")[2].strip()
        outcome = wisp.attempt("switch_desktop", to="next")
        assert outcome["ok"] == (count.isdecimal() and int(count) > 1), outcome
        if outcome["ok"]:
            assert "= 1" in _told(screen, "xprop", "-root", "_NET_CURRENT_DESKTOP")


def _told(screen: Screen, *command: str) -> str:
    return subprocess.run(command, env=screen.environment, capture_output=True, text=True, check=False).stdout


def _is_called(person: PersonsDevices, environment: dict[str, str]) -> bool:
    """Press the key and wait: right after the start nobody may hear it yet, and a second press closes again."""
    person.press_together(*_SUMMON)
    return eventually(lambda: _front(environment) == "Wisp", limit_s=10)


def _front(environment: dict[str, str]) -> str:
    """Return the title of the window that has the keyboard."""
    command = ["xdotool", "getwindowfocus", "getwindowname"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.parametrize("screen", _each(), indirect=True)
def test_the_presence_answers_at_its_key_and_gives_the_keyboard_back(screen: Screen) -> None:
    config = screen.home / "wisp" / "config"
    config.mkdir(parents=True)
    (config / "welcomed").touch()
    (config / "settings.toml").write_text('[presence]\nsummon_key = "ctrl+alt+w"\n', encoding="utf-8")
    environment = {**screen.environment, "WISP_DATA_DIR": str(screen.home / "wisp")}
    with CoProcess(environment) as wisp:
        wisp("open_app", name="text editor")
        wisp("focus_window", title="Mousepad")
    with subprocess.Popen([sys.executable, "-m", "app"], env=environment, cwd=ROOT) as presence:
        person = PersonsDevices(environment)
        try:
            assert eventually(lambda: _has_orb(environment))
            assert "Mousepad" in _front(environment)
            assert any(_is_called(person, environment) for _ in range(_CALLS))
            person.type("open the calculator and type 12*7=\n")
            assert _calculator_shows(screen, "84")
            person.tap(_ESCAPE)
            assert eventually(lambda: _front(environment) != "Wisp")
        finally:
            person.close()
            presence.terminate()


def _front(environment: dict[str, str]) -> str:
    """Return the title of the window that has the keyboard."""
    command = ["xdotool", "getwindowfocus", "getwindowname"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()


def _has_orb(environment: dict[str, str]) -> bool:
    command = ["xdotool", "search", "--onlyvisible", "--name", "^Wisp$"]
    return bool(subprocess.run(command, env=environment, capture_output=True, check=False).stdout)
