"""A form is filled in by the names that a person says, in one call, unread. Judged by what its window tells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.desktop.x11.apps import describing
from tests.e2e.conftest import Screen
from tests.support.co_process import CoProcess
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
