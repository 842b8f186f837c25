"""A press reaches what it was aimed at, or there is no press; a picture of a window shows that window."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from PIL import Image

from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.waiting import eventually
from tests.support.worlds import world

KITS = ("gtk3", "gtk4", "qt5", "qt6")


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as process:
        yield process


@contextmanager
def terminal(wisp: CoProcess, screen: Screen) -> Iterator[None]:
    """A large terminal called box, in front."""
    command = ("xterm", "-title", "box", "-geometry", "200x60+0+0")
    program = subprocess.Popen(command, env=screen.environment, stderr=subprocess.DEVNULL)
    try:
        wisp("wait_for", window="box")
        wisp("focus_window", title="box")
        yield
    finally:
        program.kill()
        program.wait()


@pytest.mark.long
@pytest.mark.parametrize("kit", KITS)
def test_a_choice_of_a_closed_combo_box_is_not_pressed_and_of_an_open_one_it_is(
    wisp: CoProcess, screen: Screen, kit: str
) -> None:
    with world(kit, screen.environment) as shown, terminal(wisp, screen):
        wisp("focus_window", title="World")
        refused = wisp.attempt("computer_click", target="Cherry")
        assert (refused["ok"], shown.since()) == (False, []), refused
        combo = re.search(r"(e\d+) combo box", wisp("read_screen", window="World")["echo"])
        assert combo
        wisp("computer_click", ref=combo[1])
        wisp("wait_for", text="Cherry", limit_s=8)  # off the pixels where a pop-up tells nothing
        wisp("computer_click", target="Cherry")
        assert shown.happened(lambda line: line == "fruit Cherry")


def test_a_control_behind_another_window_is_brought_forward_and_pressed(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment) as shown, terminal(wisp, screen):
        wisp("computer_click", target="Count")
        assert shown.happened(lambda line: line == "count 1")


@pytest.mark.long
@pytest.mark.parametrize("kit", KITS)
def test_the_picture_of_a_covered_window_shows_that_window(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment):
        wisp("wait_for", window="World")
        with terminal(wisp, screen):
            covered = wisp("screen_capture", window="World")
        wisp("focus_window", title="World")
        uncovered = wisp("screen_capture", window="World")
        assert ("covered by 'box'" in covered["echo"], "covered" in uncovered["echo"]) == (True, False)
        assert alike(picture(uncovered), picture(covered)) > 0.95


def picture(answer: dict[str, object]) -> Image.Image:
    (media,) = answer["media"]  # type: ignore[misc]  # one picture
    return Image.open(media["path"]).convert("L")


def alike(one: Image.Image, other: Image.Image) -> float:
    """The share of pixels that are about the same."""
    assert one.size == other.size
    pairs = zip(one.tobytes(), other.tobytes(), strict=True)
    return sum(abs(a - b) < 40 for a, b in pairs) / (one.width * one.height)


_BEHIND_A_LOCK: tuple[tuple[str, dict[str, str]], ...] = (
    ("list_windows", {}), ("read_screen", {}), ("screen_capture", {}), ("computer_type", {"text": "hello"}),
    ("computer_key", {"keys": "Return"}), ("computer_click", {"target": "OK"}), ("open_app", {"name": "calculator"}),
)  # fmt: skip


@pytest.mark.long
def test_nothing_is_seen_or_driven_while_the_screen_is_locked(wisp: CoProcess, screen: Screen) -> None:
    locker = subprocess.Popen(["i3lock", "--nofork"], env=screen.environment, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: "The screen is locked (i3lock)" in wisp.attempt("list_windows")["echo"])
        said = [wisp.attempt(tool, dict(arguments)) for tool, arguments in _BEHIND_A_LOCK]
        assert [one["echo"] for one in said if one["ok"] or "Unlock it, then ask again" not in one["echo"]] == []
        done = screen.wisp("do", "list the windows", "--provider", "offline")
        assert (done.returncode, "The screen is locked" in done.stdout) == (3, True)
    finally:
        locker.kill()
        locker.wait()
    assert eventually(lambda: bool(wisp.attempt("list_windows")["ok"]))
