"""The presence, the agent and a real calculator in one process, driven with a real pointer and a real keyboard."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.agent.agent_events import AgentEvent, Outcome, TurnEnded
from app.assistant import Assistant, assemble
from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings
from app.ui import application
from app.ui.approvals.devices import WITNESS
from app.ui.presence import Presence
from app.ui.presenter.view import Card, SpokenItem, Status
from scripts.device import PersonsDevices
from tests.support.observer import observe
from tests.support.waiting import eventually, until
from tests.ui.conftest import without_a_compositor

pytestmark = without_a_compositor
WISH = "open the calculator and type 12*7="


def _calculator_shows(number: str) -> bool:
    return any((node.text or "").strip() == number for node in observe("galculator"))


def _by_hand(*arguments: str) -> None:
    subprocess.run(["xdotool", *arguments], check=True, timeout=20)


@pytest.fixture(autouse=True)
def person(desktop: VirtualDesktop) -> Iterator[PersonsDevices]:
    """A keyboard and a mouse that are not made up: Wisp heeds no others."""
    WITNESS.use(None)
    devices = PersonsDevices(desktop.environment)
    yield devices
    devices.close()


async def _say_it(presence: Presence, person: PersonsDevices) -> None:
    """Click the orb, type the wish, press Enter: from outside, as a person would."""
    orb = presence.orb.frameGeometry().center()
    await asyncio.to_thread(_by_hand, "mousemove", str(orb.x()), str(orb.y()))
    person.click()
    await until(lambda: presence.is_open and presence.composer.isActiveWindow())
    person.type(f"{WISH}\n")


@pytest.mark.flaky(reruns=1)  # a real calculator
def test_a_click_a_wish_and_enter_leave_84_in_a_real_calculator(
    qtbot: QtBot, desktop: VirtualDesktop, person: PersonsDevices
) -> None:
    events: list[AgentEvent] = []
    shown: list[Presence] = []

    def connect(curtain: object) -> Assistant:
        assistant = assemble(Settings({}, {}), curtain=curtain)  # type: ignore[arg-type]
        assistant.subscribe(events.append)
        return assistant

    async def story() -> None:
        await until(lambda: bool(shown))
        await _say_it(shown[0], person)
        await until(lambda: any(isinstance(event, TurnEnded) for event in events))
        # From a thread: the observer asks every program on the desktop, and this one must be able to answer.
        assert await asyncio.to_thread(eventually, lambda: _calculator_shows("84"))

    code = application.run(connect, Settings({}, {}), on_ready=shown.append, quit_when=story())

    ended = next(event for event in events if isinstance(event, TurnEnded))
    items = shown[0].inbox.view.items
    cards = [(card.tool, card.status) for card in items if isinstance(card, Card)]
    assert (code, ended.outcome) == (0, Outcome.FINISHED)
    assert [tool for tool, _ in cards] == ["open_app", "computer_type"]
    assert {status for _, status in cards} <= {Status.OK, Status.UNVERIFIED}
    assert any(isinstance(item, SpokenItem) for item in items)
