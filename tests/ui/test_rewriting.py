"""The page on which a selected text is rewritten, as a person goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from pytestqt.qtbot import QtBot

from app.agent.agent_events import Selected, Way
from app.base.errors import WispError
from app.ui.bubble.rows import ProseText
from app.ui.pages.rewrite import RewritePage, difference
from app.ui.presence import Presence
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent

_OLD = "Dear Ada,  I am late."


class Editor:
    """A program with one text, all of which is selected; the ways that a rewriter offers, and what it did."""

    def __init__(self) -> None:
        self.has_model = True
        self.text = _OLD
        self.wishes: list[tuple[str, str]] = []
        self.problem = ""
        self.obstacle = ""
        self.answers: asyncio.Event | None = None
        self.was_cancelled = False

    def ways(self) -> Mapping[str, Way]:
        return {"tidy": Way("Tidy spaces"), "upper": Way("CAPITALS"), "lower": Way("small letters")}

    async def selected(self) -> Selected:
        if self.problem:
            raise WispError(self.problem)
        return Selected(self.text, "w1", "letter.txt", "e1", obstacle=self.obstacle)

    async def rewritten(self, text: str, way: str, own: str = "") -> str:
        self.wishes.append((way, own))
        if self.answers:
            try:
                await self.answers.wait()
            except asyncio.CancelledError:
                self.was_cancelled = True
                raise
        if way == "lower":
            return text.replace("Dear", "dear")
        return text if way == "upper" else text.replace("  ", " ").replace("late", "sorry")

    async def replace(self, _seen: Selected, text: str) -> None:
        if self.problem:
            raise WispError(self.problem)
        self.text = text

    async def put_back(self, seen: Selected, text: str) -> None:
        assert self.text == text
        self.text = seen.text


@pytest.fixture
def editor(agent: FakeAgent) -> Editor:
    """The program in which the presence rewrites what is selected."""
    agent.rewriter = made = Editor()  # type: ignore[attr-defined]
    return made


def _marked(text: ProseText) -> list[str]:
    """The pieces on a tinted ground."""
    found, cursor = [""], QTextCursor(text.document())
    while cursor.movePosition(QTextCursor.MoveOperation.NextCharacter, QTextCursor.MoveMode.KeepAnchor):
        if cursor.charFormat().background().style() is Qt.BrushStyle.SolidPattern:
            found[-1] += cursor.selectedText()
        elif found[-1]:
            found.append("")
        cursor.clearSelection()
    return [piece for piece in found if piece]


async def _page(qtbot: QtBot, presence: Presence) -> RewritePage:
    presence.open()
    await until(presence.composer.field.hasFocus)
    qtbot.keyClick(presence.composer.field, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: isinstance(presence.bubble.page, RewritePage) and presence.bubble.page.isVisible())
    page = presence.bubble.page
    assert isinstance(page, RewritePage)
    return page


def test_the_difference_is_shown_first_then_it_is_replaced_and_put_back(
    qtbot: QtBot, presence: Presence, editor: Editor, drive: Drive
) -> None:

    async def person() -> None:
        page = await _page(qtbot, presence)
        assert (page.old.text.shown, page.replace.isVisible(), page.new.isVisible()) == (_OLD, False, False)
        qtbot.mouseClick(page.ways["tidy"], Qt.MouseButton.LeftButton)
        await until(page.replace.isVisible)
        assert page.new.text.shown == "Dear Ada, I am sorry."
        assert (_marked(page.old.text), _marked(page.new.text)) == (["  ", "late"], [" ", "sorry"])
        assert editor.text == _OLD
        qtbot.mouseClick(page.copy, Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == "Dear Ada, I am sorry."
        qtbot.mouseClick(page.replace, Qt.MouseButton.LeftButton)
        await until(page.put_back.isVisible)
        assert editor.text == "Dear Ada, I am sorry."
        qtbot.mouseClick(page.put_back, Qt.MouseButton.LeftButton)
        await until(lambda: editor.text == _OLD)
        await until(lambda: presence.bubble.page is None)

    drive(person())


def test_own_words_go_to_the_model_and_what_is_equal_is_not_replaced(
    qtbot: QtBot, presence: Presence, editor: Editor, drive: Drive
) -> None:

    async def person() -> None:
        page = await _page(qtbot, presence)
        qtbot.mouseClick(page.ways["upper"], Qt.MouseButton.LeftButton)
        await until(lambda: page.note.text() == "There is nothing to change.")
        assert not page.replace.isVisible()
        qtbot.keyClicks(page.own, "as a pirate")
        qtbot.keyClick(page.own, Qt.Key.Key_Return)
        await until(page.replace.isVisible)
        assert editor.wishes == [("upper", ""), ("", "as a pirate")]
        editor.problem = "Something else is selected now."
        qtbot.mouseClick(page.replace, Qt.MouseButton.LeftButton)
        await until(lambda: page.note.text() == editor.problem)
        assert editor.text == _OLD

    drive(person())


def test_the_difference_is_always_that_of_the_newest_proposal(
    qtbot: QtBot, presence: Presence, editor: Editor, drive: Drive
) -> None:

    async def person() -> None:
        page = await _page(qtbot, presence)
        qtbot.mouseClick(page.ways["tidy"], Qt.MouseButton.LeftButton)
        await until(lambda: _marked(page.old.text) == ["  ", "late"])
        qtbot.mouseClick(page.ways["lower"], Qt.MouseButton.LeftButton)
        await until(lambda: _marked(page.old.text) == ["Dear"])
        qtbot.mouseClick(page.ways["upper"], Qt.MouseButton.LeftButton)
        await until(lambda: page.note.text() == "There is nothing to change.")
        assert (_marked(page.old.text), _marked(page.new.text)) == ([], [])

    drive(person())


def test_what_cannot_be_replaced_is_copied(qtbot: QtBot, presence: Presence, editor: Editor, drive: Drive) -> None:
    editor.obstacle = "This text cannot be changed in its program. Copy the new one instead."
    editor.text = "Dear  Ada. " * 2000

    async def person() -> None:
        page = await _page(qtbot, presence)
        qtbot.mouseClick(page.ways["tidy"], Qt.MouseButton.LeftButton)
        await until(lambda: page.note.text() == editor.obstacle)
        assert (page.replace.isVisible(), page.copy.isVisible()) == (False, True)

    drive(person())


def test_leaving_the_page_cancels_what_is_asked(qtbot: QtBot, presence: Presence, editor: Editor, drive: Drive) -> None:

    async def person() -> None:
        page = await _page(qtbot, presence)
        editor.answers = asyncio.Event()
        qtbot.mouseClick(page.ways["tidy"], Qt.MouseButton.LeftButton)
        await until(lambda: bool(editor.wishes))
        qtbot.mouseClick(page.discard, Qt.MouseButton.LeftButton)
        await until(lambda: editor.was_cancelled)
        assert presence.bubble.page is None

    drive(person())


def test_without_a_selection_a_sentence_says_what_to_do(
    qtbot: QtBot, presence: Presence, editor: Editor, drive: Drive
) -> None:
    editor.has_model = False
    editor.problem = "Nothing is selected."

    async def person() -> None:
        presence.open()
        await until(presence.composer.field.hasFocus)
        entries = {action.text(): action for action in presence.composer.header.menu().actions()}
        entries["Rewrite the selection (Ctrl+R)"].trigger()
        await until(lambda: presence.composer.note.text() == "Nothing is selected.")
        editor.problem = ""
        presence.composer.rewrite_wanted.emit()
        await until(lambda: isinstance(presence.bubble.page, RewritePage))
        assert not presence.bubble.page.own.isVisible()  # type: ignore[union-attr]

    drive(person())


def test_the_difference_counts_whole_words_and_leaves_very_long_texts_unmarked() -> None:
    assert difference("a cat", "a dog") == ([("a ", False), ("cat", True)], [("a ", False), ("dog", True)])
    long = "word " * 4000
    assert difference(long, "x") == ([(long, False)], [("x", False)])
