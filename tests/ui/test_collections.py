"""The pages of what Wisp keeps: what is planned, what is remembered, the tool servers. Driven by clicks and keys, over
the real stores, and what is due is run by a real Wisp.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.assembly import agenda, memory
from app.base import paths
from app.base.clock import SystemClock
from app.commands.collection import collection
from app.commands.presence import watch_schedules
from app.services.mcp.servers import McpServers, standard_pins
from app.services.memory import Fact
from app.services.schedule import Agenda, Job, When
from app.ui import application
from app.ui.pages.collection import CollectionPage
from app.ui.presence import Presence
from app.ui.presenter.view import NoticeItem
from app.ui.theme.appearance import Look
from tests.support.waiting import until
from tests.ui.conftest import Drive

DAILY = When("cron", "0 9 * * *", "Europe/Berlin")


@pytest.fixture
def planned(tmp_path: Path, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agenda]:
    monkeypatch.setenv("PATH", str(tmp_path))  # so that no timer of this machine is set
    made = agenda(SystemClock())
    yield made
    made.close()


@pytest.fixture
def presence(still: Look, tmp_path: Path, own_data_folder: Path) -> Iterator[Presence]:
    kept = {name: collection(name, tmp_path) for name in ("planned", "memory", "servers")}
    made = Presence(still, collections=kept)
    made.show()
    yield made
    made.close()
    made.orb.close()


def titles(page: CollectionPage) -> list[str]:
    return [page.list.item(row).text() for row in range(page.list.count())]


def below(page: CollectionPage) -> list[str]:
    """The quiet lines of the entries."""
    return [page.list.item(row).data(Qt.ItemDataRole.UserRole).below for row in range(page.list.count())]


async def opened(presence: Presence, entry: str, *expected: str) -> CollectionPage:
    """The page, opened by the menu of the bar, once it lists that."""
    menu = presence.bubble.header.menu()
    next(action for action in menu.actions() if action.text() == entry).trigger()
    menu.deleteLater()
    await until(
        lambda: isinstance(presence.bubble.page, CollectionPage) and titles(presence.bubble.page) == [*expected]
    )
    page = presence.bubble.page
    assert isinstance(page, CollectionPage)
    return page


def press(page: CollectionPage, key: str, words: str) -> None:
    """An entry of the menu of a line."""
    menu = page.menu_of(key)
    next(action for action in menu.actions() if action.text() == words).trigger()
    menu.deleteLater()


def test_what_is_planned_is_listed_and_removed_after_a_question(
    qtbot: QtBot, presence: Presence, planned: Agenda, drive: Drive
) -> None:
    planned.add(Job("Water the plants", "tell me to water the plants", DAILY, "/w", ("tool=web_search",)))
    keep = planned.add(Job("Weather", "search the web for the weather", When("cron", "0 12 * * *", DAILY.zone), "/w"))

    async def person() -> None:
        page = await opened(presence, "Planned", *(job.title for job in planned.all()))
        page.list.setFocus()
        qtbot.keyClick(page.list, Qt.Key.Key_F2)
        assert page.list.findChild(QLineEdit) is None
        page.pick("1")
        assert page.note.text() == "tell me to water the plants. It may do without asking: web_search."
        press(page, "1", "Delete…")
        qtbot.mouseClick(page.question.keep, Qt.MouseButton.LeftButton)
        assert len(planned.all()) == 2
        press(page, "1", "Delete…")
        qtbot.mouseClick(page.question.delete, Qt.MouseButton.LeftButton)
        await until(lambda: titles(page) == ["Weather"])
        assert [job.id for job in planned.all()] == [keep.id]

    drive(person())


def test_run_now_says_whether_it_has_begun(presence: Presence, planned: Agenda, drive: Drive, tmp_path: Path) -> None:
    other, greeting = (planned.add(Job(name, "hello", DAILY, str(tmp_path))) for name in ("Other", "Greeting"))
    at_work = planned.run_now(other.id)

    async def person() -> None:
        page = await opened(presence, "Planned", *(job.title for job in planned.all()))
        press(page, str(greeting.id), "Run now")
        await until(lambda: page.note.text().startswith("Another task is at work, so this one was not begun."))
        planned.finish(at_work, "done", "")
        press(page, str(greeting.id), "Run now")
        await until(lambda: page.note.text().startswith("It has begun."))
        await until(lambda: any(item.title.startswith("Greeting") for item in planned.inbox()))
        planned.remove(greeting.id)
        press(page, str(greeting.id), "Run now")
        await until(lambda: page.note.text().startswith("It was not begun."))

    drive(person())
    assert [item.title for item in reversed(planned.inbox())] == ["Other: done", "Greeting: done"]


def test_facts_are_searched_changed_and_forgotten(qtbot: QtBot, presence: Presence, drive: Drive) -> None:
    store = memory(SystemClock())
    for text in ("The dentist is Dr. Ada", "The cat is called Mimi"):
        store.keep(Fact(0, "fact", text, "person", "", 0.0, "t1"))

    async def person() -> None:
        page = await opened(presence, "Memory", "The cat is called Mimi", "The dentist is Dr. Ada")
        qtbot.keyClicks(page.search, "dentist")
        await until(lambda: titles(page) == ["The dentist is Dr. Ada"])
        qtbot.keyClick(page.list, Qt.Key.Key_F2)
        line = page.list.findChild(QLineEdit)
        assert line is not None
        line.setText("The dentist is Dr. Bo")
        qtbot.keyClick(line, Qt.Key.Key_Return)
        await until(lambda: titles(page) == ["The dentist is Dr. Bo"])
        page.search.clear()
        await until(lambda: len(titles(page)) == 2)
        cat = next(fact for fact in store.all() if "cat" in fact.text)
        press(page, str(cat.id), "Delete…")
        qtbot.mouseClick(page.question.delete, Qt.MouseButton.LeftButton)
        await until(lambda: titles(page) == ["The dentist is Dr. Bo"])

    drive(person())
    assert [(fact.text, fact.said_by) for fact in store.all()] == [("The dentist is Dr. Bo", "person")]
    store.close()


def test_a_tool_server_is_trusted_and_removed(qtbot: QtBot, presence: Presence, tmp_path: Path, drive: Drive) -> None:
    servers = McpServers(tmp_path, SystemClock())
    servers.configuration.add("notes", {"command": "notes-server"})
    standard_pins().agree("notes", "fingerprint", "sandboxed")

    async def person() -> None:
        page = await opened(presence, "Tool servers", "notes")
        press(page, "notes", "Let tools that only read run without a question")
        await until(lambda: page.note.text() == "Its tools that only read run without a question.")
        assert standard_pins().is_trusted("notes")
        press(page, "notes", "Ask again")
        await until(lambda: page.note.text() == "Each of its tools asks again.")
        press(page, "notes", "Delete…")
        qtbot.mouseClick(page.question.delete, Qt.MouseButton.LeftButton)
        await until(lambda: titles(page) == [] and not page.empty.isHidden())

    drive(person())
    assert not servers.configuration.read().servers
    assert not standard_pins().is_trusted("notes")


def test_a_server_of_the_workspace_says_its_state_and_where_it_is_taken_out(
    presence: Presence, tmp_path: Path, drive: Drive
) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"notes": {"command": "notes-server", "disabled": true}}}', encoding="utf-8")

    async def person() -> None:
        page = await opened(presence, "Tool servers", "notes")
        assert below(page) == ["switched off · of this workspace · no known tools · a program in the sandbox"]
        assert "Delete…" not in [action.text() for action in page.menu_of("notes").actions()]
        page.list.delete_wanted.emit("notes")
        assert page.note.text() == f"It stands in {file} and is only taken out there."
        assert page.question.isHidden()

    drive(person())


def test_in_german_what_is_planned_is_german(
    presence: Presence, planned: Agenda, qapp: QApplication, drive: Drive
) -> None:
    rules = ("tool=web_search", "tool=write_file path=*.md")
    planned.add(Job("Wetter", "suche das Wetter", When("cron", "30 8 * * 1-5", DAILY.zone), "/w", rules))
    planned.add(Job("Pause", "sag Pause", When("every", "2 hour", DAILY.zone), "/w"))
    translator = application.install(qapp, "de")
    assert translator is not None

    async def person() -> None:
        page = await opened(presence, "Geplant", *(job.title for job in planned.all()))
        said = " ".join(sorted(line.rpartition(" · ")[0] for line in below(page)))
        assert said == "Mo, Di, Mi, Do, Fr um 08:30 alle 2 Stunden"
        page.pick("1")
        assert page.note.text() == "suche das Wetter. Ohne Rückfrage darf es: web_search; write_file (path: *.md)."

    try:
        drive(person())
    finally:
        qapp.removeTranslator(translator)


def test_what_cannot_be_done_is_said_on_the_page(presence: Presence, planned: Agenda, drive: Drive) -> None:
    job = planned.add(Job("Weather", "search the web for the weather", DAILY, "/w"))

    async def person() -> None:
        page = await opened(presence, "Planned", "Weather")
        planned.remove(job.id)
        page.deleted.emit(str(job.id))
        await until(lambda: page.note.text() == f"There is no schedule {job.id}. The list has their numbers.")

    drive(person())


def test_what_is_due_runs_while_the_presence_is_there_and_is_told(
    presence: Presence, planned: Agenda, drive: Drive, tmp_path: Path
) -> None:
    in_a_second = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() + 1))
    planned.add(Job("Hello", "hello", When("once", in_a_second, "UTC"), str(tmp_path)))

    def told() -> list[str]:
        return [item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem)]

    async def person() -> None:
        watching = asyncio.ensure_future(watch_schedules(presence))
        await until(lambda: any(sentence.startswith("Hello") for sentence in told()), limit_s=60)
        watching.cancel()

    drive(person())
    assert planned.next_due() is None
    assert not planned.inbox(only_unread=True)


def test_a_fault_of_the_schedules_is_said_once_and_does_not_end_the_watch(
    presence: Presence, planned: Agenda, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.commands.presence._TRY_AGAIN_S", 0.01)
    file = paths.data_dir() / "agenda.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"no database" * 1000)

    def told() -> list[str]:
        return [item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem)]

    async def person() -> None:
        watching = asyncio.ensure_future(watch_schedules(presence))
        await until(lambda: any("cannot run at the moment" in sentence for sentence in told()))
        file.unlink()
        planned.finish(planned.run_now(planned.add(Job("Weather", "look", DAILY, "/w")).id), "done", "Sunny.")
        await until(lambda: any("Sunny." in sentence for sentence in told()))
        watching.cancel()

    drive(person())
    assert sum("cannot run" in sentence for sentence in told()) == 1
