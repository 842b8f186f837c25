"""What cannot be done is said in a clear sentence within its limit, by the real `wisp tool`, and nothing is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from Xlib.error import BadValue

from app.desktop.x11.connection import Connection
from app.desktop.x11.virtual import VirtualDesktop
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
from tests.support.fixture_window import FixtureWindow
from tests.support.observer import text_of
from tests.support.sampling import first_of
from tests.support.waiting import eventually

_AT_ONCE_S = 10.0


@pytest.fixture(scope="module")
def wisp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CoProcess]:
    """One desktop and one process for all: after every mistake it must go on as if nothing had happened."""
    with VirtualDesktop(1280, 800) as virtual:
        environment = virtual.environment | {"WISP_DATA_DIR": str(tmp_path_factory.mktemp("data"))}
        with CoProcess(environment) as process, FixtureWindow("canvas", environment=environment):
            process("screen_capture")
            yield process


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    first_of(
        [
            ("computer_click", {"x": 4000, "y": 10}, "1280x800"),
            ("computer_click", {"x": -1, "y": 10}, "1280x800"),
            ("computer_click", {"x": 1280, "y": 10, "space": "screen"}, "1280x800"),
            ("computer_click", {"x": 10}, "both x and y"),
            ("computer_click", {}, "Where?"),
            ("computer_click", {"x": 1, "y": 1, "capture": "c999"}, "c999"),
            ("computer_click", {"ref": "e999"}, "e999"),
            ("computer_click", {"target": "   "}, "empty"),
            ("computer_click", {"x": 1, "y": 1, "count": 4}, "count"),
            ("computer_click", {"x": 1, "y": 1, "modifiers": "ctrl+banana"}, "banana"),
            ("computer_drag", {"path": "1,1"}, "two points"),
            ("computer_drag", {"path": "1,1 5000,5000"}, "1280x800"),
            ("computer_drag", {"from": "10,10"}, "where"),
            ("computer_scroll", {"x": 5, "y": 5}, "Nothing to scroll"),
            ("computer_key", {"keys": "ctrl+frobnicate"}, "frobnicate"),
            ("computer_key", {"keys": "Return", "repeat": 1000}, "repeat"),
            ("computer_key", {"keys": ""}, "key"),
            ("computer_type", {"text": ""}, "text"),
            ("computer_type", {"text": "bell \x07 rings"}, "U+0007"),
            ("computer_type", {"text": "long " * 200_000}, "Write it to a file"),
            ("computer_batch", {"action": [{"do": "fly"}]}, "do"),
            ("open_app", {"name": ""}, "name is empty"),
            ("open_app", {"name": "rm -rf /"}, "No program called"),
            ("open_app", {"name": "/no/such/file"}, "There is no file /no/such/file"),
            ("focus_window", {"title": "Nowhere"}, "No window is called"),
            ("move_window", {"title": "Fixture", "width": 0}, "width"),
            ("choose_menu", {"path": " > "}, "Which entry?"),
        ]
    ),
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_a_mistake_is_answered_with_what_to_do(
    tool: str, arguments: dict[str, Any], words: str, wisp: CoProcess
) -> None:
    began = time.monotonic()
    answer = wisp.attempt(tool, arguments)
    assert (answer["ok"], answer["event"], words in answer["echo"]) == (False, "tool_error", True), answer["echo"]
    assert time.monotonic() - began < _AT_ONCE_S


@pytest.mark.long
def test_a_window_that_closes_under_a_drag_holds_nothing_up(screen: Screen) -> None:
    with CoProcess(screen.environment) as wisp, FixtureWindow("canvas", environment=screen.environment) as window:
        wisp.start("computer_drag", path="200,200 500,300 220,350", duration_ms=3000, space="screen")
        window.wait(lambda event: event["event"] == "move")
        window.say("close")
        assert wisp.answer()["ok"]
        assert wisp("list_windows")["payload"]["windows"] == []


@pytest.mark.long
def test_a_window_that_closes_under_the_text_ends_the_typing_there(screen: Screen) -> None:
    with (
        CoProcess(screen.environment) as wisp,
        FixtureWindow("text", "--title", "Below", environment=screen.environment) as below,
        FixtureWindow("text", "--title", "Above", environment=screen.environment) as above,
    ):
        wisp.start("computer_type", text="words of it\n" * 4000)
        above.wait(lambda event: event["event"] == "text")
        above.say("close")
        answer = wisp.answer()
        assert (answer["ok"], "The keyboard went from 'Above' to 'Below'" in answer["echo"]) == (False, True), answer[
            "echo"
        ]
        below.forget()
        wisp("computer_type", text="and goes on")
        below.wait(lambda event: event["event"] == "text" and event["text"] == "and goes on")


def test_without_a_window_manager_programs_are_opened_and_used() -> None:
    with VirtualDesktop(1000, 700, window_manager=False) as virtual, CoProcess(virtual.environment) as wisp:
        wisp("open_app", name="calculator")
        for key in ("6", "*", "7", "="):
            wisp("computer_click", target=key)
        assert eventually(lambda: text_of("galculator", environment=virtual.environment).strip() == "42")
        refused = wisp.attempt("minimise_window", title="galculator")
        assert (refused["ok"], "No window manager" in refused["echo"]) == (False, True)
        wisp("close_window", title="galculator")


@pytest.mark.long
def test_a_value_that_the_x_server_refuses_is_an_x_error(desktop: VirtualDesktop) -> None:
    """The library gives RandR's errors, which are no X errors, the codes of core errors."""
    connection = Connection(desktop.environment)
    with pytest.raises(BadValue):
        connection.display.get_keyboard_mapping(1, 1)  # the first key code is 8
    connection.close()
