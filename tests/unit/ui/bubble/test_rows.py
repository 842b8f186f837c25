"""The buttons of a question."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.bubble import rows
from app.ui.theme.theme import Theme, load


def test_an_answer_has_room_in_a_font_whose_strong_letters_are_narrower(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def letters(_theme: Theme, _style: str, *, strong: bool = False) -> QFont:
        made = QFont()
        made.setPixelSize(10 if strong else 20)
        return made

    monkeypatch.setattr(rows, "font", letters)
    look, parent = load("light"), QWidget()
    qtbot.addWidget(parent)
    button = rows.AnswerButton(look, "Both of them, each in a mail of her own", parent)
    button.fit(2000)
    assert QFontMetrics(letters(look, "text")).horizontalAdvance(button.text()) <= button.width()
