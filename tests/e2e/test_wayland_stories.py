"""Stories on Wayland compositors, told to the real command, with real programs; files and other eyes say what came.

The compositor is sway, and labwc where it is installed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Screen
from tests.e2e.test_stories_browser import Site, site  # noqa: F401 - a fixture
from tests.support.co_process import CoProcess
from tests.support.compositors import composited, is_installed
from tests.support.fixture_window import FixtureWindow
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually

_SCRIPTS = "Grüße · Γειά σου · Привет · 你好 · שלום · مرحبا · 😀"
_BROWSER = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")
_NATIVE = "--ozone-platform=wayland"

_ON_SWAY = pytest.mark.parametrize("screen", ["sway"], indirect=True)
"""labwc tells no places: dialogs and pages that come up are found there by their pictures alone, late or not at all."""


@pytest.fixture(params=["sway", pytest.param("labwc", marks=pytest.mark.long)])
def screen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Screen]:
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed; scripts/setup wayland brings it where the system has it")
    home = tmp_path / "home"
    with composited(request.param, home) as environment:
        yield Screen(environment, home)


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as process:
        yield process


@contextmanager
def _window(screen: Screen, *options: str) -> Iterator[FixtureWindow]:
    """A native window that tells what it gets."""
    environment = {**screen.environment, "QT_QPA_PLATFORM": "wayland"}
    with FixtureWindow("canvas", *options, environment=environment) as window:
        yield window


@contextmanager
def _program(screen: Screen, *command: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        command, env=screen.environment | more, cwd=screen.home, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def _editor_holds(screen: Screen, text: str) -> bool:
    return eventually(lambda: text_of("mousepad", environment=screen.environment).rstrip("\n") == text)


def _shows(screen: Screen, number: str) -> bool:
    return eventually(lambda: text_of("galculator", environment=screen.environment).strip() == number)


@_ON_SWAY
def test_a_window_fills_the_screen_and_goes_to_another_workspace(wisp: CoProcess) -> None:
    wisp("open_app", name="text editor")
    wisp("set_window_state", title="Mousepad", state="full_screen")
    assert not wisp.attempt("set_window_state", title="Mousepad", state="above")["ok"]
    wisp("switch_desktop", title="Mousepad", to="2")
    assert wisp("list_windows")["payload"]["windows"][0]["minimised"]
    wisp("switch_desktop", to="next")
    assert not wisp("list_windows")["payload"]["windows"][0]["minimised"]


def test_the_main_job(screen: Screen) -> None:
    done = screen.wisp("do", "open the calculator and type 12*7=")
    assert (done.returncode, _shows(screen, "84")) == (0, True), done.stdout + done.stderr


@pytest.mark.long
def test_buttons_are_pressed_by_their_names(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="calculator")
    for key in ("AC", "6", "*", "7", "="):
        wisp("computer_click", target=key)
    assert _shows(screen, "42")


@pytest.mark.long
@_ON_SWAY
def test_a_text_in_many_scripts_is_written_and_saved(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "naïve note.txt"
    wisp("open_app", name="text editor")
    wisp("computer_type", text=f"{_SCRIPTS}\n\t2")
    assert _editor_holds(screen, f"{_SCRIPTS}\n\t2")
    wisp("choose_menu", path="File > Save As")
    wisp("wait_for", window="Save")
    wisp("computer_key", keys="ctrl+a")
    wisp("computer_type", text=f"{file}\n")
    assert eventually(file.exists)
    assert eventually(lambda: file.read_text(encoding="utf-8").rstrip("\n") == f"{_SCRIPTS}\n\t2")


@pytest.mark.long
def test_a_menu_deletes_what_a_key_brings_back(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="first")
    wisp("choose_menu", path="Edit > Select All")
    wisp("computer_key", keys="Delete")
    assert _editor_holds(screen, "")
    wisp("computer_key", keys="ctrl+z")
    assert _editor_holds(screen, "first")


@pytest.mark.long
def test_a_dialog_is_filled_and_answered(wisp: CoProcess, screen: Screen) -> None:
    with _program(screen, "zenity", "--entry", "--title=Your name", "--text=Who are you?") as dialog:
        wisp("wait_for", window="Your name")
        wisp("computer_type", text="Zoë 李")
        wisp("computer_click", target="OK")
        assert dialog.communicate(timeout=20)[0] == "Zoë 李\n"


@pytest.mark.long
def test_unsaved_work_is_asked_about_and_thrown_away(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="text editor")
    wisp("computer_type", text="draft")
    assert not wisp.attempt("close_window", title="mousepad")["ok"]
    wisp("computer_click", target="Don't Save")
    assert eventually(lambda: observe("mousepad", screen.environment, deepest=1) == [])


@pytest.mark.long
def test_text_moves_through_the_clipboard(wisp: CoProcess, screen: Screen) -> None:
    wisp("write_clipboard", text="über\nzwei")
    wisp("open_app", name="text editor")
    wisp("computer_key", keys="ctrl+v")
    assert _editor_holds(screen, "über\nzwei")
    wisp("computer_type", text="!")
    wisp("computer_key", keys="ctrl+a ctrl+c")
    assert wisp("read_clipboard")["payload"]["text"].endswith("zwei!")
    told = subprocess.run(
        ["wl-paste", "--no-newline"], env=screen.environment, capture_output=True, timeout=20, check=True
    )
    assert told.stdout.decode().rstrip("\n") == "über\nzwei!"


@pytest.mark.long
def test_a_drag_and_a_wheel_reach_the_place_that_is_seen(wisp: CoProcess, screen: Screen) -> None:
    with _window(screen, "--size", "600x400", "--blue", "100,100,60,60", "--words", "Here it is") as window:
        seen = wisp("screen_capture", window="Fixture")["payload"]
        left, top = seen["region"][0], seen["region"][1]
        wisp("computer_drag", path=f"{left + 200},{top + 200} {left + 300},{top + 260}", space="screen")
        pressed, released = (_first(window, kind) for kind in ("press", "release"))
        assert (released["x"] - pressed["x"], released["y"] - pressed["y"]) == (100, 60)
        wisp("computer_scroll", x=left + 200, y=top + 200, space="screen", dy=3)
        turned = 0
        while turned > -360:
            turned += _next(window, "wheel")["dy"]  # Qt adds up notches that come together
        assert turned == -360


def _next(window: FixtureWindow, kind: str) -> dict[str, Any]:
    return window.wait(lambda event: event["event"] == kind)


def _first(window: FixtureWindow, kind: str) -> dict[str, Any]:
    return next((event for event in window.told if event["event"] == kind), None) or _next(window, kind)


@pytest.mark.long
@_ON_SWAY
def test_a_form_in_a_browser_is_filled_and_sent(wisp: CoProcess, screen: Screen, site: Site) -> None:  # noqa: F811
    with _program(screen, *_BROWSER, _NATIVE, f"--user-data-dir={screen.home}/browser", f"{site.address}/form"):
        wisp("wait_for", window="Order form", limit_s=60)
        wisp("computer_click", target="Name")
        wisp("computer_type", text="Zoë Łukasz 李")
        wisp("computer_click", target="As a gift")
        wisp("computer_click", target="Order now")
        assert eventually(lambda: site.was_asked("/ordered"))
    form = site.form("/ordered")
    assert (form["name"], form["gift"], form["size"]) == (["Zoë Łukasz 李"], ["yes"], ["Small"])


@pytest.mark.long
def test_a_command_in_a_terminal_makes_a_file(wisp: CoProcess, screen: Screen) -> None:
    file = screen.home / "gemacht.txt"
    with _program(screen, "foot", "--title=Terminal"):
        wisp("wait_for", window="Terminal")
        wisp("focus_window", title="Terminal")
        wisp("computer_type", text=f"printf '%s\\n' \"it's\" '~{{}}|<> ä' > '{file}'\n")
        assert eventually(lambda: file.exists() and file.read_text(encoding="utf-8") == "it's\n~{}|<> ä\n")


@pytest.mark.long
def test_a_program_of_x11_and_a_native_one_each_get_their_own_text(wisp: CoProcess, screen: Screen) -> None:
    made = screen.home / "made"
    with _program(screen, "xterm", "-T", "Old terminal"):
        wisp("wait_for", window="Old terminal")
        wisp("open_app", name="text editor")
        for _ in range(2):
            wisp("focus_window", title="Old terminal")
            wisp("computer_type", text=f"echo äß >> '{made}'\n")
            wisp("focus_window", title="mousepad")
            wisp("computer_type", text="only here ")
        assert eventually(lambda: made.exists() and made.read_text(encoding="utf-8") == "äß\näß\n")
        assert _editor_holds(screen, "only here only here ")


@pytest.mark.long
def test_what_is_seen_is_read_and_what_is_not_there_is_said(wisp: CoProcess, screen: Screen) -> None:
    wisp("open_app", name="calculator")
    assert [window for window in wisp("list_windows")["echo"].splitlines() if "alculator" in window]
    seen = wisp("screen_capture")["payload"]
    assert seen["region"][2:] == [1280, 800] or seen["region"][2] >= 1280
    assert not wisp.attempt("focus_window", title="Nothing of that name")["ok"]
    assert not wisp.attempt("computer_click", target="Nothing of that name")["ok"]
