"""The minimised presence, the ways of the keyboard, and what screen readers are told."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.base.clock import SystemClock
from app.features.schedule.agenda import standard_agenda
from app.features.schedule.watching import watch_schedules
from app.ui.cards.card import CardRow
from app.ui.orb.state import Orb
from app.ui.presence import Presence
from tests.support.gallery import samples
from tests.support.observer import observe
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent, hand, point

_PRESS = """
import gi, sys
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi

def look(node):
    if node is None or not node.get_state_set().contains(Atspi.StateType.SHOWING):
        return
    if node.get_name() == sys.argv[2]:
        node.get_action_iface().do_action(0)
    for index in range(node.get_child_count()):
        look(node.get_child_at_index(index))

desk = Atspi.get_desktop(0)
for index in range(desk.get_child_count()):
    program = desk.get_child_at_index(index)
    if program is not None and program.get_name() == sys.argv[1]:
        for at in range(program.get_child_count()):
            look(program.get_child_at_index(at))
"""


def pressed(name: str) -> None:
    """Press it through the accessibility bus, from another program."""
    command = ["/usr/bin/python3", "-W", "ignore", "-c", _PRESS, QApplication.applicationName(), name]
    subprocess.run(command, check=True, timeout=20)


def test_closed_the_work_goes_on_beside_the_orb_and_a_click_opens_it_again(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("something long")
        await until(lambda: presence.inbox.view.running)
        agent.tell(agent_events.TagStart("1", "open_app", {"name": "Calculator"}))
        await until(lambda: presence.stage.is_open and presence.inbox.view.doing)
        qtbot.mouseClick(presence.bubble.header.close_button, Qt.MouseButton.LeftButton)
        chip = presence.stage.caption
        assert (presence.is_open, chip.isVisible()) == (False, True)
        assert chip.accessibleName() == "Opening Calculator"
        assert chip.body_rect().overlap(presence.orb.rest_rect()) is None
        agent.tell(agent_events.TagStart("2", "open_app", {"name": "Editor"}))
        await until(lambda: chip.accessibleName() == "Opening Editor")
        await point(chip, "click", 1)
        await until(lambda: presence.stage.is_open)
        assert not chip.isVisible()
        agent.stop()

    drive(person())


def test_closed_what_is_said_stands_beside_the_orb_one_line_at_a_time(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.holds = True
    said: list[tuple[str, str]] = []

    async def person() -> None:
        presence.send("something long")
        await until(lambda: presence.inbox.view.running)
        agent.tell(agent_events.SayDelta("s0", "warm", "This was seen in the surface."))
        await until(lambda: len(presence.inbox.view.items) == 2)
        presence.close()
        caption = presence.stage.caption
        agent.tell(
            agent_events.SayDelta("s1", "calm", "I open the calculator. "),
            agent_events.SayDelta("s1", "calm", "Then I type."),
            agent_events.SayDelta("s2", "urgent", "Stop that!"),
        )

        def heard() -> bool:
            now = (caption.accessibleDescription(), caption.accessibleName())
            if now[0] in ("calm", "urgent") and said[-1:] != [now]:
                said.append(now)
            assert caption.body_rect().overlap(presence.orb.rest_rect()) is None
            return len(said) == 3

        await until(heard)
        assert said == [("calm", "I open the calculator."), ("calm", "Then I type."), ("urgent", "Stop that!")]
        agent.stop()

    drive(person())


def test_closed_the_end_of_the_turn_is_told(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("something long")
        await until(lambda: presence.inbox.view.running and presence.stage.is_open)
        presence.close()
        agent.stop()
        await until(lambda: presence.stage.caption.accessibleName() == "Done")
        assert presence.inbox.view.unread == 1

    drive(person())


def test_closed_where_nothing_runs_nothing_stands_beside_the_orb(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent and not presence.inbox.view.running and presence.stage.is_open)
        presence.close()
        assert (presence.is_open, presence.stage.caption.isVisible()) == (False, False)

    drive(person())


def test_a_question_opens_the_bubble_once_and_stays_closed_when_the_person_closes_it(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.approval())
        await until(lambda: presence.stage.is_open)
        presence.close()
        agent.tell(agent_events.Notice("info", "Still waiting."))
        await until(lambda: len(presence.inbox.view.items) == 5)
        assert not presence.is_open
        assert presence.orb.state is Orb.NEEDS_YOU

    drive(person())


def test_f6_leads_from_the_composer_into_the_thread_and_tab_reaches_every_control_in_its_order(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.approval(), *samples.question())
        await until(lambda: len(presence.inbox.view.items) > 4)
        presence.open()
        await until(presence.composer.field.hasFocus)
        await hand("key", "F6")
        await until(presence.bubble.isActiveWindow)
        reached = []
        for _ in range(30):
            now = presence.bubble.focusWidget()
            assert now is not None
            reached.append(now)
            await hand("key", "Tab")
            await until(lambda now=now: presence.bubble.focusWidget() is not now)
        header = presence.bubble.header
        wanted = {header.more, header.close_button, presence.composer.field}
        wanted |= {child for child in presence.bubble.findChildren(CardRow) if child.isVisible()}
        assert wanted <= set(reached)
        await hand("key", "F6")
        await until(presence.composer.isActiveWindow)

    drive(person())


@pytest.mark.long
def test_a_screen_reader_hears_what_everything_is_and_can_press_it(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.script = [
        agent_events.SayDelta("s", "warm", "Good morning."),
        agent_events.TagStart("1", "execute_command", {"command": "ls"}),
        agent_events.ToolProgress("1", "output", {"output": "a.txt\n"}),
        agent_events.ToolFinished("1", "execute_command", True, "ran"),
    ]

    def seen() -> list[tuple[str, str]]:
        return [(node.role, node.name) for node in observe(QApplication.applicationName(), window="Wisp")]

    async def person() -> None:
        presence.send("go")
        await until(lambda: presence.stage.is_open and not presence.inbox.view.running)
        nodes: list[tuple[str, str]] = []
        while ("list item", "Ran ls") not in nodes:
            nodes = await asyncio.to_thread(seen)
        for expected in (
            ("push button", "Wisp"),
            ("frame", "Wisp"),
            ("tool bar", "Wisp"),
            ("push button", "More"),
            ("push button", "Close"),
            ("list", "Conversation"),
            ("list item", "You said"),
            ("list item", "Wisp says"),
            ("push button", "Send"),
        ):
            assert expected in nodes, nodes
        assert not [node for node in nodes if node[0] == "filler" and node[1]]
        read = " / ".join(name for role, name in nodes if role == "list item")
        assert "You said / Wisp says / Ran ls" in read
        (card,) = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, CardRow)]
        assert card.is_open
        await asyncio.to_thread(pressed, "Ran ls")
        await until(lambda: not card.is_open)

    drive(person())


def test_closed_a_reminder_stands_beside_the_orb_until_the_bubble_opens(
    qtbot: QtBot, presence: Presence, drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path))
    agenda = standard_agenda(SystemClock())
    agenda.post("reminder", "Drink some water", "")
    agenda.close()

    async def person() -> None:
        watching = asyncio.ensure_future(watch_schedules(presence.tell))
        caption = presence.stage.caption
        await until(caption.isVisible)
        assert caption.accessibleName() == "Reminder: Drink some water"
        caption.show_view(presence.inbox.view)
        hides = next(timer for timer in caption.findChildren(QTimer) if timer.isSingleShot())
        assert not hides.isActive()
        assert (presence.is_open, presence.inbox.view.unread) == (False, 1)
        await point(caption, "click", 1)
        await until(lambda: presence.stage.is_open and not caption.isVisible())
        watching.cancel()

    drive(person())
