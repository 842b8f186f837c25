"""Fonts of a theme: found under the names that Qt gives them, and heavier where they must be."""

from __future__ import annotations

import io
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QImage, QPainter
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.settings import tokens
from app.ui.theme import drawing
from app.ui.theme.theme import load


def test_a_font_is_found_though_two_makers_have_one_of_its_name(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = ["Letters [UKWN]", "Letters [urw]", "Other"]
    monkeypatch.setattr(drawing, "QFontDatabase", SimpleNamespace(families=lambda: installed))
    look = load("light", fonts={"display": ("Missing", "Letters")})
    assert drawing.font(look, "answer").families()[0] == "Letters"


_STYLES = {400: "Regular", 500: "Medium", 600: "Demi", 700: "Bold", 800: "ExtraBold"}


def _letters(family: str, weights: Sequence[int]) -> None:
    """Give Qt a family of fonts. In each weight an "A" is a block as wide as the weight. Only its name says the weight,
    as in the fonts of PostScript."""
    for weight in weights:
        made = FontBuilder(1000, isTTF=True)
        block = TTGlyphPen(None)
        for number, corner in enumerate(((0, 0), (0, 700), (weight, 700), (weight, 0))):
            (block.lineTo if number else block.moveTo)(corner)
        block.closePath()
        made.setupGlyphOrder([".notdef", "A"])
        made.setupCharacterMap({ord("A"): "A"})
        made.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "A": block.glyph()})
        made.setupHorizontalMetrics({".notdef": (1000, 0), "A": (1000, 0)})
        made.setupHorizontalHeader(ascent=800, descent=-200)
        made.setupNameTable({"familyName": family, "styleName": _STYLES[weight]})
        made.setupPost()
        store = io.BytesIO()
        made.save(store)
        assert QFontDatabase.addApplicationFontFromData(store.getvalue()) >= 0


def _width(font: QFont) -> int:
    """Return how many pixels of a row the font's block fills, of 100 for its whole width."""
    letters = QFont(font)
    letters.setPixelSize(100)
    letters.setStyleStrategy(QFont.StyleStrategy.NoAntialias)
    paper = QImage(200, 200, QImage.Format.Format_RGB32)
    paper.fill(Qt.GlobalColor.white)
    painter = QPainter(paper)
    painter.setFont(letters)
    painter.drawText(20, 150, "A")
    painter.end()
    return sum(paper.pixelColor(x, 120) == QColor("black") for x in range(200))


@pytest.mark.parametrize(
    ("weights", "regular", "strong"), [((400, 600), 40, 60), ((500, 700), 50, 70), ((400, 500, 800), 40, 80)]
)
def test_strong_letters_have_a_weight_of_the_font_so_that_qt_smears_none(
    qapp: QApplication, weights: Sequence[int], regular: int, strong: int
) -> None:
    family = f"Of {len(weights)} to {weights[-1]}"
    _letters(family, weights)
    look = load("light", fonts={"system": (family,), "display": (family,)})
    for style in ("text", "title"):
        fonts = [drawing.font(look, style, strong=is_strong) for is_strong in (False, True)]
        assert [_width(font) for font in fonts] == [regular, strong]
        assert fonts[1].weight() == 10 * strong


def test_a_font_of_one_weight_leaves_strong_letters_to_the_next_but_not_those_of_headings(qapp: QApplication) -> None:
    _letters("Only", (400,))
    _letters("Next", (400, 700))
    look = load("light", fonts={"system": ("Only", "Next"), "display": ("Only", "Next")})
    fonts = [drawing.font(look, style, strong=strong) for style in ("text", "title") for strong in (False, True)]
    assert [(font.families()[0], _width(font)) for font in fonts] == [
        ("Only", 40),
        ("Next", 70),
        ("Only", 40),
        ("Only", 40),
    ]


@pytest.mark.parametrize("kind", ["", *tokens.THEMES])
def test_strong_text_of_every_theme_has_a_real_weight_of_its_font(qapp: QApplication, kind: str) -> None:
    look = load("light", kind=kind)
    for style in ("text", "say", "small", "title", "heading"):
        plain, strong = (QFontInfo(drawing.font(look, style, strong=is_strong)) for is_strong in (False, True))
        real = {QFontDatabase.weight(strong.family(), name) for name in QFontDatabase.styles(strong.family())}
        assert strong.weight() > plain.weight()
        assert strong.weight() in real


def test_a_field_of_qt_has_the_themes_font(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "QFontDatabase", SimpleNamespace(families=lambda: ["Round Letters"]))
    field = QLineEdit()
    qtbot.addWidget(field)
    field.setStyleSheet(drawing.sheet(load("light", fonts={"system": ("Round Letters",)})))
    field.ensurePolished()
    assert field.font().families()[0] == "Round Letters"
