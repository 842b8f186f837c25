"""What `wisp do` and `wisp doctor` print for a person at a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, Outcome, SayDelta, TagStart, ToolFinished, ToolRunning, TurnEnded
from app.base.facts import Fact, Failed, Ran, Removed, Seen, Undoable, WindowChanged, WindowEvent
from app.base.phrases import Phrase
from app.commands import doctor
from app.commands.do import TurnPrinter

_MISSING = Failed(Phrase("Nothing on the screen fits {name!r}.", {"name": "Save"}), "Point by x and y.")
_TOLD = "Could not click a place on the screen · Nothing on the screen fits “Save”."
_LONG = "Nothing fits; " * 40 + "end."


def _finished(why: Failed | None = None) -> ToolFinished:
    return ToolFinished("c1", "computer_click", why is None, "acted", facts=(why,) if why else ())


def _said(text: str) -> list[AgentEvent]:
    return [TagStart("s1", "say", voiced=True), *(SayDelta("s1", "", piece) for piece in text.split("|"))]


def _ended(text: str, outcome: Outcome = Outcome.FINISHED) -> TurnEnded:
    return TurnEnded("t1", outcome, text)


@pytest.mark.parametrize(
    ("events", "printed"),
    [
        pytest.param(
            [
                _finished(_MISSING),
                TagStart("s1", "say", {"told_by_card": "true"}, voiced=True),
                SayDelta("s1", "", "I could not click it."),
                TurnEnded("t1", Outcome.FAILED, "I could not click it.", told_by_card=True),
            ],
            f"  ✗ {_TOLD}\n",
            id="a failure that its line tells is told once",
        ),
        pytest.param(
            [_finished(_MISSING), *_said("I try another way."), _ended("I try another way.")],
            f"  ✗ {_TOLD}\nI try another way.\n",
            id="a failure that nothing names comes before the speech",
        ),
        pytest.param(
            [*_said("On it."), TagStart("s2", "say", voiced=True), SayDelta("s2", "", "Done."), _ended("Done.")],
            "On it.\nDone.\n",
            id="speech begins on a line of its own",
        ),
        pytest.param(
            [_finished(Failed(Phrase(_LONG))), _ended("")],
            f"  ✗ Could not click a place on the screen · {_LONG}\n",
            id="a failure is told whole",
        ),
        pytest.param(
            [_finished(_MISSING), _finished(), _ended("Done.")],
            f"  ✗ {_TOLD}\n  ✓ Clicked a place on the screen\nDone.\n",
            id="a failure comes before the next act",
        ),
        pytest.param(
            [
                ToolRunning("c1", "execute_command", {"command": "sleep 100"}),
                ToolFinished("c1", "execute_command", False, "acted", {"interrupted": True}),
                _ended("Stopped.", Outcome.STOPPED),
            ],
            "  ✗ Stopped sleep 100\n",
            id="what the person stopped is no failure",
        ),
        pytest.param(
            [
                ToolFinished("c1", "execute_command", True, "acted", {"deleted": ["a"], "put_back": "t1"}, ""),
                _ended(""),
            ],
            "  ✓ Ran\n  The command deleted 1 file. `wisp undo --turn t1` puts it back.\n",
            id="how a deleted file comes back is said in a few words",
        ),
        pytest.param(
            [
                ToolFinished("c1", "delete_app", True, "", {"name": "Egg"}, facts=(Removed(), Undoable())),
                _ended("Deleted Egg."),
            ],
            "  ✓ Deleted Egg\n  `wisp undo` brings it back.\nDeleted Egg.\n",
            id="how a deleted app comes back is said in a few words",
        ),
        pytest.param(
            [
                ToolFinished("c1", "create_app", True, "launch_app", {"name": "Timer"}, ""),
                _ended("Timer was there already."),
            ],
            "  ✓ Opened Timer\nTimer was there already.\n",
            id="what was only opened is not said to be made",
        ),
        pytest.param(
            [
                ToolFinished(
                    "c1",
                    "execute_command",
                    False,
                    "tool_error",
                    {"denied": True, "asked": "Wisp wants to delete a.txt."},
                    facts=(Failed(Phrase("It needs your permission, and you were not there to give it.")),),
                ),
                _ended("I left it."),
            ],
            "  ? Wisp wants to delete a.txt.\n"
            "  ✗ Could not run · It needs your permission, and you were not there to give it.\n"
            "I left it.\n",
            id="the question that nobody was there to answer is told before the failure",
        ),
        pytest.param(
            [*_said("Which file?"), _finished(), _ended("Which file?", Outcome.WAITING)],
            "Which file?\n  ✓ Clicked a place on the screen\nWhich file?\n",
            id="a question is the last thing on the screen",
        ),
        pytest.param(
            [*_said("Which file?"), _ended("Which file?", Outcome.WAITING)],
            "Which file?\n",
            id="a question is told once",
        ),
    ],
)
def test_a_turn_is_told_once_whole_and_in_order(
    events: list[AgentEvent], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printer = TurnPrinter()
    for event in events:
        printer(event)
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("tool", "arguments", "payload", "facts", "printed"),
    [
        ("read_screen", {}, {}, [], "✓ Read the screen"),
        ("open_app", {"name": "calculator"}, {}, [WindowChanged(WindowEvent.OPENED, "Calc")], "✓ Opened calculator"),
        ("delete_file", {"path": "a.txt"}, {"trashed": True}, [], "✓ Deleted a.txt · moved to the trash"),
        ("execute_command", {"command": "ls *.txt"}, {}, [Ran(2)], "✗ Ran ls *.txt · exit code 2"),
        ("execute_command", {"command": "a"}, {}, [Ran(-9)], "✗ Ran a · ended by signal 9 (KILL)"),
        ("computer_key", {"keys": "F9"}, {}, [Seen("unverifiable")], "✓ Pressed F9 · not confirmed"),
        (
            "computer_key",
            {"keys": "ctrl+s"},
            {},
            [WindowChanged(WindowEvent.OPENED, "Save As"), Seen("confirmed")],
            "✓ Pressed ctrl+s · “Save As” opened",
        ),
        ("cron", {"action": "list"}, {"count": 0}, [], "✓ Looked up what is planned"),
        ("weather/today", {}, {}, [], "✓ Used weather/today"),
    ],
)
def test_a_line_tells_what_was_done_and_what_came_of_it(
    tool: str, arguments: dict[str, str], payload: dict[str, Any], facts: list[Fact], printed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    printer = TurnPrinter()
    printer(ToolRunning("c1", tool, arguments))
    printer(ToolFinished("c1", tool, True, tool, payload, "What models read.", facts=tuple(facts)))
    assert capsys.readouterr().out == f"  {printed}\n"


@pytest.mark.parametrize(
    ("tool", "payload", "facts", "printed"),
    [
        ("computer_click", {"target": "Sichern"}, [], "✓ Geklickt auf Sichern"),
        ("computer_type", {"text": "hallo"}, [], "✓ Getippt: „hallo“"),
        ("computer_key", {"keys": "F9"}, [Seen("unverifiable")], "✓ Gedrückt: F9 · nicht bestätigt"),
        ("execute_command", {"command": "ls"}, [Ran(2)], "✗ Ausgeführt: ls · endete mit Code 2"),
    ],
)
def test_what_was_done_is_told_in_the_language_of_the_task(
    tool: str, payload: dict[str, Any], facts: list[Fact], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    TurnPrinter(language="de")(ToolFinished("c1", tool, True, tool, payload, facts=tuple(facts)))
    assert capsys.readouterr().out == f"  {printed}\n"


@pytest.mark.parametrize("address", [None, "unix:path=/nowhere/bus"])
def test_the_doctor_blames_a_missing_session_bus_and_not_the_accessibility_service(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    found = doctor.accessibility()
    assert "no D-Bus" in found.detail
    assert ("at-spi2-core" in found.fix, "dbus-run-session" in found.fix) == (False, True)
