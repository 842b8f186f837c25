"""What is typed finds: a sum's result, programs and files, over a real home folder and real desktop entries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.commands.presence import Finder
from app.ui.composer.intake import searched
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent

ENTRY = "[Desktop Entry]\nType=Application\nName={name}\nExec=/usr/bin/touch {made}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a program that only makes a file, and two documents."""
    programs = tmp_path / ".local/share/applications"
    programs.mkdir(parents=True)
    made = tmp_path / ".started"
    (programs / "zither.desktop").write_text(ENTRY.format(name="Zither Tuner", made=made))
    (tmp_path / "Documents").mkdir()
    (tmp_path / "Documents" / "zither-lesson.txt").write_text("A D G C")
    (tmp_path / "Documents" / "novel.txt").write_text("It was a dark night.")
    (tmp_path / ".hidden-zither").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


@pytest.fixture
def presence(still: Look, home: Path) -> Iterator[Presence]:
    made = Presence(still, collections={"finder": Finder()})
    made.show()
    yield made
    made.close()
    made.orb.close()


def lines(presence: Presence) -> list[str]:
    """From the top, the last one stands next to the field."""
    return [line.text() for line in presence.bubble.home.lines]


async def _type(qtbot: QtBot, presence: Presence, text: str) -> None:
    presence.open()
    await until(presence.composer.field.hasFocus)
    qtbot.keyClicks(presence.composer.field, text)


def test_a_program_is_found_by_the_start_of_its_name_and_up_and_return_start_it(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, home: Path
) -> None:
    async def person() -> None:
        await _type(qtbot, presence, "open zit")
        await until(lambda: lines(presence) == ["zither-lesson.txt", "Zither Tuner"])
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Up)
        await until(presence.bubble.home.lines[-1].hasFocus)
        qtbot.keyClick(presence.bubble.home.lines[-1], Qt.Key.Key_Return)
        await until((home / ".started").exists)
        assert agent.sent == []
        assert not presence.is_open
        assert presence.composer.field.toPlainText() == ""

    drive(person())


def test_return_in_the_field_still_asks_wisp(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, home: Path
) -> None:
    async def person() -> None:
        await _type(qtbot, presence, "zither")
        await until(lambda: lines(presence) == ["zither-lesson.txt", "Zither Tuner"])
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["zither"])
        assert not (home / ".started").exists()
        assert not presence.bubble.home.has_found

    drive(person())


def test_a_sum_shows_its_result_while_it_is_typed_and_a_press_copies_it(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        await _type(qtbot, presence, "12*7")
        await until(lambda: lines(presence) == ["= 84"])
        presence.bubble.home.lines[0].click()
        assert QGuiApplication.clipboard().text() == "84"
        assert not presence.is_open

    drive(person())


def test_what_is_found_stands_between_the_thread_and_the_field_and_covers_neither(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        await _type(qtbot, presence, "novel")
        await until(lambda: lines(presence) == ["novel.txt"])
        bubble = presence.bubble
        assert bubble.thread_view.isVisible()
        assert bubble.home.isVisible()
        assert bubble.thread_view.geometry().bottom() < bubble.home.geometry().top()
        assert bubble.home.geometry().bottom() < bubble.composer.geometry().top()
        presence.composer.field.clear()
        await until(lambda: not bubble.home.isVisible())
        await asyncio.sleep(0)
        assert bubble.thread_view.geometry().bottom() < bubble.composer.geometry().top()

    drive(person())


def test_what_nothing_fits_leaves_what_was_offered(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.open()
        offered = lines(presence)
        await _type(qtbot, presence, "zither")
        await until(lambda: presence.bubble.home.has_found)
        qtbot.keyClicks(presence.composer.field, " for sale")
        await until(lambda: not presence.bubble.home.has_found)
        assert lines(presence) == offered

    drive(person())


@pytest.mark.parametrize(
    ("typed", "looked_for"),
    [
        ("open firefox", "firefox"),
        ("fi", "fi"),
        ("f", ""),
        ("a letter\nto Anna", ""),
    ],
)
def test_a_verb_before_the_name_is_no_part_of_it(typed: str, looked_for: str) -> None:
    assert searched(typed) == looked_for
