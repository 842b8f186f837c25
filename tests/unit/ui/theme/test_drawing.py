"""Fonts of a theme: found under the names that Qt gives them, and heavier where they must be."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.ui.theme import drawing
from app.ui.theme.theme import load


def test_a_font_is_found_though_two_makers_have_one_of_its_name(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = ["Letters [UKWN]", "Letters [urw]", "Other"]
    monkeypatch.setattr(drawing, "QFontDatabase", SimpleNamespace(families=lambda: installed))
    look = load("light", fonts={"display": ("Missing", "Letters")})
    assert drawing.font(look, "answer").families()[0] == "Letters"


def test_strong_words_are_bold_in_a_themes_font_which_may_have_nothing_between(qapp: QApplication) -> None:
    assert drawing.font(load("light", kind="warm-earthy"), "text", strong=True).weight() == QFont.Weight.Bold
    assert drawing.font(load("light"), "text", strong=True).weight() == QFont.Weight.DemiBold


def test_a_field_of_qt_has_the_themes_font(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "QFontDatabase", SimpleNamespace(families=lambda: ["Round Letters"]))
    field = QLineEdit()
    qtbot.addWidget(field)
    field.setStyleSheet(drawing.sheet(load("light", fonts={"system": ("Round Letters",)})))
    field.ensurePolished()
    assert field.font().families()[0] == "Round Letters"
