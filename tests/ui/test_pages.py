"""The bubble's pages: past conversations, the inbox, usage; driven by clicks and keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.agent.recording import ExportFormat, PastConversation
from app.ui.bubble.speech import AskedRow
from app.ui.pages import pages
from app.ui.pages.pages import HistoryPage, InboxPage, UsagePage
from app.ui.presence import Presence
from app.ui.presenter.view import Asked, TurnOutcome
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent, MemoryArchive

LETTER = PastConversation("c1", "The letter to Anna", 100.0, 200.0, 2, 0.12)
TAXES = PastConversation("c2", "Taxes: 2025/26", 300.0, 400.0, 5, 0.5)
SAID: list[agent_events.AgentEvent] = [
    agent_events.TurnStarted("t9", "write to Anna"),
    agent_events.TurnEnded("t9", agent_events.Outcome.FINISHED, "It is sent."),
]


@pytest.fixture
def agent() -> FakeAgent:
    made = FakeAgent()
    made.archive = MemoryArchive({LETTER: SAID, TAXES: []})
    return made


def titles(page: HistoryPage) -> list[str]:
    return [page.list.item(row).text() for row in range(page.list.count())]


def chosen(presence: Presence, entry: str) -> None:
    """An entry of the bar's menu."""
    menu = presence.bubble.header.menu()
    next(action for action in menu.actions() if action.text() == entry).trigger()
    menu.deleteLater()


async def history(qtbot: QtBot, presence: Presence) -> HistoryPage:
    """The page, opened by the menu of the bar, with what the archive holds."""
    chosen(presence, "Conversations")
    page = presence.panels.history
    await until(lambda: presence.bubble.page is page and titles(page))
    return page


def test_past_conversations_are_listed_searched_and_opened_again(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        page = await history(qtbot, presence)
        assert titles(page) == ["Taxes: 2025/26", "The letter to Anna"]
        await until(page.search.hasFocus)
        qtbot.keyClicks(page.search, "letter")
        await until(lambda: titles(page) == ["The letter to Anna"])
        qtbot.keyClick(page.search, Qt.Key.Key_Return)
        await until(lambda: presence.bubble.page is None)
        assert agent.reopened == ["c1"]
        items = presence.inbox.view.items
        assert [item.text for item in items if isinstance(item, (Asked, TurnOutcome))] == [
            "write to Anna",
            "It is sent.",
        ]
        assert any(isinstance(row, AskedRow) for row in presence.bubble.thread_view.realised.values())

    drive(person())


def test_a_new_conversation_begins_empty(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        presence.send("hello")
        await until(lambda: presence.inbox.view.items)
        page = await history(qtbot, presence)
        qtbot.mouseClick(page.new, Qt.MouseButton.LeftButton)
        await until(lambda: not presence.inbox.view.items)
        assert agent.reopened == [""]
        assert presence.bubble.page is None

    drive(person())


def test_while_it_works_no_other_conversation_begins(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("something long")
        await until(lambda: presence.inbox.view.running)
        page = await history(qtbot, presence)
        qtbot.mouseClick(page.new, Qt.MouseButton.LeftButton)
        await until(page.note.isVisible)
        assert page.note.text() == "Wisp is still working. Stop it first."
        assert agent.reopened == []
        agent.stop()

    drive(person())


def test_a_conversation_gets_another_name_in_its_place(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        page = await history(qtbot, presence)
        page.list.setFocus()
        qtbot.keyClick(page.list, Qt.Key.Key_F2)
        (editor,) = page.list.viewport().findChildren(QLineEdit)
        editor.selectAll()
        qtbot.keyClicks(editor, "Money")
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        await until(lambda: titles(page) == ["Money", "The letter to Anna"])
        found = await agent.archive.conversations("money")
        assert [one.title for one in found] == ["Money"]

    drive(person())


def test_a_conversation_is_deleted_only_after_the_person_was_asked(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        page = await history(qtbot, presence)
        page.list.setFocus()
        qtbot.keyClick(page.list, Qt.Key.Key_Delete)
        assert page.question.isVisible()
        assert "Taxes: 2025/26" in page.question.findChildren(QLabel)[0].text()
        await until(page.question.keep.hasFocus)
        qtbot.keyClick(page.question.keep, Qt.Key.Key_Space)
        assert not page.question.isVisible()
        assert len(await agent.archive.conversations()) == 2
        qtbot.keyClick(page.list, Qt.Key.Key_Delete)
        qtbot.mouseClick(page.question.delete, Qt.MouseButton.LeftButton)
        await until(lambda: titles(page) == ["The letter to Anna"])
        assert await agent.archive.conversations() == [LETTER]

    drive(person())


def test_a_conversation_is_saved_where_the_person_says(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    proposed: list[str] = []

    def where(proposal: str) -> str:
        proposed.append(Path(proposal).name)
        return str(tmp_path / Path(proposal).name)

    async def person() -> None:
        page = await history(qtbot, presence)
        presence.panels.ask_where = where
        entries = {action.text(): action for action in page.menu_of("c2").actions()}
        assert [*filter(None, entries)] == ["Open", "Rename", "Save as Markdown…", "Save as JSON…", "Delete…"]
        entries["Save as Markdown…"].trigger()
        await until(lambda: (tmp_path / "Taxes 2025 26.md").is_file() and page.note.isVisible())
        entries["Save as JSON…"].trigger()
        await until((tmp_path / "Taxes 2025 26.json").is_file)
        assert proposed == ["Taxes 2025 26.md", "Taxes 2025 26.json"]
        assert json.loads((tmp_path / proposed[1]).read_text(encoding="utf-8"))["title"] == "Taxes: 2025/26"
        presence.panels.ask_where = lambda _: str(tmp_path / "nowhere" / "x.md")
        entries["Save as Markdown…"].trigger()
        await until(lambda: page.note.text().startswith("It could not be saved there"))
        assert await agent.archive.export("c2", ExportFormat.MARKDOWN) == "# Taxes: 2025/26\n"

    drive(person())


def test_what_the_archive_cannot_do_is_said_on_the_page(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        page = await history(qtbot, presence)
        await agent.archive.delete("c2")
        page.list.picked.emit("c2")
        await until(page.note.isVisible)
        assert page.note.text() == "This conversation is not kept any more."

    drive(person())


def test_what_happened_while_nobody_looked_waits_in_the_inbox(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(
            agent_events.TurnStarted("t", "go"),
            agent_events.Notice("warning", "The disk is nearly full."),
            agent_events.TurnEnded("t", agent_events.Outcome.FINISHED, "All done."),
        )
        await until(lambda: presence.inbox.view.unseen == 2)
        assert presence.inbox.view.unread == 2
        presence.open()
        header = presence.bubble.header
        assert header.more.accessibleName() == "More (2)"
        chosen(presence, "What happened (2)")
        page = presence.bubble.page
        assert isinstance(page, InboxPage)
        shown = [page.list.item(row).text() for row in range(page.list.count())]
        assert shown == ["All done.", "The disk is nearly full."]
        assert header.more.accessibleName() == "More"
        qtbot.keyClick(page.list, Qt.Key.Key_Return)
        assert presence.bubble.page is None
        presence.open_page("news")
        qtbot.mouseClick(page.clear, Qt.MouseButton.LeftButton)
        assert (page.list.count(), page.empty.isVisible()) == (0, True)

    drive(person())


def test_usage_tells_this_turn_the_conversation_and_today(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        for tokens, cost in ((1000, 0.5), (200, 0.25)):
            agent.tell(agent_events.TurnStarted("t", "go"), agent_events.UsageChanged(tokens, 30, 4, 5, cost))
        await until(lambda: presence.inbox.view.turn.input_tokens == 200)
        presence.open_page("usage")
        page = presence.bubble.page
        assert isinstance(page, UsagePage)
        turn, conversation, today = ([cell.text() for cell in cells] for cells in page.cells)
        assert turn == ["205", "30", "4", "$0.25"]
        assert conversation == ["1,210", "60", "8", "$0.75"]
        agent.tell(agent_events.UsageChanged(300, 30, 4, 5, None))
        await until(lambda: page.cells[0][3].text() == "–")
        await until(lambda: page.cells[2][3].text() == "$0.00")
        assert today[0] in ("–", "0")

    drive(person())


def test_escape_goes_back_to_the_thread_and_then_closes(qtbot: QtBot, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        presence.tell("info", "Something to show.")
        page = await history(qtbot, presence)
        await until(page.search.hasFocus)
        qtbot.keyClick(page.search, Qt.Key.Key_Escape)
        assert presence.bubble.page is None
        assert presence.bubble.thread_view.isVisible()
        qtbot.keyClick(presence.bubble, Qt.Key.Key_Escape)
        assert not presence.is_open

    drive(person())


def test_what_is_sent_and_what_is_asked_is_seen_whatever_page_is_open(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.open_page("usage")
        assert presence.bubble.page is not None
        presence.send("hello")
        assert presence.bubble.page is None
        await until(lambda: agent.sent)
        presence.open_page("usage")
        agent.tell(*samples.approval())
        await until(lambda: presence.bubble.page is None)

    drive(person())


def test_moments_and_money_are_words() -> None:
    assert [pages.ago(seconds) for seconds in (5, 300, 7200, 200_000)] == [
        "now",
        "5 min ago",
        "2 h ago",
        "2 days ago",
    ]
    assert [pages.money(cost) for cost in (None, 0.0, 0.004, 1234.5)] == ["–", "$0.00", "< $0.01", "$1,234.50"]
    assert [pages.turns(count) for count in (1, 3)] == ["1 task", "3 tasks"]
    day = 86400.0
    assert pages.moment(20_000 * day, 20_001 * day).startswith("Yesterday, ")
    assert pages.moment(20_000 * day, 20_000 * day) == pages.moment(20_000 * day, 20_000 * day + 60)
