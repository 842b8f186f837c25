"""Fonts, and the style sheet that Qt's own widgets follow, both made from tokens."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TypeVar

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QPainter,
    QPalette,
    QPixmap,
    QScreen,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QBoxLayout, QLabel, QWidget

from app.base import resources
from app.ui.theme.theme import Color, Theme

_TOKEN = re.compile(r"@(\w+)(:px)?")
_USUAL_POINTS = 10.0
_LEAST, _MOST = 1.0, 2.0
_TALLEST = 100_000
Box = TypeVar("Box", bound=QBoxLayout)


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

    template = resources.text("themes/style.qss")
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


def words_label(theme: Theme, words: str, style: str = "", *, strong: bool = False, quiet: bool = False) -> QLabel:
    """Plain text that wraps; `quiet` is muted and, without a `style`, small."""
    made = QLabel(words)
    made.setFont(font(theme, style or ("small" if quiet else "text"), strong=strong))
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(True)
    if quiet:
        made.setObjectName("about")
    return made


def spaced(box: Box, spacing: int) -> Box:
    """Return a layout with that many pixels between its parts and none around them."""
    box.setContentsMargins(0, 0, 0, 0)
    box.setSpacing(spacing)
    return box


def window_size(theme: Theme, name: str, screen: QScreen) -> QSize:
    """How large a window of this name is: no larger than the screen has room for beside a title bar."""
    wanted = QSize(theme.size(f"{name}_width"), theme.size(f"{name}_height"))
    return wanted.boundedTo(screen.availableSize() - QSize(0, theme.size("header_height")))


@cache
def _source(name: str) -> str:
    return resources.text(f"icons/{name}.svg")


@lru_cache(maxsize=128)
def _renderer(name: str, color: Color) -> QSvgRenderer:
    svg = _source(name).replace("currentColor", f"#{color.red:02x}{color.green:02x}{color.blue:02x}")
    return QSvgRenderer(QByteArray(svg.encode()))


def draw(painter: QPainter, name: str, rect: QRectF, color: Color) -> None:
    """Paint the glyph into a square."""
    painter.save()
    painter.setOpacity(painter.opacity() * color.alpha / 255)
    _renderer(name, color._replace(alpha=255)).render(painter, rect)
    painter.restore()


@lru_cache(maxsize=256)
def pixmap(name: str, size: int, color: Color, ratio: float) -> QPixmap:
    """The glyph as a picture of `size` device-independent pixels."""
    picture = QPixmap(QSize(round(size * ratio), round(size * ratio)))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    draw(painter, name, QRectF(0, 0, size, size), color)
    painter.end()
    return picture


def icon(name: str, size: int, color: Color, ratio: float = 2.0) -> QIcon:
    return QIcon(pixmap(name, size, color, ratio))


_MIRRORED = Qt.LayoutDirection.RightToLeft


def placed(rect: QRectF, box: QRectF, direction: Qt.LayoutDirection) -> QRectF:
    """Mirror the rectangle inside its box for right-to-left layouts."""
    if direction is not _MIRRORED:
        return rect
    return QRectF(box.left() + box.right() - rect.right(), rect.top(), rect.width(), rect.height())


def put(child: QWidget, rect: QRect, width: int) -> None:
    """Give a child its place in a parent of that width."""
    left = rect.x() if child.layoutDirection() is not _MIRRORED else width - rect.x() - rect.width()
    child.setGeometry(left, rect.y(), rect.width(), rect.height())
