"""What the buttons of the mouse do where they go down and come up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Decision, Policy, Provenance
from app.agent.policy.call_analysis import of_pointing
from app.assembly import registry
from app.protocol.call import ToolCall
from tests.support.controls import described

SPECS = {spec.name: spec for spec in registry().specs}
TERMINAL = described("Shell", "xterm", "terminal", is_terminal=True)
LABEL = described("Notes", "notes", "label", "Groceries")


@pytest.mark.parametrize(
    ("tool", "seen"),
    [
        ("computer_drag", (LABEL, TERMINAL)),
        ("computer_drag", (TERMINAL, LABEL)),
        ("computer_drag", (TERMINAL, TERMINAL)),
        ("computer_click", (TERMINAL,)),
        ("mouse_up", (TERMINAL,)),
    ],
)
def test_the_middle_button_pastes_into_a_terminal(tool: str, seen: tuple[Control, ...]) -> None:
    assert of_pointing(ToolCall("c1", tool, {"button": "middle"}), SPECS[tool], seen, "")


def test_the_left_button_selects_in_a_terminal() -> None:
    assert not of_pointing(ToolCall("c1", "computer_drag", {}), SPECS["computer_drag"], (TERMINAL, TERMINAL), "")


def test_a_drag_of_a_windows_frame_moves_the_window_wherever_it_ends() -> None:
    frame = described("Shell", "xterm", is_frame=True, is_terminal=True)
    assert not of_pointing(ToolCall("c1", "computer_drag", {}), SPECS["computer_drag"], (frame, TERMINAL), "")
    assert of_pointing(ToolCall("c1", "computer_drag", {}), SPECS["computer_drag"], (LABEL, TERMINAL), "")
    assert of_pointing(
        ToolCall("c1", "computer_drag", {"button": "middle"}), SPECS["computer_drag"], (frame, TERMINAL), ""
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("computer_move", {"path": "~/.bashrc", "x": 1, "y": 2}),
        ("computer_move", {"target": ".bashrc"}),
        ("computer_drag", {"path": ".git/hooks"}),
        ("choose_menu", {"path": ".profile"}),
    ],
)
def test_a_path_of_the_pointer_or_through_a_menu_is_no_file(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    verdict = Policy(tmp_path).decide(ToolCall("c1", tool, arguments), SPECS[tool], (), Provenance())
    assert (verdict.decision, verdict.act and verdict.act.paths) == (Decision.ALLOW, ())
