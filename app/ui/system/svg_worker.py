"""The worker that draws an SVG: it reads the SVG from its standard input and writes a PNG to its standard output.

It is a process of its own, because an SVG from elsewhere may take long to draw, or crash the process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_MOST_BYTES = 1_000_000
_MOST_SECONDS = 15
_MOST_MEMORY = 2 << 30


def run(arguments: Sequence[str]) -> int:
    """Draw the SVG. `arguments` are width and height in pixels. Writes nothing if the SVG cannot be drawn."""
    width, height = (min(max(int(text), 1), 4096) for text in arguments[:2])
    data = sys.stdin.buffer.read(_MOST_BYTES)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
    from PySide6.QtGui import QGuiApplication, QImage, QImageWriter, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication([])
    renderer = QSvgRenderer(QByteArray(data))
    image = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    if not renderer.isValid():
        return 0
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # QImage.save refuses a format for a device (PySide6 6.11), so a writer takes it.
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    sys.stdout.buffer.write(buffer.data().data())
    del app
    return 0
