"""Make a guide from the pictures of a task's steps: one HTML page, or Markdown with picture files beside it."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from string import Template

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF
from PySide6.QtGui import QImage, QImageWriter, QPainter

from app.base import resources
from app.ui.cards.picture import paint_click_ring
from app.ui.presenter.view import ShownPicture
from app.ui.theme.theme import Theme

UNFIT = re.compile(r"[\\/:*?\"<>|\x00-\x1f]+")
"""What some file system does not take in a name."""
_MARKS = re.compile(r"[\\`*_\[\]<>#|]")
_JPEG = b"\xff\xd8"


def guide(title: str, frames: Sequence[tuple[str, ShownPicture]]) -> str:
    """Return a self-contained HTML page with the pictures, each with its text and a ring where Wisp clicked."""
    parts = resources.text("guide.html").split("<!-- step -->")
    steps = (
        Template(parts[1]).substitute(
            number=number,
            words=html.escape(words),
            kind="jpeg" if picture.data.startswith(_JPEG) else "png",
            data=base64.b64encode(picture.data).decode(),
            left=f"{100 * picture.ring[0] / picture.width:.2f}" if picture.ring else -100,
            top=f"{100 * picture.ring[1] / picture.height:.2f}" if picture.ring else -100,
        )
        for number, (words, picture) in enumerate(frames, 1)
    )
    return Template(parts[0]).substitute(title=html.escape(title)) + "".join(steps) + parts[2]


def markdown_guide(
    title: str, frames: Sequence[tuple[str, ShownPicture]], folder: str, theme: Theme
) -> tuple[str, Mapping[str, bytes]]:
    """Return the guide as Markdown, and the pictures by their file names, such as `folder/01.png`, which it refers
    to."""
    lines, pictures = [f"# {_plain(title)}"], dict[str, bytes]()
    for number, (words, picture) in enumerate(frames, 1):
        name = f"{folder}/{number:02}.{'jpg' if picture.data.startswith(_JPEG) else 'png'}"
        pictures[name] = _ringed(picture, theme)
        lines.append(f"## {number}. {_plain(words)}\n\n![{_plain(words)}](<{name}>)")
    return "\n\n".join(lines) + "\n", pictures


def _plain(words: str) -> str:
    """One line, with escapes so that Markdown shows every character as it is."""
    return _MARKS.sub(r"\\\g<0>", " ".join(words.split()))


def _ringed(picture: ShownPicture, theme: Theme) -> bytes:
    """Encoded, with a ring painted where Wisp clicked."""
    if picture.ring is None:
        return picture.data
    image, store = QImage.fromData(picture.data), QByteArray()
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    paint_click_ring(painter, QPointF(*picture.ring), theme)
    painter.end()
    buffer = QBuffer(store)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"jpeg" if picture.data.startswith(_JPEG) else b"png")).write(image)
    return bytes(store.data())
