"""The worker that draws SVGs: requests come on its standard input, and PNGs go to its standard output.

It is a process of its own, because an SVG from elsewhere may take long to draw, or crash the process.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtCore import QByteArray

_HEAD = struct.Struct(">III")
_LENGTH = struct.Struct(">I")
_MOST_BYTES = 1_000_000
_MOST_PX = 4096
_MOST_SECONDS = 15
_MOST_MEMORY = 2 << 30


def run(_arguments: Sequence[str]) -> int:
    """Draw SVGs until the input ends.

    A request is width and height in pixels and the length of the SVG, four bytes each, and then the SVG. The answer is
    the length of the PNG in four bytes, and then the PNG; nothing follows the length 0 of what cannot be drawn.
    """
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtGui import QGuiApplication

    app = QGuiApplication([])
    while len(head := sys.stdin.buffer.read(_HEAD.size)) == _HEAD.size:
        width, height, length = _HEAD.unpack(head)
        data = sys.stdin.buffer.read(min(length, _MOST_BYTES))
        _limit()
        png = _drawn(data, *(min(max(side, 1), _MOST_PX) for side in (width, height))).data()
        sys.stdout.buffer.write(_LENGTH.pack(len(png)) + png)
        sys.stdout.buffer.flush()
    del app
    return 0


def _limit() -> None:
    """Limit the processor time of the next drawing, and the memory."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + _MOST_SECONDS, most))
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _drawn(data: bytes, width: int, height: int) -> QByteArray:
    """As a PNG; nothing if the SVG cannot be drawn."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
    from PySide6.QtGui import QImage, QImageWriter, QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(QByteArray(data))
    if not renderer.isValid():
        return QByteArray()
    image = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # QImage.save refuses a format for a device (PySide6 6.11), so a writer takes it.
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return buffer.data()
