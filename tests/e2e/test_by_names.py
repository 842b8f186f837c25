"""A form is filled in by the names that a person says, in one call, unread. Judged by what its window tells."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.desktop.x11.apps import describing
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.waiting import eventually
from tests.support.worlds import world

FORM = (
    {"do": "set_value", "target": "Name", "text": "Ada"},
    {"do": "set_value", "target": "Volume", "text": "30"},
    {"do": "press", "target": "Agree"},
    {"do": "set_value", "target": "Fruit", "text": "Cherry"},
    {"do": "click", "target": "Count"},
)
FILLED = ["name Ada", "volume 30", "agree true", "fruit cherry", "count 1"]


@pytest.mark.parametrize("kind", ["gtk3", "gtk4", "chromium"])
def test_a_form_is_filled_in_by_names_in_one_call(kind: str, screen: Screen) -> None:
    with world(kind, screen.environment) as window, CoProcess(screen.environment) as wisp:
        wisp("wait_for", window="World")
        done = wisp("computer_batch", action=list(FORM))
        told = [line.casefold() for line in window.since(1.0)]
    assert [line for line in FILLED if line.casefold() not in told] == [], done["echo"]


def test_a_list_goes_by_the_label_beside_it_in_qt(screen: Screen) -> None:
    command = [sys.executable, str(Path(__file__).with_name("qt_form.py"))]
    with subprocess.Popen(command, env=describing(screen.environment)) as form:
        try:
            with CoProcess(screen.environment) as wisp:
                wisp("wait_for", window="Order form")
                done = wisp("set_value", target="Size", value="Large")
                found = wisp("read_screen", view="find", query="Size")
        finally:
            form.kill()
    assert done["payload"]["role"] == "combo box", done["echo"]
    assert (done["payload"]["proof"], done["payload"]["value"]) == ("confirmed", "Large")
    assert "combo box" in found["echo"]
    assert "Large" in found["echo"]


@pytest.fixture
def wisp(screen: Screen) -> Iterator[CoProcess]:
    with CoProcess(screen.environment) as wisp:
        yield wisp


def test_a_program_its_menu_and_the_dialog_that_comes_up_are_one_call(wisp: CoProcess, screen: Screen) -> None:
    wisp("computer_batch", action=[
        {"do": "open", "target": "text editor"},
        {"do": "type", "text": "Dear Ada"},
        {"do": "menu", "path": "File > Save As"},
        {"do": "set_value", "target": "Name", "text": f"{screen.home}/note.txt"},
        {"do": "press", "target": "Save"},
    ])  # fmt: skip
    assert eventually((screen.home / "note.txt").is_file)
    assert (screen.home / "note.txt").read_text(encoding="utf-8").strip() == "Dear Ada"


def test_a_question_gets_no_key_that_was_meant_for_another_window(wisp: CoProcess, screen: Screen) -> None:
    note = screen.home / "note.txt"
    note.write_text("old", encoding="utf-8")
    told = wisp.attempt("computer_batch", action=[
        {"do": "open", "target": "text editor"},
        {"do": "type", "text": "Dear Ada"},
        {"do": "menu", "path": "File > Save As"},
        {"do": "set_value", "target": "Name", "text": str(note)},
        {"do": "press", "target": "Save"},
        {"do": "key", "keys": "Return"},
    ])  # fmt: skip
    assert (told["ok"], told["payload"]["done"], "already exists" in told["echo"]) == (False, 5, True), told["echo"]
    assert note.read_text(encoding="utf-8") == "old"


def test_a_step_that_fails_stops_and_says_what_was_done_and_what_came_up(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment) as window:
        told = wisp.attempt("computer_batch", action=[
            {"do": "type", "target": "Name", "text": "Ada"},
            {"do": "click", "target": "Show note"},
            {"do": "press", "target": "Reply"},
            {"do": "press", "target": "Count"},
        ])  # fmt: skip
        happened = window.since(1.0)
    assert (told["ok"], told["payload"]["done"], told["payload"]["of"]) == (False, 2, 4), told["echo"]
    assert [line for line in happened if line.split()[0] in ("name", "note", "count")][-2:] == ["name Ada", "note"]
    assert [name for name in ("'Reply'", '"Dismiss"', "not run") if name not in told["echo"]] == []


def test_a_picture_comes_with_the_refs_of_its_controls(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk3", screen.environment) as window:
        seen = wisp("screen_capture", window="World", tree=True)
        (ref,) = re.findall(r'(e\d+) button "Count"', seen["echo"])
        wisp("press", ref=ref)
        assert window.happened(lambda line: line == "count 1")
    assert len(seen["media"]) == 1


def test_a_list_without_the_choice_is_closed_again(wisp: CoProcess, screen: Screen) -> None:
    with world("gtk4", screen.environment) as window:
        refused = wisp.attempt("set_value", target="Fruit", value="Melon")
        wisp("computer_click", target="Count")
        happened = window.since(1.0)
    assert (refused["ok"], happened) == (False, ["count 1"])
