"""The Markdown view by itself: what is shown of it, how it is revealed, and that code can be copied as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.agent.agent_events import Outcome
from app.ui.bubble.speech import AnswerView, EndedRow, RichText, pieces
from app.ui.buttons import GlyphButton
from app.ui.cards.picture import CodeView
from app.ui.presenter.view import TurnOutcome
from app.ui.theme.appearance import Look

_WIDTH = 360


@pytest.fixture
def view(qtbot: QtBot, still: Look) -> Iterator[AnswerView]:
    holder = QWidget()
    qtbot.addWidget(holder)
    made = AnswerView(still.theme, still.ticker, holder)
    made.resize(_WIDTH, 400)
    holder.show()
    yield made
    holder.close()


def test_both_signs_of_emphasis_slant_the_letters_and_underline_none(view: AnswerView) -> None:
    view.show_text("*one* two _three_")
    text = next(part for part in _parts(view) if isinstance(part, RichText))
    cursor, found = QTextCursor(text.document()), []
    for word in range(3):
        cursor.setPosition(sum(map(len, ("one ", "two ")[:word])) + 1)
        made = cursor.charFormat()
        found.append((made.fontItalic(), made.fontUnderline()))
    assert found == [(True, False), (False, False), (True, False)]


def _parts(view: AnswerView) -> list[object]:
    return [part for part in view.children() if isinstance(part, (RichText, CodeView))]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("One, **short**, with `code`.", "One, short, with code."),
        ("first\nsecond", "first\nsecond"),
        ("Copying ~/a.txt to ~/b.txt, `~/c`.", "Copying ~/a.txt to ~/b.txt, ~/c."),
        ("[a link](https://example.com)", "a link"),
    ],
)
def test_marks_are_drawn_and_not_read(view: AnswerView, text: str, plain: str) -> None:
    view.show_text(text)
    assert view.plain.strip() == plain


@pytest.mark.parametrize(("text", "is_struck"), [("from ~/a.txt to ~/b.txt", False), ("~~gone~~", True)])
def test_only_two_tildes_strike_words_out(view: AnswerView, text: str, is_struck: bool) -> None:
    view.show_text(text)
    (part,) = [part for part in _parts(view) if isinstance(part, RichText)]
    assert ("line-through" in part.document().toHtml()) is is_struck


def test_a_table_is_one_with_its_cells(view: AnswerView) -> None:
    view.show_text("| a | b |\n|---|---|\n| 1 | 2 |")
    assert [word for word in view.plain.split() if word.strip()] == ["a", "b", "1", "2"]


def test_code_stands_apart_and_is_copied_as_a_whole(qtbot: QtBot, view: AnswerView) -> None:
    code = "".join(f"line {number} of it\n" for number in range(400))
    view.show_text(f"Before\n\n```python\n{code}```\n\nAfter")
    assert [type(part) for part in _parts(view)] == [RichText, CodeView, RichText]
    (block,) = view.findChildren(CodeView)
    view.height_for(_WIDTH)
    (copy,) = block.findChildren(GlyphButton)
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text().strip() == code.strip()


def test_text_that_grows_keeps_the_parts_that_stand(view: AnswerView) -> None:
    view.show_text("Before\n\n```\nx = 1\n")
    first = _parts(view)
    view.show_text("Before\n\n```\nx = 1\ny = 2\n```\n\nAfter")
    assert _parts(view)[:2] == first


def test_what_is_not_revealed_yet_takes_its_room_already(view: AnswerView) -> None:
    view.show_text("Some words that are long enough to take two lines of the bubble, or even three of them.")
    view.reveal(0)
    hidden = view.height_for(_WIDTH)
    view.reveal(None)
    assert view.height_for(_WIDTH) == hidden


def test_a_fence_closes_only_by_its_own_kind() -> None:
    found = list(pieces("~~~\n```\ninside\n```\n~~~\nbehind\n"))
    assert [body for is_code, body in found if is_code] == ["```\ninside\n```\n"]
    assert "".join(body for is_code, body in found if not is_code) == "behind\n"


@pytest.mark.parametrize(
    ("text", "is_large"),
    [
        ("84", True),
        ("It is 14:05.", True),
        ("Dann lasse ich es.", False),
        ("你好。", False),
    ],
)
def test_only_results_stand_large(qtbot: QtBot, still: Look, text: str, is_large: bool) -> None:
    row = EndedRow(still.theme, still.ticker)
    qtbot.addWidget(row)
    row.show_row(TurnOutcome("i1", Outcome.FINISHED, text))
    first = next(part for part in row.findChildren(RichText) if part.plain)
    assert (first.height_for(_WIDTH) >= still.theme.type("answer").line) is is_large
