"""What the buttons of the mouse do where they go down and come up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Decision, Mode, Policy, Provenance
from app.agent.policy.pointing import of_pointing
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


@pytest.mark.parametrize(
    ("app", "name", "said", "decision"),
    [
        ("chromium", "Delete all mail", "", Decision.ASK),
        ("chromium", "Delete all mail", "Press Delete all mail.", Decision.ALLOW),
        ("chromium", "Next page", "", Decision.ALLOW),
        ("chromium", "", "", Decision.ALLOW),
        ("Mousepad", "Delete all mail", "", Decision.ALLOW),
    ],
)
def test_a_page_may_do_what_its_control_says_by_the_pointer_alone(
    tmp_path: Path, app: str, name: str, said: str, decision: Decision
) -> None:
    known = Provenance(said=said, instructions=said)
    control = (described("Mail", app, "button", name),)
    for call in (ToolCall("c1", "computer_move", {"target": name}), ToolCall("c1", "computer_move", {"host": "x.com"})):
        assert Policy(tmp_path).decide(call, SPECS["computer_move"], control, known).decision is decision
    step = registry().find_step("page_hover")
    assert step is not None and step.name == "computer_move"


def test_pointing_alone_does_nothing_to_wisps_own_window_a_terminal_or_what_a_dialog_saves(tmp_path: Path) -> None:
    for control in (
        described("Wisp", "wisp", "button", "Allow", is_own=True),
        TERMINAL,
        described("Save As", "Mousepad", "button", "Save", is_dialog=True, fields=(".bashrc",)),
    ):
        verdict = Policy(tmp_path).decide(
            ToolCall("c1", "computer_move", {"x": 1, "y": 2}), SPECS["computer_move"], (control,), Provenance()
        )
        assert verdict.decision is Decision.ALLOW


@pytest.mark.parametrize("tool", ["computer_click", "mouse_down", "computer_drag"])
def test_pointing_at_a_slider_sets_what_its_label_says(tool: str) -> None:
    for name, is_asked in [("Transfer to Eve (EUR)", True), ("Volume", False)]:
        slider = described("Bank", "gtk", "slider", name)
        seen = (slider, LABEL) if tool == "computer_drag" else (slider,)
        assert bool(of_pointing(ToolCall("c1", tool, {}), SPECS[tool], seen, "")) is is_asked


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("computer_drag", {"from": "a.txt", "to": "Password"}),
        ("computer_click", {"target": "Password", "button": "middle"}),
        ("mouse_up", {"target": "Password"}),
    ],
)
def test_nothing_is_dropped_into_a_password_field(
    tmp_path: Path, tool: str, arguments: dict[str, Any], mode: Mode
) -> None:
    file, login = (
        described("Files", "caja", "icon", "a.txt", ref="w9"),
        described("Login", "zenity", "password text", "Password"),
    )
    seen = (file, login) if tool == "computer_drag" else (login,)
    verdict = Policy(tmp_path, mode).decide(ToolCall("c1", tool, arguments), SPECS[tool], seen, Provenance())
    assert verdict.decision is Decision.DENY
