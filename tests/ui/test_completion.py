"""The end of a known task behind the caret: what is offered, what takes it, and who does not see it."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QClipboard, QGuiApplication, QInputMethodEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.composer.field import ComposerField
from app.ui.composer.home import rest_of
from app.ui.presence import Presence
from tests.support.observer import observe
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent

_LETTER = "Send Anna the letter"


async def writing(presence: Presence) -> ComposerField:
    presence.stage.recent = (_LETTER, "Send Karl the bill", "Summarise the three reports in Downl…")
    presence.open()
    await until(presence.composer.field.hasFocus)
    return presence.composer.field


def emptied(qtbot: QtBot, field: ComposerField) -> None:
    qtbot.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(field, Qt.Key.Key_Backspace)


@pytest.mark.parametrize(
    ("typed", "rest"),
    [
        ("Se", "nd Anna the letter"),
        ("S", ""),
        (_LETTER, ""),
        ("Summ", ""),
    ],
)
def test_the_nearest_known_line_that_starts_so_is_the_one(typed: str, rest: str) -> None:
    assert rest_of(typed, (_LETTER, "Send Karl the bill", "Summarise the three reports in Downl…")) == rest


@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_Right])
def test_tab_and_right_take_the_rest_and_what_is_sent_is_not_called_typed(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, key: Qt.Key
) -> None:
    async def person() -> None:
        field = await writing(presence)
        qtbot.keyClicks(field, "send")
        assert (field.toPlainText(), field.ghost) == ("send", " Anna the letter")
        qtbot.keyClick(field, key)
        assert (field.toPlainText(), field.ghost, field.hasFocus()) == ("send Anna the letter", "", True)
        qtbot.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["send Anna the letter"])
        assert agent.own == [""]

    drive(person())


def test_return_sends_what_was_typed_alone(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        field = await writing(presence)
        qtbot.keyClicks(field, "send")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["send"])
        assert agent.own == ["send"]

    drive(person())


def test_typing_on_drops_it_and_escape_drops_it_for_this_message(
    qtbot: QtBot, presence: Presence, drive: Drive
) -> None:
    async def person() -> None:
        field = await writing(presence)
        qtbot.keyClicks(field, "send ")
        assert field.ghost == "Anna the letter"
        qtbot.keyClicks(field, "k")
        assert field.ghost == "arl the bill"
        qtbot.keyClicks(field, "it")
        assert field.ghost == ""
        emptied(qtbot, field)
        qtbot.keyClicks(field, "send")
        qtbot.keyClick(field, Qt.Key.Key_Escape)
        assert (field.ghost, presence.is_open) == ("", True)
        qtbot.keyClicks(field, " ")
        assert field.ghost == ""
        qtbot.keyClick(field, Qt.Key.Key_Escape)
        assert not presence.is_open

    drive(person())


def test_what_was_sent_comes_first_and_up_brings_no_ghost(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        field = await writing(presence)
        qtbot.keyClicks(field, "send it off")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: agent.sent)
        presence.open()
        await until(field.hasFocus)
        qtbot.keyClicks(field, "sen")
        assert field.ghost == "d it off"
        emptied(qtbot, field)
        qtbot.keyClick(field, Qt.Key.Key_Up)
        assert (field.toPlainText(), field.ghost) == ("send it off", "")

    drive(person())


def test_a_command_of_a_tool_server_is_completed_up_to_its_argument(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.known = ["/notes:tidy folder=", "/notes:sum_up"]
        presence.attach(agent)
        await until(lambda: presence.stage.commands)
        field = await writing(presence)
        qtbot.keyClicks(field, "/n")
        qtbot.keyClick(field, Qt.Key.Key_Tab)
        assert (field.toPlainText(), field.ghost) == ("/notes:tidy folder=", "")
        qtbot.keyClicks(field, "Downloads")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["/notes:tidy folder=Downloads"])
        assert agent.own == [""]

    drive(person())


def test_a_suggestion_on_offer_completes_too(qtbot: QtBot, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        field = await writing(presence)
        offered = presence.bubble.home.lines[-1].text()
        qtbot.keyClicks(field, offered[:6])
        assert offered[:6] + field.ghost == offered

    drive(person())


def test_nothing_is_offered_for_pasted_words_several_lines_or_a_caret_that_is_not_behind(
    qtbot: QtBot, presence: Presence, drive: Drive
) -> None:
    async def person() -> None:
        field = await writing(presence)
        qtbot.keyClicks(field, "send")
        qtbot.keyClick(field, Qt.Key.Key_Left)
        assert field.ghost == ""
        qtbot.keyClick(field, Qt.Key.Key_End)
        assert field.ghost
        composed = QInputMethodEvent("あ", [])
        QApplication.sendEvent(field, composed)
        assert field.ghost == ""
        QApplication.sendEvent(field, QInputMethodEvent())
        assert field.ghost
        presence.stage.recent = ("one\ntwo three",)
        presence.stage.take_keyboard()
        emptied(qtbot, field)
        qtbot.keyClicks(field, "one")
        assert field.ghost == ""  # a line that breaks is none
        qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        qtbot.keyClicks(field, "tw")
        assert field.ghost == ""
        emptied(qtbot, field)
        presence.stage.recent = (_LETTER,)
        presence.stage.take_keyboard()
        QGuiApplication.clipboard().setText("send", QClipboard.Mode.Clipboard)
        field.paste()
        assert (field.toPlainText(), field.ghost) == ("send", "")

    drive(person())


def test_words_from_right_to_left_begin_at_the_right_and_left_takes_the_rest(
    qtbot: QtBot, presence: Presence, drive: Drive
) -> None:
    async def person() -> None:
        presence.stage.recent = ("أرسل الرسالة",)
        presence.open()
        field = presence.composer.field
        await until(field.hasFocus)
        typed = QInputMethodEvent()
        typed.setCommitString("أرسل")
        QApplication.sendEvent(field, typed)
        assert (field.ghost, field.cursorRect().center().x() > field.width() / 2) == (" الرسالة", True)
        qtbot.keyClick(field, Qt.Key.Key_Left)
        assert field.toPlainText() == "أرسل الرسالة"

    drive(person())


@pytest.mark.long
def test_assistive_technology_reads_what_was_typed_and_is_told_what_tab_would_do(
    qtbot: QtBot, presence: Presence, drive: Drive
) -> None:
    async def person() -> None:
        field = await writing(presence)
        qtbot.keyClicks(field, "send")
        seen = await asyncio.to_thread(observe, QApplication.applicationName(), window="Wisp")
        (message,) = (node for node in seen if node.name == "Message" and node.showing)
        assert (message.text, message.description) == ("send", "Tab completes: send Anna the letter")
        assert [node.name for node in seen if node.showing and node.text and "Anna" in node.text] == []
        qtbot.keyClick(field, Qt.Key.Key_Tab)
        seen = await asyncio.to_thread(observe, QApplication.applicationName(), window="Wisp")
        (message,) = (node for node in seen if node.name == "Message" and node.showing)
        assert (message.text, message.description) == ("send Anna the letter", "")

    drive(person())
