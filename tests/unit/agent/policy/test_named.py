"""What the person named counts as answered for acts of unknown effect, and nothing more."""

from __future__ import annotations

import pytest

from app.agent.policy import call_analysis
from app.agent.policy.values import Control, ControlWindow, Provenance

_OPENED = Provenance(said="open the calculator and type 12*7=", opened=frozenset({"w1"}))


@pytest.mark.parametrize(
    ("window", "is_answered"),
    [
        (ControlWindow(title="Sums", app="galculator", ref="w1"), True),
        (ControlWindow(title="Sums", app="galculator", ref="w2"), False),
        (ControlWindow(title="Sums", app="xterm", ref="w1", is_terminal=True), False),
        (ControlWindow(title="Sums", app="files", ref="w1", is_launcher=True), False),
        (ControlWindow(title="Calculator", app="something", ref="w2"), True),
    ],
)
def test_a_window_that_the_turn_opened_by_the_persons_name_is_answered(
    window: ControlWindow, is_answered: bool
) -> None:
    assert call_analysis.is_answered([Control(window=window)], _OPENED) is is_answered


@pytest.mark.parametrize(
    ("name", "said", "is_named"),
    [
        ("calculator", "Open the Calculator, please", True),
        ("text editor", "open the text editor", True),
        ("text editor", "open the editor", False),
        ("the", "open the editor", False),
        ("", "open the editor", False),
    ],
)
def test_every_word_of_a_name_must_be_said(name: str, said: str, is_named: bool) -> None:
    assert call_analysis.is_named(name, said) is is_named
