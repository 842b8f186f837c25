"""A window without a compositor: its shape is cut from whole pixels, and changes together with its picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QRegion
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.settings import tokens
from app.ui.theme import drawing, theme
from app.ui.windows.floating import Floating, WindowDeps


class _Window(Floating):
    """Notes at each paint its colour of paper and the shape that it has then."""

    def __init__(self, look: theme.Theme) -> None:
        super().__init__(look, WindowDeps(None, composited=False))
        self.painted: list[tuple[theme.Color, QRegion]] = []
        self.unpainted = QRegion()

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paint_base(QPainter(self))
        self.unpainted = QRegion(self.rect()) - event.region()
        self.painted.append((self.theme.color("paper"), self.windowHandle().mask()))


def _shown(qtbot: QtBot, window: QWidget) -> None:
    qtbot.addWidget(window)
    window.resize(90, 70)
    window.show()
    qtbot.waitUntil(lambda: not window.windowHandle().mask().isEmpty())


def _gaps(window: QWidget, color: theme.Color) -> set[tuple[int, int]]:
    """Return the pixels at the edge of the window's shape that do not have this colour."""
    picture, shape, found = QImage(window.size(), QImage.Format.Format_RGB32), window.windowHandle().mask(), set()
    window.render(picture)
    for rect in cast(Iterable[QRect], shape):
        for x, y in (
            (x, y) for x in range(rect.left(), rect.right() + 1) for y in range(rect.top(), rect.bottom() + 1)
        ):
            beside = (QPoint(x - 1, y), QPoint(x + 1, y), QPoint(x, y - 1), QPoint(x, y + 1))
            is_edge = not all(shape.contains(point) for point in beside)
            if is_edge and picture.pixelColor(x, y).rgb() != QColor(*color).rgb():
                found.add((x, y))
    return found


@pytest.mark.parametrize("kind", ["", *tokens.THEMES])
@pytest.mark.parametrize("scheme", tokens.SCHEMES)
def test_the_outline_of_a_window_and_of_a_menu_has_no_gap(qtbot: QtBot, kind: str, scheme: str) -> None:
    look = theme.load(scheme, kind=kind)
    window, menu = _Window(look), drawing.Menu(look)
    menu.setStyleSheet(drawing.sheet(look))
    for one in (window, menu):
        _shown(qtbot, one)
        assert _gaps(one, look.color("hairline")) == set()


def test_the_shape_of_another_theme_comes_with_its_picture(qtbot: QtBot) -> None:
    round_, sharp = theme.load("light", kind="liquid-glass"), theme.load("light", kind="neo-brutalist")
    window = _Window(round_)
    _shown(qtbot, window)
    qtbot.waitUntil(lambda: bool(window.painted))
    for look in (sharp, round_):
        shape = window.windowHandle().mask()
        window.painted.clear()
        window.dress(look)
        assert window.windowHandle().mask() == shape
        qtbot.waitUntil(lambda: bool(window.painted))
        assert all((paper == look.color("paper")) is (mask != shape) for paper, mask in window.painted)
        assert window.unpainted.isEmpty(), "the old picture would show where the new shape is wider"
