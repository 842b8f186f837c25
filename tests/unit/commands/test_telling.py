"""What `wisp do` and `wisp doctor` print for a person at a terminal."""

from __future__ import annotations

import pytest

from app.agent.agent_events import AgentEvent, Outcome, SayDelta, TagStart, ToolFinished, TurnEnded
from app.commands import doctor
from app.commands.do import TurnPrinter

_MISSING = "computer_click: Nothing on the screen fits 'Save'. Point by x and y. Capture c1, 1280x800."
_TOLD = "Could not click a place on the screen: Nothing on the screen fits “Save”."
_LONG = "computer_click: " + "Nothing fits; " * 40 + "end."


def _finished(echo: str, *, ok: bool) -> ToolFinished:
    return ToolFinished("c1", "computer_click", ok, "acted", {}, echo)


def _said(text: str) -> list[AgentEvent]:
    return [TagStart("s1", "say", voiced=True), *(SayDelta("s1", "", piece) for piece in text.split("|"))]


def _ended(text: str, outcome: Outcome = Outcome.FINISHED) -> TurnEnded:
    return TurnEnded("t1", outcome, text)


@pytest.mark.parametrize(
    ("events", "printed"),
    [
        pytest.param(
            [
                _finished(_MISSING, ok=False),
                *_said("I could not click it: |Nothing on the screen fits 'Save'."),
                _ended("I could not click it: Nothing on the screen fits 'Save'.", Outcome.FAILED),
            ],
            "I could not click it: Nothing on the screen fits 'Save'.\n",
            id="a failure that the speech names is told once",
        ),
        pytest.param(
            [_finished(_MISSING, ok=False), *_said("I try another way."), _ended("I try another way.")],
            f"  ✗ {_TOLD}\nI try another way.\n",
            id="a failure that nothing names comes before the speech",
        ),
        pytest.param(
            [_finished(_LONG, ok=False), _ended("")],
            f"  ✗ Could not click a place on the screen: {_LONG[16:]}\n",
            id="a failure is told whole",
        ),
        pytest.param(
            [_finished(_MISSING, ok=False), _finished("Clicked.", ok=True), _ended("Done.")],
            f"  ✗ {_TOLD}\n  ✓ Clicked.\nDone.\n",
            id="a failure comes before the next act",
        ),
        pytest.param(
            [*_said("Which file?"), _finished("Looked.", ok=True), _ended("Which file?", Outcome.WAITING)],
            "Which file?\n  ✓ Looked.\nWhich file?\n",
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


@pytest.mark.parametrize("address", [None, "unix:path=/nowhere/bus"])
def test_the_doctor_blames_a_missing_session_bus_and_not_the_accessibility_service(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    found = doctor.accessibility()
    assert "this session has no D-Bus" in found.detail
    assert ("at-spi2-core" in found.fix, "dbus-run-session" in found.fix) == (False, True)
