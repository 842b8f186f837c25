"""The clipboard as the rest of the desktop uses it."""

from __future__ import annotations

from app.desktop.api import Formats
from app.desktop.x11.selection import Selection, as_formats


class X11Clipboard:
    """Text in and out; `formats` for keeping and giving back."""

    def __init__(self, clipboard: Selection) -> None:
        self._clipboard = clipboard

    async def read(self) -> str:
        return await self._clipboard.text()

    async def write(self, text: str) -> None:
        self._clipboard.own(as_formats(text))

    async def formats(self) -> Formats:
        return await self._clipboard.formats()
