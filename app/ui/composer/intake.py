"""Read the files and pictures that the person attaches, without blocking the GUI, and add them to the composer. Also
search for what the person types."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QImage, QImageReader, QImageWriter

from app.agent.agent_events import MARKED_PART, Media
from app.base import resources
from app.base.errors import WispError
from app.ui.bridge import Agent, BackgroundTasks
from app.ui.composer.attachments import MOST, MOST_PICTURES, Attached, size
from app.ui.composer.home import LEAST_TYPED, HomeView, Suggestion, Suggestions
from app.ui.composer.window import ComposerView
from app.ui.machine import Collection, CollectionEntry
from app.ui.translation import counted, words
from app.ui.windows.floating import WindowDeps

_TOO_MANY = ("At most {count} thing goes with one message.", "At most {count} things go with one message.")
_TOO_MANY_PICTURES = (
    "At most {count} picture goes with one message.",
    "At most {count} pictures go with one message.",
)
if TYPE_CHECKING:
    from app.ui.windows.region import RegionWindow

LONG_EDGE_PX = 1568
AREA_PX = 1568 * 28 * 28
"""What models take unscaled: this long, and this many patches of 28 by 28 pixels."""

_SENT_AS_IT_IS = {b"png": "image/png", b"jpeg": "image/jpeg", b"webp": "image/webp", b"gif": "image/gif"}
_LARGEST_SENT = 3_500_000
_LARGEST_READ = 60_000_000
_QUALITY = 88


def of_path(path: Path) -> Attached:
    """Read a file or folder. Raises WispError, with a sentence for the person, if it cannot be read."""
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
    """Make an attachment of a pasted picture. Raises WispError if the picture is empty."""
    if image.isNull():
        raise WispError(QCoreApplication.translate("Attach", "The picture in the clipboard cannot be read."))
    name = QCoreApplication.translate("Attach", "Picture")
    media = _encoded(_fitted(image), "from the clipboard")
    return Attached("pasted", name, size_bytes=len(media.data), media=media)


def of_screenshot(media: Media) -> Attached:
    """Make an attachment of a capture of the screen that the agent took."""
    name = QCoreApplication.translate("Attach", "Screenshot")
    return Attached("screenshot", name, size_bytes=len(media.data), media=media)


def of_region(image: QImage, place: QRect) -> Attached:
    """Make an attachment of a part of the screen. `place` is where the part is, in screen pixels."""
    name = QCoreApplication.translate("Attach", "Part of the screen")
    media = _encoded(_fitted(image), MARKED_PART)
    edges = f"{place.left()},{place.top()},{place.right() + 1},{place.bottom() + 1}"
    return Attached("region", name, size_bytes=len(media.data), media=media, place=edges)


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
    words = QCoreApplication.translate(
        "Attach", "The model cannot see “{name}” ({size}). Wisp tells it where the file is."
    )
    return Attached("unseen", path.name, str(path), count, note=words.format(name=path.name, size=size(count)))


def _fits(natural: QSize) -> bool:
    return natural.isValid() and _fitting(natural) == natural


def _fitting(natural: QSize) -> QSize:
    """In proportion, made smaller if the picture is larger than a model can use."""
    width, height = max(natural.width(), 1), max(natural.height(), 1)
    shrink = min(1.0, LONG_EDGE_PX / max(width, height), (AREA_PX / (width * height)) ** 0.5)
    return QSize(max(int(width * shrink), 1), max(int(height * shrink), 1)) if shrink < 1 else natural


def _fitted(image: QImage) -> QImage:
    wanted = _fitting(image.size())
    if wanted == image.size():
        return image
    return image.scaled(wanted, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)


def _encoded(image: QImage, label: str) -> Media:
    """Encode the picture as JPEG if it is large and has no transparency, else as PNG."""
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
    """Reads attachments for one composer. `agent` returns None until there is an agent; `around` is the WindowDeps
    that all windows share."""

    def __init__(
        self,
        composer: ComposerView,
        background: BackgroundTasks,
        agent: Callable[[], Agent | None],
        around: WindowDeps,
    ) -> None:
        super().__init__(composer)
        self._composer = composer
        self._background = background
        self._agent = agent
        self._around = around
        self.region: RegionWindow | None = None
        """The window in which the person marks a part of the screen, while it is open."""
        composer.files_offered.connect(lambda paths: self._begin(self._read_all(paths)))
        composer.picture_offered.connect(lambda image: self._begin(self._read_image(image)))
        composer.screenshot_wanted.connect(lambda: self._begin(self._photograph()))
        composer.region_wanted.connect(lambda: self._begin(self._mark()))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._composer.tell("")
        self._background.begin(work, lambda _level, sentence: self._composer.tell(sentence))

    async def _read_all(self, paths: list[Path]) -> None:
        for path in paths:
            self._take(await asyncio.to_thread(of_path, path))

    async def _read_image(self, image: QImage) -> None:
        self._take(await asyncio.to_thread(of_image, image))

    async def _photograph(self) -> None:
        self._take(of_screenshot(await self._known().picture()))

    async def _mark(self) -> None:
        """Open a window with a picture of the screen in which the person marks a part. The part becomes an
        attachment."""
        from app.ui.windows.region import RegionWindow

        if self.region is not None:
            return
        taken = await self._known().picture(at_full_size=True)
        screen = await asyncio.to_thread(QImage.fromData, taken.data)
        if screen.isNull():
            raise WispError(QCoreApplication.translate("Attach", "Wisp could not take a picture of the screen."))
        self.region = RegionWindow(self._composer.theme, self._around, screen)
        self.region.marked.connect(lambda image, place: self._begin(self._take_region(image, place)))
        self.region.left.connect(self._composer.keyboard_wanted)
        self.region.destroyed.connect(self._end_marking)
        self.region.begin()

    async def _take_region(self, image: QImage, place: QRect) -> None:
        self._composer.keyboard_wanted.emit()
        self._take(await asyncio.to_thread(of_region, image, place))

    def _end_marking(self) -> None:
        self.region = None

    def _known(self) -> Agent:
        agent = self._agent()
        if agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        return agent

    def _take(self, one: Attached) -> None:
        """Add the attachment. Raises WispError if the message already has the most attachments, or the most
        pictures."""
        there = self._composer.chips.attached
        if len(there) >= MOST:
            raise WispError(counted(*_TOO_MANY, MOST))
        if one.media is not None and sum(other.media is not None for other in there) >= MOST_PICTURES:
            raise WispError(counted(*_TOO_MANY_PICTURES, MOST_PICTURES))
        if one.path and one.path in {other.path for other in there}:
            return
        self._composer.chips.add(one)
        self._composer.tell(one.note)


_MOST_TYPED = 60
_MOST_FOUND = 5
_GLYPHS = {"result": "spark", "program": "windows", "file": "file", "folder": "folder"}
_PAUSE_MS = 60


def searched(text: str) -> str:
    """Return the words to search for: the typed text without a leading verb such as open or find.

    Returns "" if the words are too few or too many, or contain a line break.
    """
    words = text.strip()
    verb, _, rest = words.partition(" ")
    if verb.casefold() in resources.table("suggestions.toml", Suggestions).opening:
        words = rest.strip()
    return words if LEAST_TYPED <= len(words) <= _MOST_TYPED and "\n" not in words else ""


class TypedSearch(QObject):
    """Searches a collection for what the person types, and opens the result that they choose. `done` is emitted when
    a result was chosen."""

    done = Signal()

    def __init__(self, home: HomeView, collection: Collection, background: BackgroundTasks) -> None:
        super().__init__(home)
        self._home = home
        self._collection = collection
        self._background = background
        self._asked = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(lambda: background.begin(self._look(), lambda _level, _sentence: None))
        home.opened.connect(self._open)

    def look_for(self, text: str) -> None:
        """Search for this text after a short pause in typing, and show the results."""
        self._asked = searched(text)
        if self._asked:
            self._pause.start()
        else:
            self._pause.stop()
            self._home.show_found(())

    async def _look(self) -> None:
        asked = self._asked
        found = await self._collection.entries(asked) if asked else ()
        if asked == self._asked:  # because the person may have typed more meanwhile
            self._home.show_found([_suggestion(entry) for entry in found[:_MOST_FOUND]])

    def _open(self, key: str) -> None:
        kind, _, what = key.partition(":")
        if kind == "result":
            QGuiApplication.clipboard().setText(what)
        else:
            self._background.begin(self._opened(key))
        self.done.emit()

    async def _opened(self, key: str) -> None:
        await self._collection.act("open", key)


def _suggestion(entry: CollectionEntry) -> Suggestion:
    about = " ".join(part if isinstance(part, str) else part.said(words) for part in entry.below)
    return Suggestion(entry.title, _GLYPHS[entry.key.partition(":")[0]], about, entry.key)
