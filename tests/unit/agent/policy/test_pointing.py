"""What the buttons of the mouse do where they go down and come up."""

from __future__ import annotations

import pytest

from app.agent.policy import Control
from app.agent.policy.call_analysis import of_pointing
from app.protocol.call import ToolCall

TERMINAL = Control("Shell", "xterm", "terminal", is_terminal=True)
LABEL = Control("Notes", "notes", "label", "Groceries")


@pytest.mark.parametrize(
    ("tool", "aim", "seen"),
    [
        ("computer_drag", "ends", (LABEL, TERMINAL)),
        ("computer_drag", "ends", (TERMINAL, LABEL)),
        ("computer_drag", "ends", (TERMINAL, TERMINAL)),
        ("computer_click", "point", (TERMINAL,)),
        ("mouse_up", "point", (TERMINAL,)),
    ],
)
def test_the_middle_button_pastes_into_a_terminal(tool: str, aim: str, seen: tuple[Control, ...]) -> None:
    assert of_pointing(ToolCall("c1", tool, {"button": "middle"}), aim, seen, "")


def test_the_left_button_selects_in_a_terminal() -> None:
    assert not of_pointing(ToolCall("c1", "computer_drag", {}), "ends", (TERMINAL, TERMINAL), "")


def test_a_drag_of_a_windows_frame_moves_the_window_wherever_it_ends() -> None:
    frame = Control("Shell", "xterm", is_frame=True, is_terminal=True)
    assert not of_pointing(ToolCall("c1", "computer_drag", {}), "ends", (frame, TERMINAL), "")
    assert of_pointing(ToolCall("c1", "computer_drag", {}), "ends", (LABEL, TERMINAL), "")
    assert of_pointing(ToolCall("c1", "computer_drag", {"button": "middle"}), "ends", (frame, TERMINAL), "")
