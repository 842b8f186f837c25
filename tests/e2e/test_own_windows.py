"""A presence on the desktop of another Wisp: no tool types into it, presses it, raises it or answers in it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from Xlib import XK

from app.desktop.backends import Window
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from scripts.device import PersonsDevices
from tests.e2e.conftest import Screen
from tests.support.fixture_window import FixtureWindow
from tests.support.sampling import first_of

pytestmark = pytest.mark.timeout(180)

_LIMIT_S = 40.0
_MODULE = (sys.executable, "-m", "app")
_COMMAND = (str(Path(sys.executable).with_name("wisp")),)
_SUMMON = (XK.XK_Control_L, XK.XK_Alt_L, XK.XK_space)


@contextmanager
def _present(
    screen: Screen, folder: Path, *replies: str, mode: str = "ask", wisp: tuple[str, ...] = _MODULE
) -> Iterator[tuple[subprocess.Popen[str], PersonsDevices]]:
    """A presence with its composer open and focused, as the person left it, and the person."""
    script = folder / "script.toml"
    script.write_text("".join(f"[[replies]]\ntext = '''{reply}'''\n" for reply in replies))
    started = subprocess.Popen(
        [*wisp, "presence", "--provider", "scripted"],
        env=screen.environment | {"WISP_SCRIPT": str(script), "WISP_MODE": mode},
        stderr=subprocess.PIPE,
        text=True,
    )
    person = PersonsDevices(screen.environment)
    try:
        limit = time.monotonic() + _LIMIT_S
        while "Wisp" not in _active(screen):
            assert time.monotonic() < limit, "The presence did not open."
            person.press_together(*_SUMMON)
            time.sleep(1.5)
        yield started, person
    finally:
        person.close()
        started.terminate()
        started.communicate(timeout=20)


@pytest.fixture
def presence(screen: Screen, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with _present(screen, tmp_path, "<say>heard</say>") as (started, _):
        yield started


def _active(screen: Screen) -> str:
    told = subprocess.run(
        ["xdotool", "getactivewindow", "getwindowname"],
        env=screen.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout


@pytest.fixture
def desktop(screen: Screen) -> Iterator[Desktop]:
    opened = open_desktop(environment=screen.environment, reserved=lambda: ("ctrl+alt+space",))
    yield opened
    opened.close()


_ACTS = {
    "type": '<computer_type>wipe the disk</computer_type><computer_key keys="Return"/>',
    "type with a line break": "<computer_type>wipe the disk\n</computer_type>",
    "keys": '<computer_key keys="w i p e Return"/>',
    "keys by a batch": '<computer_batch><action do="type">wipe</action><action do="key" keys="Return"/></computer_batch>',  # noqa: E501
    "signs of no layout": "<computer_type>löschen ⌘ 消す\n</computer_type>",
}


@pytest.mark.usefixtures("presence")
def test_nothing_is_typed_into_another_wisps_composer(screen: Screen) -> None:
    told = {name: screen.wisp("tool", calls).stdout for name, calls in _ACTS.items()}
    assert {name: "Wisp's own windows" in said for name, said in told.items()} == dict.fromkeys(_ACTS, True), told
    listed = screen.wisp("history", "list").stdout
    assert "wipe" not in listed
    assert "消す" not in listed


@pytest.mark.long
@pytest.mark.usefixtures("presence")
async def test_every_window_of_another_wisp_is_known_and_left_alone(screen: Screen, desktop: Desktop) -> None:
    async def looked(controller: DesktopController) -> tuple[list[str], list[bool], list[bool]]:
        own = [window for window in controller.backend.windows.shown() if window.is_own]
        under = [controller.backend.windows.under(window.area.center).is_own for window in own]
        return [window.ref for window in own], under, [controller.backend.windows.keyboard().is_own]

    with FixtureWindow("text", environment=screen.environment):
        refs, under, keyboard = await desktop.run(looked)
    assert len(refs) >= 2, "the orb and the composer"
    assert any(under)
    assert keyboard == [False]
    for call in ('<focus_window title="Wisp"/>', '<close_window title="Wisp"/>', '<minimise_window title="Wisp"/>'):
        assert "No window is called" in screen.wisp("tool", call).stdout, call


@pytest.mark.long
@pytest.mark.parametrize("wisp", [_MODULE, _COMMAND], ids=["module", "command"])
async def test_another_wisps_windows_are_in_no_list_and_black_in_every_picture(
    wisp: tuple[str, ...], screen: Screen, desktop: Desktop, tmp_path: Path
) -> None:
    async def looked(controller: DesktopController) -> list[tuple[str, set[str]]]:
        others = [window for window in controller.backend.windows.shown() if window.is_of_other_wisp]
        frames = [(window.title, controller.backend.screen.grab(window.area)) for window in others]
        return [(title, set(bytes(frame.bgrx).hex(" ", 4).split())) for title, frame in frames]

    with _present(screen, tmp_path, "<say>heard</say>", wisp=wisp):
        pictured = await desktop.run(looked)
        assert pictured
        assert {title: colours for title, colours in pictured if {one[:6] for one in colours} != {"000000"}} == {}
        told = screen.wisp("tool", "<list_windows/><read_screen view='full'/><screen_capture/>").stdout
        assert '"Wisp"' not in told.replace("\\", "")
        assert "What do you want" not in told


@pytest.mark.long
@pytest.mark.parametrize("whose", ["nobody", "its own", "a Wisp"])
async def test_a_mark_that_another_program_sets_keeps_tools_away_and_hides_no_window(
    whose: str, screen: Screen, desktop: Desktop, presence: subprocess.Popen[str]
) -> None:
    async def listed(controller: DesktopController) -> dict[str, Window]:
        return {one.ref: one for one in controller.backend.windows.all()}

    with FixtureWindow("text", environment=screen.environment):
        [before] = [one for one in (await desktop.run(listed)).values() if not one.is_own]
        process = {"nobody": 4_194_300, "its own": before.pid, "a Wisp": presence.pid}[whose]
        _claim(screen, before.ref, process, with_pid=whose == "a Wisp")
        after = (await desktop.run(listed))[before.ref]
        assert (after.is_own, after.is_of_other_wisp) == (True, False)


def _claim(screen: Screen, ref: str, process: int, *, with_pid: bool) -> None:
    """Mark a window as that of the Wisp with this process, as any program can."""
    mark = ("-f", "_WISP_WINDOW", "32c", "-set", "_WISP_WINDOW")
    claims = [("-id", f"0x{ref[1:]}", *mark, f"{process}"), ("-root", *mark, f"{int(ref[1:], 16)}")]
    own = ("-id", f"0x{ref[1:]}", "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", f"{process}")
    for claim in (*claims, *((own,) if with_pid else ())):
        subprocess.run(["xprop", *claim], env=screen.environment, check=True)


@pytest.mark.long
@pytest.mark.usefixtures("presence")
async def test_nothing_is_pressed_in_another_wisps_window(screen: Screen, desktop: Desktop) -> None:
    async def places(controller: DesktopController) -> list[tuple[int, int]]:
        own = [window.area.center for window in controller.backend.windows.shown() if window.is_own]
        return [(at.x, at.y) for at in own if controller.backend.windows.under(at).is_own]

    for x, y in await desktop.run(places):
        for call in (
            f'<computer_click x="{x}" y="{y}" space="screen"/>',
            f'<computer_click x="{x}" y="{y}" button="middle" space="screen"/>',
            f'<mouse_down x="{x}" y="{y}" space="screen"/>',
            f'<computer_drag path="5,790 {x},{y}" space="screen"/>',
        ):
            done = screen.wisp("tool", call)
            assert "A window of Wisp is there" in done.stdout, call
            assert "X protocol error" not in done.stderr


@pytest.mark.parametrize(
    "keys",
    first_of(
        [
            "ctrl+alt+space",
            "alt+ctrl+space",
            "ctrl+alt+shift+space",
            "super+ctrl+alt+space",
            "ctrl+alt+escape",
            "altgr+ctrl+alt+escape",
            "a ctrl+alt+Escape b",
        ]
    ),
)
async def test_the_persons_own_keys_are_never_sent(screen: Screen, keys: str) -> None:
    said = screen.wisp("tool", f'<computer_key keys="{keys}"/>').stdout
    assert "belongs to the person alone" in said, said


@pytest.mark.long
def test_what_the_model_types_in_its_own_presence_is_no_word_of_the_person(screen: Screen, tmp_path: Path) -> None:
    replies = (
        '<computer_key keys="ctrl+alt+space g o space o n Return" hold_ms="60"/>',
        '<computer_key keys="g o space o n Return"/>',
        "<computer_type>go on\n</computer_type>",
        "<say>the end</say>",
    )
    with _present(screen, tmp_path, *replies, mode="yolo") as (_, person):
        person.type("look around\n")
        limit = time.monotonic() + _LIMIT_S
        while "the end" not in (kept := _conversation(screen)):
            assert time.monotonic() < limit, kept
            time.sleep(0.5)
    assert [line for line in kept.splitlines() if line.startswith("> ")] == ["> look around"], kept


def _conversation(screen: Screen) -> str:
    """The newest one, the person's words quoted."""
    listed = screen.wisp("history", "list").stdout.split()
    return screen.wisp("history", "show", listed[0]).stdout if listed else ""
