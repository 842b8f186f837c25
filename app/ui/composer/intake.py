"""Takes in what the person attaches: files and pictures are read beside the GUI, then they are chips."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QImage

from app.base.errors import WispError
from app.ui.bridge import Agent
from app.ui.composer import reading
from app.ui.composer.attached import MOST, MOST_PICTURES, Attached
from app.ui.composer.window import ComposerWindow
from app.ui.errands import Errands


class Intake(QObject):
    """Serves one composer; `agent` answers None while there is none."""

    def __init__(self, composer: ComposerWindow, errands: Errands, agent: Callable[[], Agent | None]) -> None:
        super().__init__(composer)
        self._composer = composer
        self._errands = errands
        self._agent = agent
        composer.files_offered.connect(lambda paths: self._begin(self._read_all(paths)))
        composer.picture_offered.connect(lambda image: self._begin(self._read_image(image)))
        composer.screenshot_wanted.connect(lambda: self._begin(self._photograph()))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._composer.tell("")
        self._errands.begin(work, lambda _level, sentence: self._composer.tell(sentence))

    async def _read_all(self, paths: list[Path]) -> None:
        for path in paths:
            self._take(await asyncio.to_thread(reading.of_path, path))

    async def _read_image(self, image: QImage) -> None:
        self._take(await asyncio.to_thread(reading.of_image, image))

    async def _photograph(self) -> None:
        agent = self._agent()
        if agent is None:
            raise WispError(QCoreApplication.translate("Panels", "Wisp is still starting. Try again in a moment."))
        self._take(reading.of_screenshot(await agent.picture()))

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
