"""From pixels to the picture that a model is shown: exactly within its budget, legible, and fast.

Measured on 1920x1080 to 1456x819, processor time: QPainter's bilinear takes 4 ms, QImage's smooth scaling 14, Pillow's
LANCZOS 60. The text of a screen scaled down by a quarter is then read as well by OCR (0.1 to 0.3 more errors in a
hundred characters than after LANCZOS, which itself has 0.3 more than the original); below `_SMOOTH_BELOW` thin strokes
would fall through. Pillow's JPEG takes 4 ms where QImage's takes 15. So QtGui scales (loaded on first use, no GUI
needed) and Pillow encodes; no pixels are copied in between.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.base.geometry import Geometry, Point, Size
from app.desktop.api import Frame

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

_PATCH_PX = 28
_QUALITY = 78
_SMOOTH_BELOW = 0.6


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest picture a model takes unscaled: longest side in pixels, and visual tokens (28-pixel patches)."""

    long_edge_px: int = 1568
    tokens: int = 1568

    def fits(self, size: Size) -> bool:
        return max(size.width, size.height) <= self.long_edge_px and tokens_of(size) <= self.tokens


@dataclass(frozen=True, slots=True)
class Capture:
    """A picture of a part of the screen. `cursor` is in picture pixels, None where the pointer is elsewhere.

    `taken` is on the desktop's clock, in seconds. `frame` holds the pixels it was made from.
    """

    id: str
    geometry: Geometry
    data: bytes
    media_type: str
    cursor: tuple[int, int] | None
    taken: float
    label: str
    frame: Frame = field(repr=False, compare=False)


def tokens_of(size: Size) -> int:
    """What a picture of this size costs a Claude model, in tokens."""
    return math.ceil(size.width / _PATCH_PX) * math.ceil(size.height / _PATCH_PX)


def fitted(size: Size, budget: Budget) -> Size:
    """The largest size of the same shape within the budget; never larger than the original."""
    if budget.fits(size):
        return size
    low, high = 1, max(size.width, size.height)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if budget.fits(_with_long_edge(size, middle)) else (low, middle - 1)
    return _with_long_edge(size, low)


def _with_long_edge(size: Size, long_edge: int) -> Size:
    factor = long_edge / max(size.width, size.height)
    return Size(max(round(size.width * factor), 1), max(round(size.height * factor), 1))


def encoded(frame: Frame, sent: Size) -> bytes:
    """The frame as a JPEG of the size `sent`."""
    from PIL import Image
    from PySide6.QtGui import QImage

    area = frame.area
    picture = QImage(frame.bgrx, area.width, area.height, area.width * 4, QImage.Format.Format_RGB32)
    small = picture if sent == area.size else _scaled(picture, sent)
    turned = small.convertToFormat(QImage.Format.Format_RGBX8888)  # the order of bytes that the encoder takes
    buffer = turned.constBits()
    pixels = Image.frombuffer("RGBX", (sent.width, sent.height), buffer, "raw", "RGBX", 0, 1)  # type: ignore[arg-type]
    file = io.BytesIO()
    pixels.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()


def _scaled(picture: QImage, sent: Size) -> QImage:
    from PySide6.QtCore import QRect, Qt
    from PySide6.QtGui import QImage, QPainter

    if sent.width < picture.width() * _SMOOTH_BELOW:
        exactly, smooth = Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
        return picture.scaled(sent.width, sent.height, exactly, smooth)
    small = QImage(sent.width, sent.height, QImage.Format.Format_RGB32)
    painter = QPainter(small)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.drawImage(QRect(0, 0, sent.width, sent.height), picture)
    painter.end()
    return small


def cursor_in(geometry: Geometry, pointer: Point) -> tuple[int, int] | None:
    """Where the pointer is in the picture, or None."""
    return geometry.to_picture(pointer) if geometry.region.contains(pointer) else None
