"""Fonts, and the style sheet that Qt's own widgets follow, both made from tokens."""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontMetrics, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from app.base import paths
from app.ui.theme import Theme

_TOKEN = re.compile(r"@(\w+)(:px)?")
_USUAL_POINTS = 10.0
_LEAST, _MOST = 1.0, 2.0
_TALLEST = 100_000


def system_scale() -> float:
    """How much larger than usual the person reads, 1 to 2, from the system's font."""
    points = QGuiApplication.font().pointSizeF()
    return max(_LEAST, min(points / _USUAL_POINTS, _MOST)) if points > 0 else _LEAST


def font(theme: Theme, name: str, *, strong: bool = False) -> QFont:
    """The font of a text style; `code` is the system's monospace."""
    if name == "code":
        found = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    else:
        found = QFont(QApplication.font())
    found.setPixelSize(theme.type(name).size)
    found.setWeight(QFont.Weight.DemiBold if strong else QFont.Weight.Normal)
    return found


def lines_of(metrics: QFontMetrics, width: int, text: str) -> tuple[Qt.TextFlag, QRect]:
    """How a painted text is broken to fit a width, between its words where they are short enough, and what it takes."""
    room, flags = QRect(0, 0, width, _TALLEST), Qt.TextFlag.TextWordWrap
    box = metrics.boundingRect(room, flags, text)
    if box.width() > width:
        flags = Qt.TextFlag.TextWrapAnywhere
        box = metrics.boundingRect(room, flags, text)
    return flags, box


def sheet(theme: Theme) -> str:
    """The style sheet with the theme's tokens filled in."""

    def value(found: re.Match[str]) -> str:
        name, is_size = found.group(1), found.group(2)
        return f"{theme.size(name)}px" if is_size else theme.color(name).hex

    template = (paths.resources() / "themes" / "style.qss").read_text(encoding="utf-8")
    return _TOKEN.sub(value, template.partition("*/")[2])


def palette(theme: Theme) -> QPalette:
    """The palette for everything that paints itself: menus, dialogs, selections."""
    made = QPalette()
    roles = {
        QPalette.ColorRole.Window: "paper",
        QPalette.ColorRole.WindowText: "ink",
        QPalette.ColorRole.Base: "raised",
        QPalette.ColorRole.AlternateBase: "sunken",
        QPalette.ColorRole.Text: "ink",
        QPalette.ColorRole.Button: "raised",
        QPalette.ColorRole.ButtonText: "ink",
        QPalette.ColorRole.ToolTipBase: "paper",
        QPalette.ColorRole.ToolTipText: "ink",
        QPalette.ColorRole.PlaceholderText: "muted",
        QPalette.ColorRole.Highlight: "selection",
        QPalette.ColorRole.HighlightedText: "selection_ink",
        QPalette.ColorRole.Link: "link",
    }
    for role, name in roles.items():
        made.setColor(role, QColor(*theme.color(name)))
    made.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Text, QColor(*theme.color("muted")))
    made.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText, QColor(*theme.color("muted")))
    return made
