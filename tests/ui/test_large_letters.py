"""Letters of twice the size, on a small screen: nothing that is written is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from tests.support.clipping import cut, cut_off

pytestmark = pytest.mark.long


@pytest.mark.parametrize("language", ["C.UTF-8", "de_DE.UTF-8"])
@pytest.mark.parametrize("points", [10, 20])
def test_pieces_pages_settings_and_welcome_show_every_word(points: float, language: str, tmp_path: Path) -> None:
    assert cut_off(points, language, tmp_path) == []


def test_a_text_without_room_is_noticed(qtbot: QtBot) -> None:
    label = QLabel("Write to Wisp")
    qtbot.addWidget(label)
    label.show()
    assert list(cut("label", label)) == []
    label.setFixedWidth(label.sizeHint().width() - 4)
    assert len(list(cut("label", label))) == 1
