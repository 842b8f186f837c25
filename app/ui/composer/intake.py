"""Takes in what the person attaches: files and pictures are read beside the GUI, then they are chips."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QObject, QSize, Qt
from PySide6.QtGui import QImage, QImageReader, QImageWriter

from app.agent.agent_events import Media
from app.base.errors import WispError
from app.ui.bridge import Agent, BackgroundTasks
from app.ui.composer.attachments import MOST, MOST_PICTURES, Attached, size
from app.ui.composer.window import ComposerView

LONG_EDGE_PX = 1568
AREA_PX = 1568 * 28 * 28
"""What models take unscaled: this long, and this many patches of 28 by 28 pixels."""

_SENT_AS_IT_IS = {b"png": "image/png", b"jpeg": "image/jpeg", b"webp": "image/webp", b"gif": "image/gif"}
_LARGEST_SENT = 3_500_000
_LARGEST_READ = 60_000_000
_QUALITY = 88


def of_path(path: Path) -> Attached:
    """A file or a folder. Raises WispError, with a sentence for the person, where it cannot be read."""
    name = path.name or str(path)
    try:
        if path.is_dir():
            os.listdir(path)
            return Attached("folder", name, str(path))
        count = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        words = QCoreApplication.translate("Attach", "“{name}” cannot be read: {reason}.")
        raise WispError(words.format(name=name, reason=(error.strerror or str(error)).rstrip("."))) from error
    reader = QImageReader(str(path))
    reader.setDecideFormatFromContent(True)
    if not reader.canRead():
        return Attached("file", name, str(path), count)
    return _of_picture(reader, path, count)


def of_image(image: QImage) -> Attached:
    """A picture from the clipboard. Raises WispError where it is empty."""
    if image.isNull():
        raise WispError(QCoreApplication.translate("Attach", "The picture in the clipboard cannot be read."))
    name = QCoreApplication.translate("Attach", "Picture")
    media = _encoded(_fitted(image), "from the clipboard")
    return Attached("pasted", name, size_bytes=len(media.data), media=media)


def of_screenshot(media: Media) -> Attached:
    """The screen, as the agent has seen it."""
    name = QCoreApplication.translate("Attach", "Screenshot")
    return Attached("screenshot", name, size_bytes=len(media.data), media=media)


def _of_picture(reader: QImageReader, path: Path, count: int) -> Attached:
    natural, form = reader.size(), bytes(reader.format().data())
    if count > _LARGEST_READ:
        return _unseen(path, count)
    if form in _SENT_AS_IT_IS and _fits(natural) and count <= _LARGEST_SENT:
        media = Media(path.read_bytes(), _SENT_AS_IT_IS[form], natural.width(), natural.height(), path.name)
        return Attached("picture", path.name, str(path), count, media)
    reader.setAutoTransform(True)
    if natural.isValid():
        reader.setScaledSize(_fitting(natural))
    image = reader.read()
    if image.isNull():
        return _unseen(path, count)
    return Attached("picture", path.name, str(path), count, _encoded(_fitted(image), path.name))


def _unseen(path: Path, count: int) -> Attached:
    words = QCoreApplication.translate("Attach", "“{name}” ({size}) cannot be shown to the model; it gets the path.")
    return Attached("unseen", path.name, str(path), count, note=words.format(name=path.name, size=size(count)))


def _fits(natural: QSize) -> bool:
    return natural.isValid() and _fitting(natural) == natural


def _fitting(natural: QSize) -> QSize:
    """The size within what a model looks at."""
    width, height = max(natural.width(), 1), max(natural.height(), 1)
    shrink = min(1.0, LONG_EDGE_PX / max(width, height), (AREA_PX / (width * height)) ** 0.5)
    return QSize(max(int(width * shrink), 1), max(int(height * shrink), 1)) if shrink < 1 else natural


def _fitted(image: QImage) -> QImage:
    wanted = _fitting(image.size())
    if wanted == image.size():
        return image
    return image.scaled(wanted, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)


def _encoded(image: QImage, label: str) -> Media:
    """As PNG where it is small or has holes, as JPEG otherwise."""
    data, media_type = _written(image, b"png"), "image/png"
    if len(data) > _LARGEST_SENT // 4 and not image.hasAlphaChannel():
        data, media_type = _written(image, b"jpeg"), "image/jpeg"
    return Media(data, media_type, image.width(), image.height(), label)


def _written(image: QImage, form: bytes) -> bytes:
    store = QByteArray()
    buffer = QBuffer(store)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(form))
    writer.setQuality(_QUALITY)
    writer.write(image)
    return bytes(store.data())


class Intake(QObject):
    """Serves one composer; `agent` answers None while there is none."""

    def __init__(self, composer: ComposerView, background: BackgroundTasks, agent: Callable[[], Agent | None]) -> None:
        super().__init__(composer)
        self._composer = composer
        self._background = background
        self._agent = agent
        composer.files_offered.connect(lambda paths: self._begin(self._read_all(paths)))
        composer.picture_offered.connect(lambda image: self._begin(self._read_image(image)))
        composer.screenshot_wanted.connect(lambda: self._begin(self._photograph()))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._composer.tell("")
        self._background.begin(work, lambda _level, sentence: self._composer.tell(sentence))

    async def _read_all(self, paths: list[Path]) -> None:
        for path in paths:
            self._take(await asyncio.to_thread(of_path, path))

    async def _read_image(self, image: QImage) -> None:
        self._take(await asyncio.to_thread(of_image, image))

    async def _photograph(self) -> None:
        agent = self._agent()
        if agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        self._take(of_screenshot(await agent.picture()))

    def _take(self, one: Attached) -> None:
        """Attach it, within what one message holds."""
        there = self._composer.chips.attached
        if len(there) >= MOST:
            words = QCoreApplication.translate("Attach", "At most {count} things go with one message.")
            raise WispError(words.format(count=MOST))
        if one.media is not None and sum(other.media is not None for other in there) >= MOST_PICTURES:
            words = QCoreApplication.translate("Attach", "At most {count} pictures go with one message.")
            raise WispError(words.format(count=MOST_PICTURES))
        if one.path and one.path in {other.path for other in there}:
            return
        self._composer.chips.add(one)
        self._composer.tell(one.note)
