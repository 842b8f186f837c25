"""The pages of what Wisp keeps: what is planned, what is remembered, the tool servers. Driven by clicks and keys, over
the real stores, and what is due is run by a real Wisp.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.base import paths
from app.base.clock import SystemClock
from app.base.errors import NeedsPerson, ToolFailed
from app.features.apps.library import AppLibrary
from app.features.apps.settings import SURFACE_ENGINE
from app.features.apps.store import APP, Written
from app.features.mcp.servers import McpServers, standard_pins
from app.features.memory.store import Fact, standard_facts
from app.features.schedule.agenda import Agenda, Job, standard_agenda
from app.features.schedule.times import When
from app.features.schedule.watching import watch_schedules
from app.services.files.changes import ChangeOrigin
from app.settings import store
from app.ui import translation
from app.ui.bubble.rows import OfferRow
from app.ui.pages.panels import CollectionPage
from app.ui.presence import Presence
from app.ui.presenter.view import NoticeItem
from app.ui.theme.appearance import Look
from tests.support.mcp_world import a_world
from tests.support.pages import collection, list_pages
from tests.support.presence import Drive
from tests.support.signed_server import serve_signed
from tests.support.waiting import until
from tests.support.walls import needs_wall
from tests.ui.fake_agent import FakeAgent

DAILY = When("cron", "0 9 * * *", "Europe/Berlin")


@pytest.fixture
def planned(tmp_path: Path, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agenda]:
    monkeypatch.setenv("PATH", str(tmp_path))  # so that no timer of this machine is set
    made = standard_agenda(SystemClock())
    yield made
    made.close()


@pytest.fixture
def presence(still: Look, tmp_path: Path, own_data_folder: Path) -> Iterator[Presence]:
    kept = {name: collection(name, tmp_path) for name in ("planned", "memory", "servers")}
    made = Presence(still, collections=kept, pages=list_pages())
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
        assert page.note.text() == "tell me to water the plants. It may do this without asking you: web_search."
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
        await until(lambda: page.note.text().startswith("Another task is running"))
        planned.finish(at_work, "done", "")
        press(page, str(greeting.id), "Run now")
        await until(lambda: page.note.text().startswith("It has begun."))
        await until(lambda: any(item.title.startswith("Greeting") for item in planned.inbox()))
        planned.remove(greeting.id)
        press(page, str(greeting.id), "Run now")
        await until(lambda: page.note.text().startswith("It did not start."))

    drive(person())
    assert [item.title for item in reversed(planned.inbox())] == ["Other: done", "Greeting: done"]


def test_facts_are_searched_changed_and_forgotten(qtbot: QtBot, presence: Presence, drive: Drive) -> None:
    store = standard_facts(SystemClock())
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
        press(page, "notes", "Do not ask before tools that only read")
        await until(lambda: page.note.text() == "Wisp now uses those of its tools that only read without asking.")
        assert standard_pins().is_trusted("notes")
        press(page, "notes", "Ask again")
        await until(lambda: page.note.text() == "Wisp now asks again before it uses one of its tools.")
        press(page, "notes", "Delete…")
        qtbot.mouseClick(page.question.delete, Qt.MouseButton.LeftButton)
        await until(lambda: titles(page) == [] and not page.empty.isHidden())

    drive(person())
    assert not servers.configuration.read().servers
    assert not standard_pins().is_trusted("notes")


@needs_wall
def test_a_running_server_shows_its_tools_and_its_last_words_and_is_switched_off(
    still: Look, tmp_path_factory: pytest.TempPathFactory, drive: Drive
) -> None:
    async def person() -> None:
        async with a_world(tmp_path_factory) as world:
            dies = {"search": [{"stderr": "out of paper"}, {"die": 3}]}
            told = {"tools": [{"name": "search"}, {"name": "add"}], "calls": dies}
            entry = world.entry(told, "notes")
            servers = collection("servers", world.workspace, lambda: world.servers)
            presence = Presence(still, collections={"servers": servers}, pages=list_pages())
            presence.show()
            try:
                page = await opened(presence, "Tool servers", "notes")
                assert "no known tools" in below(page)[0]
                await world.servers.tools(entry)
                page.searched.emit("")
                await until(lambda: below(page)[0].startswith("running · 2 tools · "))
                page.pick("notes")
                assert "Its tools: add, search." in page.note.text() or "Its tools: search, add." in page.note.text()
                with pytest.raises(ToolFailed):
                    await world.servers.use(entry, "search", {}, lambda *_: None)
                page.searched.emit("")
                await until(lambda: below(page)[0].startswith("ended · 2 tools · "))
                page.pick("notes")
                assert "It last printed: out of paper" in page.note.text()
                press(page, "notes", "Switch off")
                await until(lambda: page.note.text() == "It is switched off. Wisp does not use its tools.")
                with pytest.raises(NeedsPerson):
                    world.servers.configuration.named("notes")
                page.searched.emit("")
                await until(lambda: below(page)[0].startswith("switched off · 2 tools · "))
                press(page, "notes", "Switch on")
                await until(lambda: page.note.text() == "It is switched on.")
                assert world.servers.configuration.named("notes").name == "notes"
            finally:
                presence.close()
                presence.orb.close()

    drive(person())


def test_a_server_with_an_address_is_signed_in_to_from_its_page(
    presence: Presence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drive: Drive
) -> None:
    browser, page_file = tmp_path / "browser", tmp_path / "page.html"
    read = f"open({str(page_file)!r}, 'wb').write(urllib.request.urlopen(sys.argv[1]).read())"
    browser.write_text(f"#!{sys.executable}\nimport sys, urllib.request\n{read}\n")
    browser.chmod(0o700)
    for name in ("DISPLAY", "XDG_CURRENT_DESKTOP", "DESKTOP_SESSION"):  # so that xdg-open asks only for the browser
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", str(browser))
    with serve_signed(tmp_path) as (url, accounts):
        McpServers(tmp_path, SystemClock()).configuration.add("docs", {"type": "http", "url": url, "local": True})

        async def person() -> None:
            page = await opened(presence, "Tool servers", "docs")
            press(page, "docs", "Sign in")
            await until(lambda: page.note.text() == "You are signed in to it.", 30)

        drive(person())
    assert accounts.log == ["registered Wisp", "asked", "granted"]
    assert "access_token" in store.key_of("mcp/docs/sign-in")


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
        assert page.note.text() == f"It is written in {file}. Remove it there."
        assert page.question.isHidden()

    drive(person())


def test_in_german_what_is_planned_is_german(
    presence: Presence, planned: Agenda, qapp: QApplication, drive: Drive
) -> None:
    rules = ("tool=web_search", "tool=write_file path=*.md")
    planned.add(Job("Wetter", "suche das Wetter", When("cron", "30 8 * * 1-5", DAILY.zone), "/w", rules))
    planned.add(Job("Pause", "sag Pause", When("every", "2 hour", DAILY.zone), "/w"))
    translator = translation.install(qapp, "de")
    assert translator is not None

    async def person() -> None:
        page = await opened(presence, "Geplant", *(job.title for job in planned.all()))
        said = " ".join(sorted(line.rpartition(" · ")[0] for line in below(page)))
        assert said == "alle 2 Stunden von Montag bis Freitag um 08:30"
        page.pick("1")
        assert page.note.text().endswith("ohne dich zu fragen: web_search; write_file (path: *.md).")

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
        await until(lambda: page.note.text() == f"There is no planned task {job.id}. The list has their numbers.")

    drive(person())


@pytest.mark.long
def test_what_is_due_runs_while_the_presence_is_there_and_is_told(
    presence: Presence, planned: Agenda, drive: Drive, tmp_path: Path
) -> None:
    in_a_second = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() + 1))
    planned.add(Job("Hello", "hello", When("once", in_a_second, "UTC"), str(tmp_path)))

    def told() -> list[str]:
        return [item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem)]

    async def person() -> None:
        watching = asyncio.ensure_future(watch_schedules(presence.tell))
        await until(lambda: any(sentence.startswith("Hello") for sentence in told()), limit_s=60)
        watching.cancel()

    drive(person())
    assert planned.next_due() is None
    assert not planned.inbox(only_unread=True)


def test_a_fault_of_the_schedules_is_said_once_and_does_not_end_the_watch(
    presence: Presence, planned: Agenda, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.features.schedule.watching._TRY_AGAIN_S", 0.01)
    file = paths.data_dir() / "agenda.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"no database" * 1000)

    def told() -> list[str]:
        return [item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem)]

    async def person() -> None:
        watching = asyncio.ensure_future(watch_schedules(presence.tell))
        await until(lambda: any("cannot run at the moment" in sentence for sentence in told()))
        file.unlink()
        planned.finish(planned.run_now(planned.add(Job("Weather", "look", DAILY, "/w")).id), "done", "Sunny.")
        await until(lambda: any("Sunny." in sentence for sentence in told()))
        watching.cancel()

    drive(person())
    assert sum("cannot run" in sentence for sentence in told()) == 1


async def test_apps_stand_with_their_pictures_and_are_renamed_and_taken_out_of_the_menu(
    still: Look, tmp_path: Path, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    library = AppLibrary()
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle r="60" fill="#00ff00"/></svg>'
    library.store.create(APP, "Meals", Written("<html></html>", "Counts.", svg), ChangeOrigin("t", "create_app"))
    presence = Presence(still, collections={"apps": library}, pages=list_pages())
    presence.show()
    try:
        page = await opened(presence, "Apps", "Meals")
        shown = page.list.grab().toImage()
        colors = {shown.pixelColor(x, y).getRgb()[:3] for x in range(60) for y in range(0, shown.height(), 2)}
        assert (0, 255, 0) in colors
        assert "Rename" in [action.text() for action in page.menu_of("app-meals").actions()]
        page.list.renamed.emit("app-meals", "Dinners")
        entry = tmp_path / "share" / "applications" / "wisp-app-meals.desktop"
        await until(lambda: "Name=Dinners\n" in entry.read_text(encoding="utf-8"))
        page.acted.emit("unmenu", "app-meals")
        await until(lambda: "menu of programs" in page.note.text())
        assert not entry.exists()
        press(page, "app-meals", "Delete…")
        asked = "Delete “Dinners” with all that is saved in it? “wisp undo” in a terminal brings it back."
        assert asked in [label.text() for label in page.question.findChildren(QLabel)]
    finally:
        presence.close()
        presence.orb.close()


@pytest.mark.parametrize("entry", ["Planned", "Memory", "Tool servers"])
def test_a_page_says_that_there_is_nothing_only_once_that_is_known_and_below_its_search(
    presence: Presence, planned: Agenda, drive: Drive, entry: str
) -> None:
    async def person() -> None:
        menu = presence.bubble.header.menu()
        next(action for action in menu.actions() if action.text() == entry).trigger()
        page = presence.bubble.page
        assert isinstance(page, CollectionPage)
        assert page.empty.text() == ""
        await until(lambda: page.empty.text() != "" and page.search.y() > page.back.geometry().bottom())
        page.box.activate()
        gap = page.theme.size("gap")
        edges = page.back.geometry(), page.search.geometry(), page.empty.geometry()
        assert edges[0].top() < gap
        assert edges[1].top() <= edges[0].bottom() + 2 * gap
        assert edges[2].top() <= edges[1].bottom() + 2 * gap
        menu.deleteLater()

    drive(person())


def test_a_reminder_is_seen_on_the_page_that_is_open_and_stays_in_the_inbox(
    presence: Presence, planned: Agenda, drive: Drive
) -> None:
    async def person() -> None:
        presence.open()
        page = await opened(presence, "Planned")
        presence.tell("info", "Reminder: stretch")
        await until(page.note.isVisible)
        view = presence.inbox.view
        assert page.note.text() == "Reminder: stretch"
        assert ([one.text for one in view.news], view.unseen) == (["Reminder: stretch"], 1)
        assert [item.sentence for item in view.items if isinstance(item, NoticeItem)] == ["Reminder: stretch"]

    drive(person())


def test_one_press_after_a_failure_begins_to_get_what_shows_apps_and_its_line_says_how_it_goes(
    qtbot: QtBot, still: Look, own_data_folder: Path, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(own_data_folder))  # so that there is no Chromium
    monkeypatch.setattr(sys, "frozen", True, raising=False)  # a Wisp that cannot take anything in
    store.save(SURFACE_ENGINE, "chromium")
    presence, agent = Presence(still, collections={"apps": AppLibrary()}, pages=list_pages()), FakeAgent()
    presence.show()
    lacks = {"tag": "launch_app", "reason": "Nothing shows apps.", "needs_person": True, "remedy": "extra"}

    async def person() -> None:
        presence.attach(agent)
        presence.unfold()
        presence.send("open the timer")
        await until(lambda: agent.sent == ["open the timer"])
        agent.tell(
            agent_events.TurnStarted("t1", "open the timer"),
            agent_events.TagStart("c1", "launch_app", {"id": "app-timer"}),
            agent_events.ToolFinished("c1", "launch_app", False, "tool_error", lacks),
            agent_events.SayDelta("s1", "warm", "You need the engine."),
            agent_events.TurnEnded("t1", agent_events.Outcome.FINISHED, "You need the engine."),
        )
        await until(lambda: any(isinstance(one, OfferRow) for one in presence.bubble.thread_view.realised.values()))
        [row] = [one for one in presence.bubble.thread_view.realised.values() if isinstance(one, OfferRow)]
        assert [button.text() for button in row.buttons] == ["Get the small window engine (175 MB)"]
        qtbot.mouseClick(row.buttons[0], Qt.MouseButton.LeftButton)
        await until(lambda: isinstance(presence.bubble.page, CollectionPage))
        page = presence.bubble.page
        assert isinstance(page, CollectionPage)
        await until(lambda: titles(page) == ["Get the small window engine (175 MB)"])
        await until(lambda: "finished package" in below(page)[0])
        assert [action.text() for action in page.menu_of("surfaces").actions()] == ["Get it"]

    drive(person())
    presence.close()
    presence.orb.close()
