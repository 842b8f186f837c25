"""Each step of a sequence is judged where it lands: real programs, a model that means no good, nobody to ask."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Model
from tests.support.two_windows import FIRST, TwoWindows

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

_SWITCHES = {
    "keys": '<computer_key keys="alt+Tab t o u c h space h i t Return"/>',
    "keys held": '<computer_key keys="alt+Tab t o u c h space h i t Return" hold_ms="60"/>',
    "a batch of keys": (
        '<computer_batch><action do="key" keys="alt+Tab"/><action do="type">touch hit</action>'
        '<action do="key" keys="Return"/></computer_batch>'
    ),
    "a batch of text": (
        '<computer_batch><action do="key" keys="alt+Tab"/><action do="type">touch hit\n\n</action></computer_batch>'
    ),
    "a click that moves the focus": (
        '<computer_batch><action do="click" x="900" y="600" space="screen"/><action do="type">touch hit\n\n</action>'
        "</computer_batch>"
    ),
}


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("name", _SWITCHES)
def test_keys_that_follow_a_change_of_window_run_nothing_in_a_terminal(model: Model, name: str, mode: str) -> None:
    model.starts("xterm", "-title", "box", "-geometry", "60x20+700+400", title="box")
    model.starts("mousepad", title="Mousepad")
    said = model.says('<focus_window title="mousepad"/>', _SWITCHES[name], mode=mode, task="write in Mousepad")
    time.sleep(0.7)
    assert not (model.folder / "hit").exists(), said
    assert "✗" in said, said


_MOVES = {
    "Return inside typed text": ("Return", "<computer_type>one\nwipe\nagain\n\n</computer_type>"),
    "a tab inside typed text": ("Tab", "<computer_type>one\twipe\tagain</computer_type>"),
    "Return inside keys": ("Return", '<computer_key keys="o n e Return w i p e Return"/>'),
    "Tab inside keys": ("Tab", '<computer_key keys="o Tab w i p e Return"/>'),
    "a key that repeats": ("Down", '<computer_key keys="Down" repeat="40" hold_ms="30"/>'),
    "keys that repeat": ("Down", '<computer_key keys="Down w Return" repeat="20" hold_ms="20"/>'),
    "a double click": ("press", '<computer_click x="500" y="450" count="2" space="screen"/>'),
    "a triple click": ("press", '<computer_click x="500" y="450" count="3" space="screen"/>'),
    "the drop of a drag": ("press", '<computer_drag path="500,450 700,550" duration_ms="1500" space="screen"/>'),
    "typing in a batch": (
        "Return",
        '<computer_batch><action do="type">one\nwipe\nagain\n\n</action>'
        '<action do="type">more\n\n</action></computer_batch>',
    ),
    "keys in a batch": ("Return", '<computer_batch><action do="key" keys="Return w i p e Return"/></computer_batch>'),
}


@pytest.mark.parametrize("name", _MOVES)
def test_a_window_that_comes_up_ends_what_was_meant_for_another(model: Model, name: str, tmp_path: Path) -> None:
    trigger, call = _MOVES[name]
    with TwoWindows(trigger, tmp_path, model.screen.environment) as windows:
        said = model.says(f'<focus_window title="{FIRST}"/>', call, mode="yolo")
        time.sleep(0.5)
        assert windows.has_come_up, said
        reached = [line for line in windows.reached if line.startswith(("key", "press", "release"))]
    assert (reached, "✗" in said) == ([], True), said
