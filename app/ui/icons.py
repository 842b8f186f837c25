"""Glyphs from `resources/icons`, in any colour and size, sharp at any pixel ratio."""

from __future__ import annotations

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.base import paths
from app.ui.theme import Color


@cache
def _source(name: str) -> str:
    return (paths.resources() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


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
