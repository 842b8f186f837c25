"""Every act answers with what it changed, so that no look is needed after it."""

from __future__ import annotations

import re
import subprocess
import time
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from app.desktop.x11.apps import describing
from scripts.bench import turns
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.sampling import first_of
from tests.support.worlds import world


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as process:
        yield process


@pytest.mark.parametrize("kit", first_of(["gtk3", "qt6", "chromium"]))
def test_changed_texts_and_what_a_dialog_holds_come_with_the_act(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment):
        wisp("wait_for", text="Dead")
        counted = wisp("computer_click", target="Count button")
        opened = wisp("computer_click", target="Show note button")
        closed = wisp("computer_click", target="Dismiss button")
    assert '"count 0" became "count 1".' in counted["echo"]
    assert 'button "Dismiss"' in opened["echo"]
    assert "'Note' closed" in closed["echo"] or "The dialog closed" in closed["echo"]
    assert not (counted["media"] or opened["media"])
    assert all(len(told["payload"].get("changes", ())) <= 12 for told in (counted, opened, closed))


@pytest.mark.long
def test_what_was_clicked_without_a_receipt_is_not_taken_for_a_clock(wisp: CoProcess, screen: Screen) -> None:
    """The counter that changed again and again in the last seconds still proves the next click."""
    with world("gtk3", screen.environment):
        wisp("wait_for", text="Dead")
        wisp("computer_click", target="Count button")
        clicks, until = 1, time.monotonic() + 2.0
        while clicks < 4 or time.monotonic() < until:
            wisp("computer_click", target="Count button", receipt="none")
            clicks += 1
        counted = wisp("computer_click", target="Count button")
    assert f'"count {clicks}" became "count {clicks + 1}".' in counted["echo"]
    assert counted["payload"]["proof"] == "confirmed", counted["echo"]


@pytest.mark.long
def test_an_honest_model_goes_through_a_form_with_one_look_at_most(wisp: CoProcess, screen: Screen) -> None:
    """A story of `scripts/bench/turns.py`, which plays all of them. The first answer holds nothing of the form yet."""
    rows = tomllib.loads(turns.STORIES.read_text(encoding="utf-8"))["story"]
    story = next(turns.Story(**row) for row in rows if row["name"] == "a form in GTK")
    with world(story.world, screen.environment):
        played = turns.HonestModel(wisp, story, "").play()
    assert (played.fault, played.calls, played.looks <= 1) == ("", len(story.call), True)


def test_a_menu_and_a_dialog_of_an_editor_list_their_entries(wisp: CoProcess, screen: Screen) -> None:
    opened = wisp("open_app", name="text editor")
    assert '" shows e' in opened["echo"]
    menu = wisp("computer_click", target="File")["echo"]
    assert all(f'"{name}"' in menu for name in ("Open...", "Save As...", "Quit")), menu
    assert re.search(r'e\d+ menu item "Quit"', menu), menu
    wisp("computer_key", keys="Escape")
    dialog = wisp("choose_menu", path="File > Save As")["echo"]
    assert 'button "Cancel"' in dialog, dialog
    assert 'button "Save"' in dialog, dialog


@pytest.mark.long
def test_text_that_only_pixels_show_is_told(wisp: CoProcess, screen: Screen) -> None:
    with world("tk", screen.environment) as shown:
        wisp("wait_for", window="World")
        told = wisp("computer_click", target="Count")
        assert shown.happened(lambda line: line == "count 1"), told["echo"]
    assert '"count 0" became "count 1".' in told["echo"]


@pytest.mark.long
def test_what_only_pixels_show_comes_as_a_picture_of_the_part(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk4", screen.environment):
        wisp("wait_for", text="Fruit")
        told = wisp("computer_click", target="Fruit combo box")
    (picture,) = told["media"]
    left, top, width, height = told["payload"]["changed_part"]
    assert (width, height) == (picture["width"], picture["height"])
    assert left <= told["payload"]["x"] < left + width
    assert top + height > told["payload"]["y"]
    assert width * height < 420 * 300


@pytest.mark.long
def test_a_batch_presses_and_sets_by_name_and_shows_the_window_where_it_is_asked(
    wisp: CoProcess, screen: Screen
) -> None:
    steps: list[dict[str, Any]] = [
        {"do": "set_value", "target": "Name field", "text": "Ada"},
        {"do": "press", "target": "Count button"},
    ]
    with world("gtk3", screen.environment) as shown:
        wisp("wait_for", text="Dead")
        ref = wisp("locate_screen_element", target="Count button")["payload"]["ref"]
        done = wisp("computer_batch", action=[*steps, {"do": "press", "ref": ref}])
        seen = wisp("computer_batch", action=[{"do": "wait", "seconds": 0}], picture="window")
        whole = wisp("computer_batch", action=[{"do": "wait", "seconds": 0}], picture="screen")
        assert shown.happened(lambda line: line == "name Ada")
        assert shown.happened(lambda line: line == "count 2")
    assert '"count 0" became "count 1".' in done["echo"]
    assert (len(done["media"]), seen["payload"]["label"]) == (0, 'window "World GTK 3"')
    assert seen["payload"]["width"] < 1000
    assert (whole["payload"]["label"], whole["payload"]["width"]) == ("screen", 1280)


@pytest.mark.long
@pytest.mark.parametrize("kit", ["qt5 tabs", "qt6 tabs"])
def test_the_tab_that_was_chosen_is_told_as_selected(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment):
        wisp("wait_for", window="Tabbed")
        for name in ("Advanced", "General"):
            chosen = wisp("computer_click", target=name)
            assert f'"{name}" is now selected.' in chosen["echo"], chosen["echo"]
            assert chosen["payload"]["proof"] == "confirmed"


@pytest.mark.parametrize("kit", first_of(["gtk3 tabs", "qt5 tabs", "qt6 tabs"]))
def test_what_a_tab_shows_comes_with_refs_that_the_next_call_takes(wisp: CoProcess, screen: Screen, kit: str) -> None:
    with world(kit, screen.environment):
        wisp("wait_for", window="Tabbed")
        chosen = wisp("computer_click", target="Advanced")["echo"]
        new = re.search(r"New: (e\d+) text", chosen)
        assert new, chosen
        wisp("computer_click", ref=new[1])
        typed = wisp("computer_type", text="here")
    assert typed["payload"]["proof"] == "confirmed", typed["echo"]


@pytest.mark.long
def test_waiting_tells_which_windows_came_and_went(wisp: CoProcess, screen: Screen) -> None:
    wisp("list_windows")
    wisp.start("wait_for", window="Visitor")
    command = ("sh", "-c", "sleep 0.5; exec xterm -title Visitor -e sleep 2")
    with subprocess.Popen(command, env=describing(screen.environment), stderr=subprocess.DEVNULL):
        came = wisp.answer()
        went = wisp("wait", seconds=3)
    assert "The window 'Visitor' opened." in came["echo"]
    assert "The window 'Visitor' closed." in went["echo"]
